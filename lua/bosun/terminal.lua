-- Terminal buffers: what a command writes, where a person reads, searches, yanks, types and stops it.
--
-- Owns these buffers, their windows and keys, and what the sidecar was told of who shows them. The text is the
-- sidecar's and may be replaced at any time, so nothing is ever read back from a buffer. Never answers a query but to
-- the program. Called by `bosun.terminals` and the inbox (`feed`).
local M = {}

local api, fn = vim.api, vim.fn
local display = require('bosun.display')

-- By buffer: { id, buf, feed, last, gone, told, size, layout, said }.
--   feed     how bytes come into it, see `bosun.feed`; nil until a window has shown it
--   last     what the sidecar said of it last
--   gone     the sidecar does not know it any more; its number may come again
--   told     the size that the sidecar knows, as `rowsxcols`; nil while no window shows it
--   size     the last rows and columns
--   layout   the windows of the tabs that show it, when they were last looked at
--   said     the person was told that typing leads nowhere
local views = {}

local keys = {
  { 'i a', 'type into the program; <C-\\><C-n> ends that' },
  { '<C-c>', 'stop the command' },
  { 'G', 'follow the output; any other line stays' },
  { 'q', 'hide the window; the command goes on' },
}

local function terminals() return require('bosun.terminals') end
local function feed() return require('bosun.feed') end
local function rpc(name, data) return require('bosun.rpc').notify(name, data) end

local function find(id)
  for _, view in pairs(views) do
    if view.id == id and not view.gone then return view end
  end
end

local function is_running(view) return not view.gone and view.last.state == 'running' end
local function takes_input(view) return is_running(view) and not view.last.agent_only end

local function why_no_input(view)
  if not is_running(view) then return 'the command has ended: nothing can be typed into it' end
  return 'the agent runs this command by itself: it is only shown here'
end

--- The id of the terminal that a buffer shows, nil when it shows none.
function M.id_of(buf)
  local view = views[buf]
  return view and not view.gone and view.id or nil
end

--- The buffer of a terminal, nil when nobody has opened it.
function M.buf_of(id)
  local view = find(id)
  return view and view.buf
end

-- Keys that a person typed, and answers of the terminal to queries of the program.
local function on_input(view, data)
  if takes_input(view) then return rpc('terminal_input', { terminal = view.id, data = data }) end
  if feed().is_busy(view.feed) or view.said then return end
  view.said = true
  vim.schedule(function() display.notify(why_no_input(view) .. '; <C-\\><C-n> leaves') end)
end

local function bars(view)
  for _, win in ipairs(fn.win_findbuf(view.buf)) do
    local text = require('bosun.winbar').terminal(view.last, win, {
      seconds = terminals().seconds(view.last),
      gone = view.gone,
      typing = win == api.nvim_get_current_win() and api.nvim_get_mode().mode == 't',
    })
    pcall(display.winbar, win, text)
  end
end

-- As long as a running command is on the screen its time goes on.
local ticking = false
local function tick()
  ticking = false
  for _, view in pairs(views) do
    if view.told and is_running(view) then
      bars(view)
      if not ticking then
        ticking = true
        vim.defer_fn(tick, 1000)
      end
    end
  end
end

-- Neovim gives its terminal the largest height and the largest width of all windows that show it.
local function size_of(view)
  local rows, cols = 0, 0
  for _, win in ipairs(fn.win_findbuf(view.buf)) do
    local info = fn.getwininfo(win)[1]
    rows, cols = math.max(rows, info.height), math.max(cols, info.width - info.textoff)
  end
  if rows > 0 and cols > 0 then return rows, cols end
end

