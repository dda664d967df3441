-- What Neovim sources at its start: the command, the <Plug> maps, and the stamps of files. All else loads when
-- used.
if vim.g.loaded_bosun then return end
vim.g.loaded_bosun = true

vim.api.nvim_create_user_command('Bosun', function(args) require('bosun.command').run(args) end, {
  nargs = '*',
  range = true,
  bang = true,
  desc = 'Talk to a coding agent',
  complete = function(...) return require('bosun.command').complete(...) end,
})

for _, name in ipairs({ 'open', 'toggle', 'close', 'new', 'cancel', 'pending', 'diff', 'sessions', 'log' }) do
  vim.keymap.set(
    { 'n', 'x' },
    ('<Plug>(bosun-%s)'):format(name),
    function() require('bosun.command').plug(name) end,
    { desc = 'Bosun: ' .. name }
  )
end

-- What is selected before the chat is first opened goes along too: whoever remembers selections is loaded with the
-- first one.
if vim.fn.has('nvim-0.11') == 1 then
  vim.api.nvim_create_autocmd('ModeChanged', {
    group = vim.api.nvim_create_augroup('bosun.first_selection', {}),
    pattern = '*:[vV\22]*',
    once = true,
    callback = function() require('bosun.context') end,
  })
end

-- A file's stamp must be taken when it is read; a sidecar that starts later could not know it.
if vim.fn.has('nvim-0.11') == 1 then require('bosun.stamps').watch() end
