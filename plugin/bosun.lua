-- Lets a plugin manager use the repository's root: nvim-plugin/ joins the runtime path, and its plugin file is
-- sourced.
local root = vim.fs.dirname(vim.fs.dirname(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p')))
vim.opt.runtimepath:append(root .. '/nvim-plugin')
vim.cmd.source({ args = { vim.fn.fnameescape(root .. '/nvim-plugin/plugin/bosun.lua') } })
