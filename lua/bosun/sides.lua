-- A tab of our own in which texts of a question stand side by side: how it opens, lends windows to buffers of the
-- person, and goes without a trace.
--
-- Owns no state: a view is a table of its caller. Opened only by a person. Whatever way it closes, the windows and
-- buffers of the person, present and future, keep their options and their text. Called by `bosun.diff` and
-- `bosun.merge`.
--
-- A view has: tab, origin, origin_tab, wins (by role), bufs (by role), live (the buffer of the file, when a window
-- shows it), lent (that window and its options as they were before 'diff').
local M = {}

local api, fn = vim.api, vim.fn
local display = require('bosun.display')

--- Larger texts are shown without syntax: it is slow where it matters least.
M.MAX_SYNTAX_LINES = 20000

-- Window options that `:diffthis` and our own code set.
local touched = {
  'diff',
  'scrollbind',
  'cursorbind',
  'foldmethod',
  'foldcolumn',
  'foldenable',
  'foldlevel',
  'wrap',
  'winbar',
  'winfixheight',
}

--- A buffer of ours that nobody edits. A name that is taken gets a number.
function M.scratch(name)
  local buf = api.nvim_create_buf(false, true)
  require('bosun.buffers').own(buf)
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].swapfile = false
  vim.bo[buf].undolevels = -1
  vim.bo[buf].modifiable = false
  if name then M.name(buf, name) end
  return buf
end

--- Names a buffer of ours that has no name yet.
function M.name(buf, name)
  if not pcall(api.nvim_buf_set_name, buf, name) then
    pcall(api.nvim_buf_set_name, buf, name .. '#' .. buf)
  end
end

--- Sets lines of a scratch buffer.
function M.fill(buf, first, last, lines)
  vim.bo[buf].modifiable = true
  api.nvim_buf_set_lines(buf, first, last, false, lines)
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
end

--- Lines of a message as a buffer takes them: a NUL may come as a line break within a line, as the editor gives it.
function M.received(lines)
  local out = {}
  for i, line in ipairs(lines) do
    out[i] = line:gsub('\n', '\0')
  end
  return out
end

--- A new window on `buf`, without the options that would keep it from being what it is for.
function M.window(buf, where)
  local win = api.nvim_open_win(buf, false, where)
  M.plain(win)
  return win
end

--- Takes away what a window may have from the one it was split off.
function M.plain(win)
  for _, name in ipairs({ 'winfixbuf', 'winfixheight', 'winfixwidth', 'diff', 'scrollbind', 'cursorbind' }) do
    display.win_option(win, name, false)
  end
  display.win_option(win, 'winbar', '')
end

--- What a view remembers of where the person was; leaves insert mode. `origin`: the window to go back to when it is
--- not the current one.
function M.begin(origin)
  if not (origin and api.nvim_win_is_valid(origin)) then origin = api.nvim_get_current_win() end
  if fn.mode():find('^[iRt]') then vim.cmd.stopinsert() end
  return { wins = {}, bufs = {}, origin = origin, origin_tab = api.nvim_get_current_tabpage() }
end

--- Why no tab can be opened now, or nil.
function M.obstacle()
  if fn.getcmdwintype() ~= '' then return 'leave the command-line window first' end
end

--- Whether the window is one of the view's.
function M.owns(v, win)
  for _, own in pairs(v.wins) do
    if own == win then return true end
  end
  return false
end

--- Whether a window of the view was moved to another tab.
function M.astray(v)
  for _, win in pairs(v.wins) do
    if api.nvim_win_is_valid(win) and api.nvim_win_get_tabpage(win) ~= v.tab then return true end
  end
  return false
end

--- Shows the person's buffer in the window of that role; its options there come back with `give_back`.
function M.lend(v, role, buf)
  local win = v.wins[role]
  api.nvim_win_set_buf(win, buf)
  local saved = {}
  for _, name in ipairs(touched) do
    local ok, value = pcall(api.nvim_get_option_value, name, { scope = 'local', win = win })
    if ok and api.nvim_get_option_info2(name, {}).scope == 'win' then saved[name] = value end
  end
  v.live, v.lent = buf, { win = win, saved = saved }
end

