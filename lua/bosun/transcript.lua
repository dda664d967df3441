-- Transcript buffers: one a session, filled by patches of the sidecar.
--
-- Owns the buffers, their highlights, and where the questions stand in them. Never parses Markdown, never starts
-- treesitter or a syntax, never moves a cursor but in windows that follow (their cursor was on the last line), and
-- never shifts lines under a selection. Called by the inbox (through `bosun.chat`) and by the chat.
local M = {}

local api, fn = vim.api, vim.fn
local display = require('bosun.display')
local ns = api.nvim_create_namespace('bosun.transcript')

-- By session: { session, buf, base, fresh, questions = { { id, first, last } … }, held, parked }.
--   base       lines at the top that a lost sidecar left behind; those of the present one come below them
--   fresh      no patch has come since the view was opened: the first one replaces everything
--   questions  zero-based lines, end exclusive, as of the last patch
--   held       a patch that waits until the person has finished a selection that it would shift
--   parked     by window: the line at which a window that followed stood when a selection stopped it
local views = {}

local keys = {
  { '<CR>', 'answer with the option under the cursor; on a question its diff; else fold' },
  { '<Tab> za', 'show or hide the details of the entry' },
  { '1-9', 'answer the question under the cursor' },
  { 'gd', 'diff of the question at or above the cursor' },
  { ']] [[', 'next, previous prompt' },
  { 'i a o', 'go to the prompt and type' },
  { '<C-c>', 'cancel the turn' },
  { 'q', 'hide the chat' },
}

local function rpc(name, data) return require('bosun.rpc').notify(name, data) end

local function selecting(win)
  if win ~= api.nvim_get_current_win() then return false end
  local mode = api.nvim_get_mode().mode
  return mode:find('^[vV\22]') ~= nil or mode:sub(1, 2) == 'no'
end

-- Whether the patch changes the number of lines above the end of what the person is selecting: the editor does not
-- shift the start of a selection, so it would come to hold other lines.
local function shifts_selection(view, msg)
  local delta = #msg.lines - (msg.last - msg.first)
  local win = api.nvim_get_current_win()
  if delta == 0 or api.nvim_win_get_buf(win) ~= view.buf or not selecting(win) then return false end
  local bottom = math.max(fn.line('v'), fn.line('.')) - 1
  return msg.last <= bottom or msg.first + #msg.lines <= bottom
end

local function set_lines(buf, first, last, lines)
  local bo = vim.bo[buf]
  bo.modifiable = true
  local ok, err = pcall(api.nvim_buf_set_lines, buf, first, last, false, lines)
  bo.modifiable = false
  if bo.modified then bo.modified = false end
  return ok, err
end

local function set_marks(buf, first, marks, groups)
  local opts = { strict = false, undo_restore = false }
  local set = api.nvim_buf_set_extmark
  for i = 1, #marks, 4 do
    opts.end_col, opts.hl_group = marks[i + 2], groups[marks[i + 3]] or 'Normal'
    set(buf, ns, first + marks[i], marks[i + 1], opts)
  end
end

