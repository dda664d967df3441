-- The demo's whole configuration: the plugin from this checkout, the demo agent, and one line that says what to try.
-- Loaded by run.sh with `nvim -u`; a person's own configuration is not read.

local here = vim.fs.dirname(vim.uv.fs_realpath(debug.getinfo(1, 'S').source:sub(2)))
local root = vim.fs.dirname(vim.fs.dirname(here))
vim.opt.runtimepath:prepend(root)
vim.o.number = true
vim.o.swapfile = false
vim.o.mouse = 'a'

require('bosun').setup({ default_agent = 'demo' })

local hint = table.concat({
  ' 1: change "Hello" below to "Good morning" and do not save ',
  ' 2: in the chat on the right: replace morning with evening ',
  ' 3: <CR> sends; a digit answers ',
}, '│')

if vim.env.BOSUN_DEMO ~= 'headless' then
  vim.api.nvim_create_autocmd('VimEnter', {
    once = true,
    callback = vim.schedule_wrap(function()
      local win = vim.api.nvim_get_current_win()
      vim.wo[win].winbar = hint
      require('bosun').open()
      -- The first step is in the file.
      vim.api.nvim_set_current_win(win)
      vim.fn.cursor(5, 13)
    end),
  })
end