-- Opening and closing windows may change the size of a terminal for a moment and back, which nothing tells: so all
-- windows of the tabs in which it is shown count.
local function layout_of(view)
  local parts = {}
  for _, win in ipairs(fn.win_findbuf(view.buf)) do
    for _, other in ipairs(api.nvim_tabpage_list_wins(api.nvim_win_get_tabpage(win))) do
      local width, height = api.nvim_win_get_width(other), api.nvim_win_get_height(other)
      parts[#parts + 1] = ('%d %d %d'):format(other, width, height)
    end
  end
  return table.concat(parts, ',')
end

local function forget(view)
  views[view.buf] = nil
  if api.nvim_buf_is_valid(view.buf) then pcall(api.nvim_buf_delete, view.buf, { force = true }) end
end

-- Says what has changed about who shows a terminal. Reads only what is there, so it can be called at any time.
local function tell(view)
  local rows, cols = size_of(view)
  local now = rows and ('%dx%d'):format(rows, cols) or nil
  if now then
    view.size = { rows, cols }
  elseif view.gone then
    return forget(view)
  end
  local layout = layout_of(view)
  if layout ~= view.layout and view.feed then feed().settle(view.feed) end
  view.layout = layout
  if now == view.told then return end
  view.told = now
  if view.gone then return end
  local at = view.size or { 0, 0 }
  rpc('terminal_view', { terminal = view.id, shown = now ~= nil, rows = at[1], cols = at[2] })
end

local pending = false
local function look()
  if pending then return end
  pending = true
  vim.schedule(function()
    pending = false
    for _, buf in ipairs(vim.tbl_keys(views)) do
      local view = views[buf]
      bars(view)
      tell(view)
    end
    if not ticking then tick() end
  end)
end

local function dress(win)
  local plain = {
    number = false,
    relativenumber = false,
    signcolumn = 'no',
    foldcolumn = '0',
    foldenable = false,
    list = false,
    spell = false,
    cursorline = false,
    cursorcolumn = false,
    colorcolumn = '',
    statuscolumn = '',
    conceallevel = 0,
    scrolloff = 0,
    sidescrolloff = 0,
    wrap = false,
    winfixheight = true,
    winfixbuf = true,
  }
  for name, value in pairs(plain) do
    display.win_option(win, name, value)
  end
end

local function map_keys(view)
  local function map(lhs, rhs, desc, opts)
    opts =
      vim.tbl_extend('force', { buffer = view.buf, nowait = true, silent = true, desc = desc }, opts or {})
    vim.keymap.set('n', lhs, rhs, opts)
  end
  map('q', function() M.hide() end, 'Hide the terminal')
  map('<C-c>', function() terminals().stop(view.id) end, 'Stop the command')
  map('g?', function() display.keys('Terminal', keys) end, 'Show these keys')
  for _, key in ipairs({ 'i', 'a', 'I', 'A' }) do
    map(key, function()
      if takes_input(view) then return key end
      display.notify(why_no_input(view))
      return '<Ignore>'
    end, 'Type into the program', { expr = true })
  end
end

-- The buffer is gone, whoever did it.
local function unloaded(view)
  if views[view.buf] ~= view or api.nvim_buf_is_loaded(view.buf) then return end
  local gone = view.gone
  forget(view)
  if not gone then rpc('terminal_wiped', { terminal = view.id }) end
end

local function create(id)
  local buf = api.nvim_create_buf(false, true)
  require('bosun.buffers').own(buf)
  local name = ('bosun://terminal/%s'):format(id)
  -- The text of an older sidecar's terminal of that number may still be on the screen.
  if not pcall(api.nvim_buf_set_name, buf, name) then
    pcall(api.nvim_buf_set_name, buf, ('%s#%d'):format(name, buf))
  end
  vim.bo[buf].bufhidden, vim.bo[buf].swapfile = 'hide', false
  local view = { id = id, buf = buf }
  view.last = terminals().get(id) or { id = id, state = 'exited', command = '' }
  views[buf] = view
  map_keys(view)
  api.nvim_create_autocmd({ 'BufUnload', 'BufWipeout' }, {
    buffer = buf,
    callback = function()
      vim.schedule(function() unloaded(view) end)
    end,
  })
  return view
end

-- Done once a window shows the buffer: what the person's TermOpen sets for windows goes to that one.
local function connect(view)
  local normal = api.nvim_get_mode().mode == 'n'
  view.feed = feed().open(view.buf, {
    input = function(data) on_input(view, data) end,
    before = function()
      -- The event that tells of another size comes after the size itself.
      if views[view.buf] == view then tell(view) end
    end,
  })
  -- `startinsert` in a TermOpen of the person's would begin in another window than it means.
  if normal and api.nvim_get_current_buf() ~= view.buf then vim.cmd.stopinsert() end
end

local function to_end(win)
  api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(api.nvim_win_get_buf(win)), 0 })
end

