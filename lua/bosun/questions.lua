-- Questions that wait for a person: how long they have been there, how they are answered, and the note that says so.
--
-- Owns the ages of questions and the small note at the edge of the screen. Never takes the focus, moves a cursor or
-- changes a mode: the panel (`bosun.panel`) is for those who ask for it. The list itself is pushed by the sidecar and
-- lives in `bosun.state`. Called by the inbox (`on_questions`), the chat, the panel, the diff, the merge and
-- `:Bosun answer`.
local M = {}

local api, fn, uv = vim.api, vim.fn, vim.uv
local display = require('bosun.display')

--- A key that may answer does so only when the question has been there this long (milliseconds): a count that was
--- being typed when it came must not become a verdict.
M.GUARD_MS = 700

-- By question id: when it came (`came`), when its lines were first on screen (`seen`); in `uv.now()` milliseconds.
local times = {}
-- By session: { id, since } of its oldest question; `since` starts again when that question changes.
local heads = {}
-- Ids that were answered here and are still in the sidecar's list: nothing is answered twice.
local answered = {}
-- The note: { buf, win, tab }.
local note = {}

--- Pending questions, oldest first, without those that were answered a moment ago.
function M.pending(session)
  local out = {}
  for _, q in ipairs(require('bosun.state').questions or {}) do
    if not answered[q.id] and (session == nil or q.session == session) then out[#out + 1] = q end
  end
  return out
end

--- A pending question by id.
function M.get(id)
  for _, q in ipairs(M.pending()) do
    if q.id == id then return q end
  end
end

--- The pending question about a write; it may have taken the place of another.
function M.about(write)
  for _, q in ipairs(M.pending()) do
    if q.write == write then return q end
  end
end

--- What can be chosen. An agent that gave no option at all can still be told that nothing was chosen.
function M.options(q)
  if q.options and #q.options > 0 then return q.options end
  return {
    { id = 'cancelled', name = 'Cancel this question (the agent gave no options)', kind = 'cancelled' },
  }
end

--- The oldest pending question of a session, and whether it has been the oldest long enough to be answered by a digit.
function M.head(session)
  local q = M.pending(session)[1]
  if not q then return nil, false end
  local head = heads[session]
  if not head or head.id ~= q.id then
    head = { id = q.id, since = uv.now() }
    heads[session] = head
  end
  uv.update_time()
  return q, uv.now() - head.since >= M.GUARD_MS
end

--- The lines of a question are on screen; only the first time counts.
function M.mark_seen(id)
  local t = times[id]
  if t and not t.seen then
    uv.update_time()
    t.seen = uv.now()
  end
end

--- Whether the question has been on screen long enough.
function M.ripe(id)
  local t = times[id]
  if not t or not t.seen then return false end
  uv.update_time()
  return uv.now() - t.seen >= M.GUARD_MS
end

--- Answers with the option of that number; false when there is no such question or option.
function M.answer(id, number)
  local q = M.get(id)
  local option = q and M.options(q)[number]
  if not option then return false end
  if require('bosun.rpc').notify('answer', { question = id, option = option.id }) == false then
    return false
  end
  answered[id] = true
  M.on_questions()
  return true
end

--- Answers a question about a merge with the text that shall be: its lines, and whether the last one ends in a newline.
--- False when it cannot be told.
function M.answer_text(id, lines, eol)
  if not M.get(id) then return false end
  local message = { question = id, lines = lines, eol = eol }
  if require('bosun.rpc').notify('answer_text', message) == false then return false end
  answered[id] = true
  M.on_questions()
  return true
end

--- Allows a question once with what the person made of its files, as `bosun.proposals` has them. False when it cannot
--- be told.
function M.answer_edited(id, files)
  if not M.get(id) then return false end
  if require('bosun.rpc').notify('answer_edited', { question = id, files = files }) == false then
    return false
  end
  return true
end

--- Refuses a question and asks the person why, for the agent. Without a word nothing is answered.
function M.refuse(id)
  if not M.get(id) then return end
  vim.ui.input({ prompt = 'Reject, because: ' }, function(why)
    if not why or why:match('^%s*$') then return end
    local ok, err = require('bosun').answer(id, 'reject_once', { why = why })
    if not ok then display.notify(err, 'warn') end
  end)
end

--- The options in a row: `1 Allow  2 Reject`.
function M.summary(q, width)
  local parts = {}
  for i, option in ipairs(M.options(q)) do
    parts[i] = ('%d %s'):format(i, display.line(option.name, 40))
  end
  return display.line(table.concat(parts, '  '), width)
end

--- Who asks: the agent, and its session's title when there is one.
function M.asker(q)
  for _, s in ipairs(require('bosun.state').sessions or {}) do
    if s.id == q.session then return s.agent or '' end
  end
  return ''
end

local function close_note()
  local win = note.win
  note.win, note.tab = nil, nil
  if win and api.nvim_win_is_valid(win) then pcall(api.nvim_win_close, win, true) end
end

local function note_buf()
  if not note.buf or not api.nvim_buf_is_valid(note.buf) then
    note.buf = api.nvim_create_buf(false, true)
    require('bosun.buffers').own(note.buf)
  end
  return note.buf
end

-- Whether the cursor would be under a note of that size in the lower corner.
local function covers_cursor(row, col, height)
  if fn.mode():find('^[ct]') then return false end
  local pos = fn.screenpos(0, fn.line('.'), fn.col('.'))
  return pos.row ~= 0 and pos.row > row - height and pos.row <= row + 1 and pos.col >= col
end

local function show_note(list)
  local chat = require('bosun.chat')
  local tab = api.nvim_get_current_tabpage()
  local right = chat.left_edge() or vim.o.columns
  if right < 24 then right = vim.o.columns end
  local status = (vim.o.laststatus > 0) and 1 or 0
  local bottom = vim.o.lines - vim.o.cmdheight - status
  local tabline = vim.o.showtabline == 2 or (vim.o.showtabline == 1 and #api.nvim_list_tabpages() > 1)
  local top = tabline and 1 or 0
  local first = list[1]
  local head = #list == 1 and '1 question' or ('%d questions'):format(#list)
  local width = math.max(1, math.min(58, right - 4))
  local hint = ':Bosun pending  or  <Plug>(bosun-pending)'
  local asker = M.asker(first)
  local what = (asker ~= '' and asker .. ': ' or '') .. (first.title or '')
  local lines = { display.line(what, width), M.summary(first, width), hint }
  local room, border = bottom - top, 'rounded'
  if room < #lines + 2 then
    border = 'none'
    lines = { display.line(('%s · %s · %s'):format(head, first.title or '', hint), width) }
  end
  if room < 1 then return close_note() end
  local wide = 1
  for _, line in ipairs(lines) do
    wide = math.max(wide, fn.strdisplaywidth(line))
  end
  wide = math.min(wide, width)
  local buf = note_buf()
  vim.bo[buf].modifiable = true
  api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  local frame = border == 'none' and 0 or 2
  local conf = {
    relative = 'editor',
    anchor = 'SE',
    row = bottom,
    col = right,
    width = wide,
    height = #lines,
    focusable = false,
    style = 'minimal',
    border = border,
    zindex = 40,
  }
  if covers_cursor(bottom, right - wide - frame, #lines + frame) then
    conf.anchor, conf.row = 'NE', top
  end
  if frame > 0 then conf.title = { { ' ' .. head .. ' ', 'BosunBarQuestion' } } end
  if note.win and api.nvim_win_is_valid(note.win) and note.tab == tab then
    api.nvim_win_set_config(note.win, conf)
  else
    close_note()
    conf.noautocmd = true
    note.win, note.tab = api.nvim_open_win(buf, false, conf), tab
    display.win_option(note.win, 'winhighlight', 'Normal:BosunNote,FloatBorder:BosunNoteBorder')
    display.win_option(note.win, 'wrap', false)
    display.win_option(note.win, 'winfixbuf', true)
  end
end

-- Pending questions that this tab does not show already, in the chat or as a diff: a note would only repeat those.
local function out_of_view()
  local shown = require('bosun.chat').shown()
  return vim.tbl_filter(function(q)
    if require('bosun.diff').shows(q.id) or require('bosun.merge').shows(q.id) then return false end
    return not (q.session == shown and require('bosun.transcript').is_on_screen(shown, q.id))
  end, M.pending())
end

local scheduled = false

local function refresh_now()
  local list = out_of_view()
  if #list == 0 or require('bosun.panel').is_open() then return close_note() end
  show_note(list)
  -- On a command line nothing else draws the screen.
  if fn.mode():find('^c') then vim.cmd('redraw') end
end

--- Brings the note up to date, soon. A place that cannot have a float now (a textlock, the command-line window) gets it
--- with the next occasion; it is never an error.
function M.refresh(delay)
  if scheduled then return end
  scheduled = true
  vim.defer_fn(function()
    scheduled = false
    if not pcall(refresh_now) then
      note.win, note.tab = nil, nil
    end
  end, delay or 0)
end

--- The list has changed.
function M.on_questions()
  uv.update_time()
  local now, alive = uv.now(), {}
  for _, q in ipairs(require('bosun.state').questions or {}) do
    alive[q.id] = true
    times[q.id] = times[q.id] or { came = now }
  end
  for id in pairs(times) do
    if not alive[id] then
      times[id], answered[id] = nil, nil
    end
  end
  for session in pairs(heads) do
    if not M.pending(session)[1] then heads[session] = nil end
  end
  for _, q in ipairs(M.pending()) do
    M.head(q.session)
  end
  require('bosun.chat').on_sessions()
  require('bosun.panel').on_questions()
  require('bosun.diff').on_questions()
  require('bosun.proposals').on_questions()
  require('bosun.merge').on_questions()
  -- Where the chat is open the question's own lines come with the next frame: give them the time to be there.
  M.refresh(require('bosun.chat').left_edge() and 120 or 0)
end

--- The person asks for the questions: opens the panel and goes there.
function M.focus() require('bosun.panel').open() end

api.nvim_create_autocmd(
  { 'TabEnter', 'VimResized', 'CmdwinLeave', 'WinClosed', 'TermLeave', 'WinScrolled', 'FocusGained' },
  {
    group = api.nvim_create_augroup('bosun.questions', {}),
    callback = function()
      if note.win or #M.pending() > 0 then
        require('bosun.transcript').mark_seen()
        M.refresh(20)
      end
    end,
  }
)

return M
