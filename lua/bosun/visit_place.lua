-- Where a file that a command waits for is shown, and what is seen of the waiting: the bar, the key, the note.
--
-- Owns what such buffers and windows wear, and the note. Never takes a window of the person's or of the chat, and
-- knows nothing of programs and channels. Called by `visit` only.
local M = {}

local api, fn = vim.api, vim.fn
local display = require('bosun.display')

--- The key that gives up, in normal mode.
M.KEY = '<C-c><C-k>'

-- What marks a bar as ours, whatever stands around it: a split takes it along to another file.
local BAR = '%#BosunBarQuestion# a command waits'
local WIDE = BAR
  .. ' for this file %#BosunBar#· :w or close to go on %=%#BosunBarHint#'
  .. M.KEY
  .. ' gives up '
local NARROW = BAR .. ' %#BosunBar#· :w goes on%<%#BosunBarHint# · ' .. M.KEY .. ' gives up '
-- Columns that the wide one needs.
local WIDTH = 76

local group = api.nvim_create_augroup('bosun.visit_place', {})

-- Buffers whose key and command are ours: true.
local dressed = {}
-- Buffers that a visit loaded, and nobody else.
local loaded = {}
-- { buf, win } of the note.
local note = {}

local function is_float(win) return api.nvim_win_get_config(win).relative ~= '' end

-- A window of the person's in this tab beside which there may be another: the current one, the one before, else the
-- largest.
local function neighbour()
  local function fits(win)
    if not win or win == 0 or not api.nvim_win_is_valid(win) or is_float(win) then return false end
    local o, buf = vim.wo[win], api.nvim_win_get_buf(win)
    if vim.w[win].bosun or o.winfixbuf or o.diff or o.previewwindow then return false end
    return vim.bo[buf].buftype == '' or vim.bo[buf].buftype == 'help'
  end
  for _, win in ipairs({ api.nvim_get_current_win(), fn.win_getid(fn.winnr('#')) }) do
    if fits(win) then return win end
  end
  local best, most = nil, 0
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    local size = api.nvim_win_get_width(win) * api.nvim_win_get_height(win)
    if fits(win) and size > most then
      best, most = win, size
    end
  end
  return best
end

-- A window that shows the buffer already, in this tab rather than in another.
local function showing(buf)
  local wins = vim.tbl_filter(function(win) return not is_float(win) end, fn.win_findbuf(buf))
  local tab = api.nvim_get_current_tabpage()
  for _, win in ipairs(wins) do
    if api.nvim_win_get_tabpage(win) == tab then return win end
  end
  return wins[1]
end

-- Lines that such a window must have, with its bar and its status line.
local ROOM = 12

local function new_window(buf, enter)
  local beside = neighbour()
  if beside and api.nvim_win_get_height(beside) >= ROOM then
    -- What fails in somebody's autocommand has not kept the window from being there.
    pcall(api.nvim_open_win, buf, enter, { split = 'above', win = beside })
    local win = showing(buf)
    if win then return win end
  end
  local here = api.nvim_get_current_win()
  local ok, err = pcall(vim.cmd, ('tab sbuffer %d'):format(buf))
  local win = showing(buf)
  if not win then error(ok and 'no window could be made' or err, 0) end
  if not enter then api.nvim_set_current_win(here) end
  return win
end

-- A program writes its file anew each time, and the buffer may be of the time before. Unsaved text of a visit that is
-- over comes back with one undo; that of a buffer which the person opened is theirs.
local function refresh(buf, win)
  if require('bosun.stamps').check(buf) ~= 'changed' then return end
  local modified, name = vim.bo[buf].modified, display.path(api.nvim_buf_get_name(buf))
  if modified and not loaded[buf] then
    return display.notify(('%s has unsaved text, and another on disk'):format(name), 'warn')
  end
  api.nvim_win_call(win, function() vim.cmd('silent edit!') end)
  if modified then display.notify(('%s is read anew: u brings the unsaved text back'):format(name)) end
end

--- Shows the file; returns its buffer, and the window if one was made for it. `enter`: the person goes there. `line`:
--- from 1, -1 for the last, 0 or nil for none.
function M.show(path, enter, line)
  -- Not `bufnr()`: that takes the name for a pattern.
  local buf = fn.bufadd(path)
  local fresh = not api.nvim_buf_is_loaded(buf)
  local win, made = showing(buf), nil
  if win then
    if enter then api.nvim_set_current_win(win) end
  else
    vim.bo[buf].buflisted = true
    made = new_window(buf, enter)
    win = made
    vim.w[win].bosun_visit = true
    display.win_option(win, 'winfixbuf', true)
  end
  if fresh then
    loaded[buf] = true
    api.nvim_clear_autocmds({ group = group, buffer = buf })
    api.nvim_create_autocmd('BufUnload', {
      group = group,
      buffer = buf,
      callback = function()
        vim.schedule(function()
          if not api.nvim_buf_is_loaded(buf) then loaded[buf] = nil end
        end)
      end,
    })
    -- As if it were an editor of its own: `:q` refuses to lose text, and nothing is left when it is closed.
    if vim.bo[buf].bufhidden == '' then vim.bo[buf].bufhidden = 'delete' end
  elseif not require('bosun.visit').waits_for(buf) then
    refresh(buf, win)
  end
  if line and line ~= 0 then
    local last = api.nvim_buf_line_count(buf)
    api.nvim_win_set_cursor(win, { line < 0 and last or math.min(line, last), 0 })
    api.nvim_win_call(win, function() vim.cmd('normal! zv') end)
  end
  return buf, made
