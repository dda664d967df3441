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

for _, name in ipairs({
  'open',
  'toggle',
  'close',
  'new',
  'cancel',
  'pending',
  'diff',
  'sessions',
  'terminals',
  'review',
  'log',
}) do
  vim.keymap.set(
    { 'n', 'x' },
    ('<Plug>(bosun-%s)'):format(name),
    function() require('bosun.command').plug(name) end,
    { desc = 'Bosun: ' .. name }
  )
end

for name, modes in pairs({
  ['next-hunk'] = { 'n', 'x', 'o' },
  ['prev-hunk'] = { 'n', 'x', 'o' },
  hunk = { 'x', 'o' },
  keep = { 'n', 'x' },
  reject = { 'n', 'x' },
  ['review-undo'] = { 'n' },
}) do
  vim.keymap.set(
    modes,
    ('<Plug>(bosun-%s)'):format(name),
    function() require('bosun.hunk_keys').plugs[name]() end,
    { desc = 'Bosun: ' .. name }
  )
end

vim.keymap.set(
  { 'n', 'x' },
  '<Plug>(bosun-edit)',
  function() return require('bosun.in_place').begin() end,
  { expr = true, desc = 'Bosun: edit with the agent' }
)

-- No plugin manager looks for help pages here, so their tags are made when they are missing or old.
vim.schedule(function()
  local page = vim.api.nvim_get_runtime_file('doc/bosun.txt', false)[1]
  local tags = page and vim.fs.joinpath(vim.fs.dirname(page), 'tags')
  if page and vim.fn.getftime(tags) < vim.fn.getftime(page) then
    pcall(vim.cmd.helptags, { args = { vim.fn.fnameescape(vim.fs.dirname(page)) } })
  end
end)

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