local function is_normal(win)
  return api.nvim_win_get_config(win).relative == ''
    and not vim.w[win].bosun
    and not vim.wo[win].previewwindow
end

-- The window that a terminal opens below: the person's own, never one of ours.
local function beside()
  local tab = api.nvim_get_current_tabpage()
  local candidates = api.nvim_tabpage_list_wins(tab)
  table.insert(candidates, 1, require('bosun.context').window())
  table.insert(candidates, 1, api.nvim_get_current_win())
  for _, win in ipairs(candidates) do
    if api.nvim_win_get_tabpage(win) == tab and is_normal(win) then return win end
  end
end

local function split(buf)
  local win = beside()
  local conf = { split = 'left', win = -1 }
  if win then
    local height = math.max(1, math.min(15, math.floor(api.nvim_win_get_height(win) / 2)))
    conf = { split = 'below', win = win, height = height }
  end
  local equal = vim.o.equalalways
  vim.o.equalalways = false
  local ok, made = pcall(api.nvim_open_win, buf, false, conf)
  vim.o.equalalways = equal
  if ok then return made end
  local why = tostring(made):find('E36') and '' or ': ' .. tostring(made)
  display.notify('there is no room for the terminal' .. why, 'warn')
end

-- A window of this tab that shows `buf`, else one that shows another terminal of ours and can take it, else a new one;
-- and whether the buffer was shown there before. Who stays where they are keeps what they have before them.
local function window_for(buf, focus)
  local other = nil
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    local shown = api.nvim_win_get_buf(win)
    if shown == buf then return win, true end
    local free = focus ~= false or win ~= api.nvim_get_current_win()
    if free and views[shown] and vim.w[win].bosun == 'terminal' then other = win end
  end
  if not other then return split(buf) end
  display.win_option(other, 'winfixbuf', false)
  api.nvim_win_set_buf(other, buf)
  return other
end

--- Shows a terminal in this tab, and goes there unless `focus` is false.
function M.open(id, focus)
  if fn.getcmdwintype() ~= '' then return display.notify('leave the command-line window first', 'warn') end
  local view = find(id)
  local fresh = view == nil
  view = view or create(id)
  local win, seen = window_for(view.buf, focus)
  if not win then
    if fresh then forget(view) end
    return
  end
  vim.w[win].bosun = 'terminal'
  if focus ~= false then api.nvim_set_current_win(win) end
  if not view.feed then connect(view) end
  dress(win)
  bars(view)
  if not seen then to_end(win) end
  look()
end

--- Hides the current window, which shows a terminal. The last window of all gets the file that was there before.
function M.hide()
  local win = api.nvim_get_current_win()
  if pcall(api.nvim_win_close, win, true) then return end
  vim.w[win].bosun = nil
  display.win_option(win, 'winfixbuf', false)
  if fn.bufloaded('#') == 0 or not pcall(vim.cmd, 'buffer #') then vim.cmd('enew') end
  for _, name in ipairs({ 'winbar', 'winfixheight' }) do
    vim.cmd('setlocal ' .. name .. '<')
  end
end

--- Bytes for a terminal, acknowledged when they are on its screen; with `reset` in place of all that was there. Those
--- for one that has no buffer are acknowledged at once.
function M.feed(message)
  local function ack() rpc('terminal_ack', { terminal = message.terminal, seq = message.seq }) end
  local view = find(message.terminal)
  if not view or not view.feed then return ack() end
  feed().push(view.feed, { reset = message.reset == true, bytes = message.bytes or '', done = ack })
end

--- What the sidecar knows of terminals has changed. Those that it does not know any more stay while they are on the
--- screen.
function M.on_terminals()
  for _, view in pairs(views) do
    local now = not view.gone and terminals().get(view.id)
    if now then
      view.last = now
    else
      view.gone = true
    end
  end
  look()
end

local group = api.nvim_create_augroup('bosun.terminal', {})

local function look_again()
  if next(views) then look() end
end

api.nvim_create_autocmd(
  { 'WinResized', 'VimResized', 'BufWinEnter', 'BufWinLeave', 'WinClosed', 'WinEnter', 'TabClosed' },
  { group = group, callback = look_again }
)
api.nvim_create_autocmd('ModeChanged', { group = group, pattern = { '*:t', 't:*' }, callback = look_again })

return M