-- The windows that go on with the text. In all others the editor keeps the lines and the cursor in place by itself.
local function followers_of(view)
  local count = api.nvim_buf_line_count(view.buf)
  local out = {}
  for _, win in ipairs(fn.win_findbuf(view.buf)) do
    local line = api.nvim_win_get_cursor(win)[1]
    local at_end = line >= count or view.parked[win] == line
    view.parked[win] = nil
    if at_end and selecting(win) then
      view.parked[win] = line
    elseif at_end then
      out[#out + 1] = win
    end
  end
  return out
end

local function ranges(list, base)
  local out = {}
  for i, q in ipairs(list or {}) do
    out[i] = { id = q.id, first = base + q.first, last = base + q.last }
  end
  return out
end

-- The highlight groups by the numbers that the sidecar gives them; they come with its welcome.
local function groups_of()
  local welcome = require('bosun.rpc').welcome
  return welcome and welcome.groups or {}
end

local function apply(view, msg)
  local buf = view.buf
  if view.fresh then
    msg.first, msg.last = view.base, api.nvim_buf_line_count(buf)
  end
  local followers = followers_of(view)
  if msg.last > msg.first then api.nvim_buf_clear_namespace(buf, ns, msg.first, msg.last) end
  local ok, err = set_lines(buf, msg.first, msg.last, msg.lines)
  if not ok then
    if tostring(err):find('E565') then
      -- A textlock: the text may not change until the mapping or expression that runs now is done.
      view.held = msg
      vim.defer_fn(M.release, 20)
      return
    end
    display.notify('the transcript is drawn again: ' .. tostring(err), 'warn')
    return M.reload(view.session)
  end
  view.fresh = false
  set_marks(buf, msg.first, msg.marks or {}, groups_of())
  local count = api.nvim_buf_line_count(buf)
  for _, win in ipairs(followers) do
    api.nvim_win_set_cursor(win, { count, 0 })
  end
  view.questions = ranges(msg.questions, view.base)
  rpc('view_ack', { session = view.session, version = msg.version })
  if #view.questions > 0 then vim.schedule(M.mark_seen) end
  -- On a command line the editor draws no windows by itself.
  if #fn.win_findbuf(buf) > 0 and api.nvim_get_mode().mode:sub(1, 1) == 'c' then
    api.nvim__redraw({ buf = buf, valid = true, flush = true })
  end
end

--- Replaces lines of a transcript and acknowledges it.
function M.patch(msg)
  local view = views[msg.session]
  if not view or view.buf ~= msg.buf or not api.nvim_buf_is_loaded(msg.buf) then return end
  msg.first, msg.last = msg.first + view.base, msg.last + view.base
  if not view.fresh and shifts_selection(view, msg) then
    view.held = msg
    return
  end
  apply(view, msg)
end

--- Applies patches that waited for a selection to end.
function M.release()
  for _, view in pairs(views) do
    local msg = view.held
    if msg and api.nvim_buf_is_loaded(view.buf) and not shifts_selection(view, msg) then
      view.held = nil
      apply(view, msg)
    end
  end
end

--- Has the sidecar send everything again.
function M.reload(session)
  local view = views[session]
  if not view then return end
  view.fresh, view.held, view.questions = true, nil, {}
  rpc('view_open', { session = session, buf = view.buf })
end

--- Notes which questions have their lines in a window of this tab.
function M.mark_seen()
  local questions = require('bosun.questions')
  for session, view in pairs(views) do
    for _, q in ipairs(view.questions) do
      if M.is_on_screen(session, q.id) then questions.mark_seen(q.id) end
    end
  end
end

--- Whether the last line of a question (where its options end) is in a window of this tab.
function M.is_on_screen(session, id)
  local view = views[session]
  local tab = api.nvim_get_current_tabpage()
  for _, q in ipairs(view and view.questions or {}) do
    if q.id == id then
      for _, win in ipairs(fn.win_findbuf(view.buf)) do
        if
          api.nvim_win_get_tabpage(win) == tab
          and fn.line('w0', win) <= q.last
          and fn.line('w$', win) >= q.last
        then
          return true
        end
      end
    end
  end
  return false
end

-- The pending question in whose lines `row` (zero-based) is, with its range.
local function question_at(view, row)
  for _, range in ipairs(view.questions) do
    if row >= range.first and row < range.last then
      local q = require('bosun.questions').get(range.id)
      if q then return q, range end
    end
  end
end

-- The number of the option that stands in `row`. Options are the last numbered lines of a question, so they are looked
-- for from its end: a numbered line in the text of an agent is not taken for one.
local function option_at(view, q, range, row)
  local number = #require('bosun.questions').options(q)
  local lines = api.nvim_buf_get_lines(view.buf, range.first, range.last, false)
  for i = #lines, 1, -1 do
    if number < 1 then return nil end
    if lines[i]:match('^[^%w]*' .. number .. '%f[%D]') then
      if range.first + i - 1 == row then return number end
      number = number - 1
    end
  end
end

local function row_now() return api.nvim_win_get_cursor(0)[1] - 1 end

local function toggle(view)
  local line = row_now() - view.base
  if line >= 0 then rpc('view_toggle', { session = view.session, line = line }) end
end

local function enter(view)
  local row = row_now()
  local q, range = question_at(view, row)
  if not q then return toggle(view) end
  local questions = require('bosun.questions')
  local number = option_at(view, q, range, row)
  if number then
    questions.mark_seen(q.id)
    if not questions.ripe(q.id) then
      return display.notify('this question has only just come up: read it, then answer')
    end
    questions.answer(q.id, number)
  elseif q.files and #q.files > 0 then
    require('bosun.diff').open(q.id, 0)
  else
    toggle(view)
  end
end

local function diff(view)
  local row, best = row_now(), nil
  for _, range in ipairs(view.questions) do
    if range.first <= row and require('bosun.questions').get(range.id) then
      if not best or range.first > best.first then best = range end
    end
  end
  if not best then return display.notify('no question at or above the cursor') end
  require('bosun.diff').open(best.id, 0)
end

-- A digit is a count, as everywhere, unless it stands in a question that has been on screen for a while.
local function digit(view, number)
  local q = vim.v.count == 0 and question_at(view, row_now())
  local questions = require('bosun.questions')
  if not q or not questions.options(q)[number] then return tostring(number) end
  if not questions.ripe(q.id) then
    vim.schedule(function() questions.mark_seen(q.id) end)
    return tostring(number)
  end
  vim.schedule(function() questions.answer(q.id, number) end)
  return '<Ignore>'
end

-- Goes to a line that begins a prompt; those carry the highlight group of the person's words.
local function heading(view, forward)
  local here, previous, target = row_now(), -2, nil
  for _, mark in ipairs(api.nvim_buf_get_extmarks(view.buf, ns, 0, -1, { details = true })) do
    if mark[4].hl_group == 'BosunUser' then
      if mark[2] > previous + 1 then
        if forward and mark[2] > here then
          target = mark[2]
          break
        elseif not forward and mark[2] < here then
          target = mark[2]
        end
      end
      previous = mark[2]
    end
  end
  if target then
    vim.cmd("normal! m'")
    api.nvim_win_set_cursor(0, { target + 1, 0 })
  end
end

local function map_keys(view)
  local buf = view.buf
  local function map(lhs, rhs, desc, opts)
    opts = vim.tbl_extend('force', { buffer = buf, nowait = true, silent = true, desc = desc }, opts or {})
    vim.keymap.set('n', lhs, rhs, opts)
  end
  local chat = require('bosun.chat')
  map('q', chat.hide, 'Hide the chat')
  map('<CR>', function() enter(view) end, 'Answer, show the diff, or fold')
  map('<Tab>', function() toggle(view) end, 'Show or hide details')
  map('za', function() toggle(view) end, 'Show or hide details')
  map('gd', function() diff(view) end, 'Diff of the question')
  map(']]', function() heading(view, true) end, 'Next prompt')
  map('[[', function() heading(view, false) end, 'Previous prompt')
  map('<C-c>', function() chat.cancel(view.session) end, 'Cancel the turn')
  map('g?', function() display.keys('Transcript', keys) end, 'Show these keys')
  for _, key in ipairs({ 'i', 'a', 'o', 'I', 'A', 'O' }) do
    map(key, function() chat.focus_prompt(true) end, 'Go to the prompt')
  end
  for i = 1, 9 do
    map(tostring(i), function() return digit(view, i) end, 'Answer, or a count', { expr = true })
  end
end

local function autocmds(view)
  local buf = view.buf
  local group = api.nvim_create_augroup('bosun.transcript.' .. view.session, {})
  api.nvim_create_autocmd('BufReadCmd', {
    group = group,
    buffer = buf,
    callback = function()
      vim.bo[buf].modifiable = false
      view.base = 0
      M.reload(view.session)
    end,
  })
  -- `:bdelete` and friends: the lines are gone, so the view is closed, and the next opening starts a new buffer.
  api.nvim_create_autocmd({ 'BufUnload', 'BufWipeout' }, {
    group = group,
    buffer = buf,
    callback = function()
      vim.schedule(function()
        -- `:edit` unloads and loads again; that was seen to by BufReadCmd.
        if views[view.session] ~= view or api.nvim_buf_is_loaded(buf) then return end
        views[view.session] = nil
        rpc('view_close', { session = view.session })
        if api.nvim_buf_is_valid(buf) then pcall(api.nvim_buf_delete, buf, { force = true }) end
      end)
    end,
  })
end

--- The transcript buffer of a session; made, and its view opened, when there is none.
function M.buf(session)
  local view = views[session]
  if view and api.nvim_buf_is_loaded(view.buf) then return view.buf end
  local buf = api.nvim_create_buf(false, true)
  require('bosun.buffers').own(buf)
  pcall(api.nvim_buf_set_name, buf, 'bosun://' .. session .. '/transcript')
  local bo = vim.bo[buf]
  bo.bufhidden, bo.undolevels, bo.swapfile, bo.modifiable = 'hide', -1, false, false
  bo.filetype = 'bosun'
  view = { session = session, buf = buf, base = 0, fresh = true, questions = {}, parked = {} }
  views[session] = view
  map_keys(view)
  autocmds(view)
  rpc('view_open', { session = session, buf = buf })
  return buf
end

--- Opens a session's view. When there is one already, its sidecar was lost: what stands there is kept, and what comes
--- now goes below it.
function M.create(session)
  local view = views[session]
  if not view or not api.nvim_buf_is_loaded(view.buf) then return M.buf(session) end
  local count = api.nvim_buf_line_count(view.buf)
  local empty = count == 1 and api.nvim_buf_get_lines(view.buf, 0, 1, false)[1] == ''
  view.base = empty and 0 or count
  M.reload(session)
end

--- The session whose transcript `buf` is.
function M.session_of(buf)
  for session, view in pairs(views) do
    if view.buf == buf then return session end
  end
end

--- The text, as it is shown.
function M.text(session)
  local view = views[session]
  if not view or not api.nvim_buf_is_loaded(view.buf) then return '' end
  return table.concat(api.nvim_buf_get_lines(view.buf, 0, -1, false), '\n')
end

--- Lets go of a session's transcript.
function M.dispose(session)
  local view = views[session]
  if not view then return end
  views[session] = nil
  pcall(api.nvim_del_augroup_by_name, 'bosun.transcript.' .. session)
  if api.nvim_buf_is_valid(view.buf) then pcall(api.nvim_buf_delete, view.buf, { force = true }) end
end

local group = api.nvim_create_augroup('bosun.transcript', {})
api.nvim_create_autocmd('ModeChanged', {
  group = group,
  pattern = { '[vV\22]*:*', 'no*:*' },
  callback = vim.schedule_wrap(M.release),
})

return M