--- Before a lent window goes: what it shows would otherwise hand its options on to the next window of that buffer.
function M.give_back(v)
  local lent = v.lent
  if not lent or not api.nvim_win_is_valid(lent.win) then return end
  v.lent = nil
  pcall(api.nvim_win_call, lent.win, function() vim.cmd('diffoff') end)
  for name, value in pairs(lent.saved) do
    pcall(api.nvim_set_option_value, name, value, { scope = 'local', win = lent.win })
  end
end

-- Whether the tab holds windows that the person opened there.
local function has_guests(v)
  for _, win in ipairs(api.nvim_tabpage_list_wins(v.tab)) do
    if not M.owns(v, win) and api.nvim_win_get_config(win).relative == '' then return true end
  end
  return false
end

local function go_back(v)
  if api.nvim_win_is_valid(v.origin) then
    api.nvim_set_current_win(v.origin)
  elseif v.origin_tab and api.nvim_tabpage_is_valid(v.origin_tab) then
    api.nvim_set_current_tabpage(v.origin_tab)
  end
end

-- The person's own text is closed last.
local function close_windows(v)
  local last
  for _, win in pairs(v.wins) do
    if api.nvim_win_is_valid(win) then
      if v.live and api.nvim_win_get_buf(win) == v.live then
        last = win
      elseif not pcall(api.nvim_win_close, win, true) then
        -- The last window of the last tab: it stays, as an ordinary one.
        M.plain(win)
        api.nvim_win_call(win, function() vim.cmd('enew') end)
      end
    end
  end
  if last and not pcall(api.nvim_win_close, last, true) then display.win_option(last, 'winbar', '') end
end

-- Windows that the person moved to another tab: there, their own text stays; ours goes.
local function close_strays(v)
  for _, win in pairs(v.wins) do
    local stray = api.nvim_win_is_valid(win) and api.nvim_win_get_tabpage(win) ~= v.tab
    if stray and not (v.live and api.nvim_win_get_buf(win) == v.live) then
      pcall(api.nvim_win_close, win, true)
    end
  end
end

-- Closing the last window of a buffer that does not stay when it is hidden would throw its unsaved text away: it stays
-- this once. Returns what makes it go by its own rule again.
local function keep_unsaved(v)
  local buf = v.live
  local loses = buf
    and api.nvim_buf_is_loaded(buf)
    and vim.bo[buf].modified
    and vim.bo[buf].bufhidden:find('^[wud]')
  if not loses then
    return function() end
  end
  local rule = vim.bo[buf].bufhidden
  vim.bo[buf].bufhidden = 'hide'
  return function()
    if api.nvim_buf_is_valid(buf) then vim.bo[buf].bufhidden = rule end
  end
end

--- Closes the tab, goes back to where the person was if they are in it, and removes the view's own buffers.
function M.close(v)
  M.give_back(v)
  local as_before = keep_unsaved(v)
  local current = api.nvim_get_current_win()
  if M.owns(v, current) and api.nvim_win_get_tabpage(current) ~= v.tab then go_back(v) end
  if api.nvim_tabpage_is_valid(v.tab) then
    local here = api.nvim_get_current_tabpage() == v.tab
    if has_guests(v) or #api.nvim_list_tabpages() == 1 then
      close_windows(v)
    else
      if here then go_back(v) end
      if api.nvim_get_current_tabpage() == v.tab then
        close_windows(v)
      else
        local number = api.nvim_tabpage_get_number(v.tab)
        if not pcall(vim.cmd, 'tabclose! ' .. number) then close_windows(v) end
      end
    end
  end
  close_strays(v)
  as_before()
  for _, buf in pairs(v.bufs) do
    if api.nvim_buf_is_valid(buf) then pcall(api.nvim_buf_delete, buf, { force = true }) end
  end
end

--- Gives buffers the syntax of a file, without its file type: nothing that works on files shall work on these.
function M.syntax(bufs, filetype)
  local name = (filetype or ''):match('^[%w_-]+')
  if not name then return end
  for _, buf in ipairs(bufs) do
    if api.nvim_buf_line_count(buf) <= M.MAX_SYNTAX_LINES then vim.bo[buf].syntax = name end
  end
end

--- Puts windows into 'diff' mode.
function M.compare(wins)
  for _, win in ipairs(wins) do
    api.nvim_win_call(win, function() vim.cmd('diffthis') end)
  end
end

return M