end

local function abort()
  local ok, why = require('bosun.visit').abort()
  if not ok then display.notify(why, 'error') end
end

-- Whoever is used to `:cq` means the command's editor, and would end all of Neovim.
local function cquit(word)
  return function()
    local whole = fn.getcmdtype() == ':' and fn.getcmdline():match('^%d*(%a+)$') == word
    if not whole then return word end
    -- A count before it would be a range.
    return vim.keycode('<C-u>') .. 'Bosun visit abort'
  end
end

--- The buffer is waited for: its bar, its key, `:cq`.
function M.dress(buf)
  if not dressed[buf] then
    dressed[buf] = true
    vim.keymap.set('n', M.KEY, abort, { buffer = buf, desc = 'Give up: the command that waits fails' })
    for _, word in ipairs({ 'cq', 'cquit' }) do
      vim.keymap.set('ca', word, cquit(word), { buffer = buf, expr = true })
    end
  end
  M.draw()
end

--- It is not any more.
function M.undress(buf)
  if dressed[buf] and api.nvim_buf_is_valid(buf) then
    pcall(vim.keymap.del, 'n', M.KEY, { buffer = buf })
    for _, word in ipairs({ 'cq', 'cquit' }) do
      pcall(vim.keymap.del, 'ca', word, { buffer = buf })
    end
    for _, win in ipairs(fn.win_findbuf(buf)) do
      if vim.w[win].bosun_visit then display.win_option(win, 'winfixbuf', false) end
    end
  end
  dressed[buf] = nil
  M.draw()
end

--- Every window shows the bar that is true for it.
function M.draw()
  for _, win in ipairs(api.nvim_list_wins()) do
    local bar = api.nvim_get_option_value('winbar', { scope = 'local', win = win })
    local ours = vim.startswith(bar, BAR)
    local waits = dressed[api.nvim_win_get_buf(win)] and not is_float(win)
    if waits and not ours then vim.w[win].bosun_bar = bar end
    if waits then
      -- To close a window of their own is not what a person would do to go on.
      local wide = vim.w[win].bosun_visit and api.nvim_win_get_width(win) >= WIDTH
      pcall(display.winbar, win, wide and WIDE or NARROW)
    elseif ours then
      pcall(display.winbar, win, vim.w[win].bosun_bar or '')
      vim.w[win].bosun_bar = nil
    end
  end
end

-- Neovim gives a window what the last window of its buffer had, a bar included.
api.nvim_create_autocmd('BufWinEnter', { group = group, callback = function() M.draw() end })

--- Closes the buffer with its unsaved text, if a visit loaded it.
function M.close(buf)
  if not loaded[buf] or not api.nvim_buf_is_loaded(buf) then return end
  pcall(api.nvim_buf_delete, buf, { force = true })
end

--- The current window is being closed, and the person goes to `win`, or where Neovim leads them when that is nil. They
--- come there with the close and not a moment later: the next key may be typed already.
function M.lead(win)
  if not win then return end
  local id = api.nvim_create_autocmd('WinEnter', {
    once = true,
    nested = true,
    callback = function()
      if api.nvim_win_is_valid(win) then api.nvim_set_current_win(win) end
    end,
  })
  vim.schedule(function() pcall(api.nvim_del_autocmd, id) end)
end

local function show_note(text)
  local width = math.max(1, math.min(fn.strdisplaywidth(text) + 2, vim.o.columns - 2))
  if not note.buf or not api.nvim_buf_is_valid(note.buf) then
    note.buf = api.nvim_create_buf(false, true)
    require('bosun.buffers').own(note.buf)
  end
  api.nvim_buf_set_lines(note.buf, 0, -1, false, { ' ' .. display.line(text, width - 2) })
  local conf = { relative = 'editor', anchor = 'NE', row = 0, col = vim.o.columns, width = width, height = 1 }
  conf = vim.tbl_extend('error', conf, { focusable = false, style = 'minimal', zindex = 45 })
  -- In another tab, or after `:only`, it is made anew.
  if note.win and api.nvim_win_is_valid(note.win) then api.nvim_win_close(note.win, true) end
  note.win = api.nvim_open_win(note.buf, false, vim.tbl_extend('error', conf, { noautocmd = true }))
  display.win_option(note.win, 'winhighlight', 'Normal:BosunBarQuestion')
end

--- Shows a line at the top of the screen, or takes it away. Where no window can be made, the next occasion shows it.
function M.note(text)
  local shown = note.win and api.nvim_win_is_valid(note.win)
  if not text and not shown then return end
  pcall(function()
    if text then return show_note(text) end
    api.nvim_win_close(note.win, true)
    note.win = nil
  end)
  -- On a command line nothing else draws the screen.
  if fn.mode():find('^c') then vim.cmd('redraw') end
end

return M
