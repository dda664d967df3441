-- The demo's whole configuration: the plugin from this checkout, the demo agent, and some lines that say what to try.
-- Loaded by run.sh with `nvim -u`; a person's own configuration is not read.

local here = vim.fs.dirname(vim.uv.fs_realpath(debug.getinfo(1, 'S').source:sub(2)))
local root = vim.fs.dirname(vim.fs.dirname(here))
vim.opt.runtimepath:prepend(root)
vim.o.number = true
vim.o.swapfile = false
vim.o.mouse = 'a'

require('bosun').setup({ default_agent = 'demo' })

-- Short, because beside the chat a small screen leaves few columns.
local hints = {
  '   Try this:',
  '   1  above: Hello -> Good morning, unsaved',
  '   2  <C-w>l and i, then type:',
  '      replace morning with evening',
  '   3  <Esc><CR>. It asks: gd shows, 1 allows',
  '   4  <C-w>h: u takes it back. :qa! leaves',
}

-- Below the line that the first step changes, and no part of the file.
local function show(buf)
  local lines = vim.tbl_map(function(text) return { { text, 'Comment' } } end, hints)
  local ns = vim.api.nvim_create_namespace('bosun-demo')
  vim.api.nvim_buf_set_extmark(buf, ns, 4, 0, { virt_lines = lines })
end

if vim.env.BOSUN_DEMO ~= 'headless' then
  vim.api.nvim_create_autocmd('VimEnter', {
    once = true,
    callback = vim.schedule_wrap(function()
      local win = vim.api.nvim_get_current_win()
      show(vim.api.nvim_win_get_buf(win))
      require('bosun').open()
      -- The first step is in the file.
      vim.api.nvim_set_current_win(win)
      vim.fn.cursor(5, 13)
    end),
  })
end
