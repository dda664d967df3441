-- The merge of a question: a tab of our own with what both sides started from, both sides, and a result that can be
-- edited.
--
-- Owns that tab, and by write the results that a person has begun and not written yet. It is opened only by a person.
-- Writing the result answers; any other way of leaving keeps it and leaves the question pending. Never merges: the
-- result comes from the sidecar. Called by `bosun.diff` (`open`), the inbox (`recv`), by `bosun.questions`
-- (`on_questions`) and by keys.
local M = {}

local api, fn, uv = vim.api, vim.fn, vim.uv
local display = require('bosun.display')
local footer = require('bosun.footer')
local hunks = require('bosun.hunks')
local result = require('bosun.result')
local sides = require('bosun.sides')

-- The open tab, nil when there is none: what `bosun.sides` says, and { question, write, path, loaded, since, incoming,
-- from_disk, syntax, rows, gone, answered, lent_keys }. Roles of windows and buffers: `base`, `yours`, `theirs`,
-- `result`, `panel`; when the file is open its own buffer is in the window `yours`.
--   write     what stays the same when the question is replaced by another about the same write
--   since     when the text of all sides was complete, in `uv.now()` milliseconds
--   incoming  lines of the result as far as they have come
--   gone      the question is not asked any more, and the person is at work in the tab
local view = nil

-- By write: a result that was begun: { lines, eol, conflicts, question, path, settled }. `settled`: when its write was
-- first seen to be asked about no more, in `uv.now()` milliseconds.
local kept = {}

-- A result is kept that long after it answered: where the text moved on meanwhile the person is asked again.
local LINGER_MS = 60000

local ROLES = { 'base', 'yours', 'theirs' }

local function questions() return require('bosun.questions') end

-- Remembers what the person has made of the result.
local function keep(v)
  local text = v.write and result.text(v.bufs.result)
  if not text or v.gone then return end
  kept[v.write] = nil
  if v.answered or result.edited(v.bufs.result) then
    kept[v.write] = vim.tbl_extend('error', text, { question = v.question, path = v.path })
  end
end

--- Hides the tab. The question stays as it is, and so does what was made of the result.
function M.hide()
  local v = view
  if not v then return end
  keep(v)
  view = nil
  hunks.take_keys(v)
  sides.close(v)
  result.forget(v.bufs.result)
  questions().refresh()
end

local function draw(v)
  local state = v.gone and ' · no longer asked' or v.loaded and '' or ' · loading…'
  footer.draw(v, {}, state)
  local names = {
    base = '1 base',
    yours = v.live and '2 yours (live text)' or '2 yours',
    theirs = v.from_disk and '3 on disk' or "3 the agent's",
  }
  for role, name in pairs(names) do
    local win = v.wins[role]
    if api.nvim_win_is_valid(win) then display.winbar(win, '%#BosunBar# ' .. name .. '%<') end
  end
  if v.gone and api.nvim_win_is_valid(v.wins.panel) then
    display.winbar(v.wins.panel, '%#BosunBarQuestion# no longer asked %<%=%#BosunBarHint#q hides ')
  end
  if not api.nvim_win_is_valid(v.wins.result) then return end
  local head = v.gone and 'no longer asked' or 'result: `:w` answers'
  display.winbar(
    v.wins.result,
    ('%%#BosunBarQuestion# %s%%#BosunBar#%s · %s%%<%%=%%#BosunBarHint#do d2o · ]x · g? keys '):format(
      head,
      v.loaded and '' or ' · loading…',
      display.bar(v.path or '', 80)
    )
  )
end

-- Why the result cannot answer now, or nil.
local function not_yet(v)
  if view ~= v or v.gone then return 'this is no longer asked: nothing was written' end
  if not v.loaded then return 'the merge is not complete yet' end
  uv.update_time()
  if v.renewed and uv.now() - v.since < questions().GUARD_MS then
    return 'the texts have only just changed: look at them, then write'
  end
end

local function answer_text(v, lines, eol)
  local why = not_yet(v)
  if why then return display.notify(why, 'warn') end
  v.answered = true
  if not questions().answer_text(v.question, lines, eol) then
    v.answered = false
    return display.notify('the answer could not be given; the result is kept', 'error')
  end
  vim.schedule(function()
    if view == v then M.hide() end
  end)
end

local function answer(number)
  local v = view
  if not v then return end
  local why = not_yet(v)
  if why then return display.notify(why, 'warn') end
  questions().answer(v.question, number)
end

local function make_bufs(v)
  local name = ('bosun://merge/%d/'):format(v.question)
  local file = v.path:gsub('^/+', '')
  v.bufs.panel = sides.scratch(name .. 'question')
  for _, role in ipairs(ROLES) do
    v.bufs[role] = sides.scratch(name .. role .. '/' .. file)
    sides.fill(v.bufs[role], 0, -1, { 'loading…' })
    -- Sides come back to a window after a buffer of the person's.
    vim.bo[v.bufs[role]].bufhidden = 'hide'
  end
  v.bufs.result = result.create(name .. file, function(lines, eol) answer_text(v, lines, eol) end)
  for role in pairs(v.bufs) do
    hunks.map(v, role)
    vim.keymap.set(
      'n',
      'q',
      M.hide,
      { buffer = v.bufs[role], nowait = true, desc = 'Hide, leave it pending' }
    )
  end
  footer.map(v, answer)
end

local function open_tab(v)
  vim.cmd('tab sbuffer ' .. v.bufs.panel)
  v.tab, v.wins.panel = api.nvim_get_current_tabpage(), api.nvim_get_current_win()
  sides.plain(v.wins.panel)
  footer.dress(v.wins.panel)
  v.wins.result = sides.window(v.bufs.result, { split = 'above', win = v.wins.panel })
  v.wins.base = sides.window(v.bufs.base, { split = 'above', win = v.wins.result })
  v.wins.yours = sides.window(v.bufs.yours, { split = 'right', win = v.wins.base })
  v.wins.theirs = sides.window(v.bufs.theirs, { split = 'right', win = v.wins.yours })
  for _, role in ipairs({ 'result', 'base', 'theirs' }) do
    display.win_option(v.wins[role], 'winfixbuf', true)
  end
  display.win_option(v.wins.result, 'signcolumn', 'yes')
  api.nvim_set_current_win(v.wins.result)
end

-- The panel has its height by now; the sides share the rest with the result, in one row of equal widths.
local function share_room(v)
  local free = vim.o.lines - vim.o.cmdheight - api.nvim_win_get_height(v.wins.panel) - 4
  pcall(api.nvim_win_set_height, v.wins.result, math.max(1, math.ceil(free / 2)))
  local width = math.floor((vim.o.columns - 2) / 3)
  pcall(api.nvim_win_set_width, v.wins.base, width)
  pcall(api.nvim_win_set_width, v.wins.yours, width)
end

local function whole(v)
  if not api.nvim_tabpage_is_valid(v.tab) or sides.astray(v) then return false end
  for _, win in pairs(v.wins) do
    if not api.nvim_win_is_valid(win) then return false end
  end
  return true
end

--- Opens the merge of a question and goes to its result. `opts.origin`: the window to go back to when it is not the
--- current one.
function M.open(id, opts)
  local q = questions().get(id)
  if not q or not q.merge then return display.notify('there is no such merge') end
  local obstacle = sides.obstacle()
  if obstacle then return display.notify(obstacle, 'warn') end
  if view and view.question == id and whole(view) then return api.nvim_set_current_win(view.wins.result) end
  local origin = opts and opts.origin
  M.hide()
  local v = sides.begin(origin)
  v.question, v.write, v.rows, v.loaded = id, q.write, {}, false
  v.path = display.line(display.path(q.files and q.files[1] or ''))
  make_bufs(v)
  view = v
  local ok, err = pcall(open_tab, v)
  if not ok then
    if not v.tab then
      local tab = api.nvim_get_current_tabpage()
      v.tab = tab ~= v.origin_tab and tab or -1
    end
    M.hide()
    return display.notify('the merge cannot be shown here: ' .. tostring(err), 'warn')
  end
  draw(v)
  share_room(v)
  require('bosun.rpc').notify('show_diff', { question = id, index = 0 })
  questions().refresh()
end

-- The side `yours` is the person's own buffer when the file is open, else a text that is sent.
local function settle_yours(v, buf)
  local live = buf and api.nvim_buf_is_loaded(buf) and buf or nil
  if v.live == live then return end
  hunks.take_keys(v)
  sides.give_back(v)
  v.live, v.lent = nil, nil
  if live then
    sides.lend(v, 'yours', live)
  else
    api.nvim_win_set_buf(v.wins.yours, v.bufs.yours)
  end
end

local function start(v, msg)
  settle_yours(v, msg.buf)
  v.incoming, v.eol, v.conflicts, v.from_disk = {}, msg.eol, msg.conflicts or {}, msg.from_disk
  v.filled = {}
  for _, role in ipairs(ROLES) do
    sides.fill(v.bufs[role], 0, -1, {})
  end
  local path = msg.path or v.path
  v.syntax = v.live and vim.bo[v.live].filetype
    or vim.filetype.match({ filename = fn.fnamemodify(path, ':t') })
  draw(v)
end

local function slice(v, msg)
  if not v.incoming then return end
  local lines = sides.received(msg.lines)
  if msg.side == 'new' then return vim.list_extend(v.incoming, lines) end
  local buf = v.bufs[msg.side == 'old' and 'yours' or msg.side]
  if not buf then return end
  sides.fill(buf, v.filled[msg.side] and msg.start or 0, -1, lines)
  v.filled[msg.side] = true
end

-- A result that the person has begun stays, also when what it was made from has changed.
local function fill_result(v)
  local buf = v.bufs.result
  local from = { lines = v.incoming, eol = v.eol ~= false, conflicts = v.conflicts }
  local begun = kept[v.write or 0]
  -- Numbers of writes begin again with a new sidecar.
  if begun and begun.path ~= v.path then begun = nil end
  if v.renewed and result.edited(buf) then
    result.renew(buf, from)
    display.notify('the text moved on: your result is kept, `:e` starts again from the new one', 'warn')
    return
  end
  result.fill(buf, from, begun)
  if v.renewed then
    display.notify('the text moved on: the merge starts again', 'warn')
  elseif begun and begun.question ~= v.question then
    display.notify('the text moved on: your result is kept, `:e` starts again from the new one', 'warn')
    v.renewed = true
  end
end

local function done(v)
  if not v.incoming then return end
  if not whole(v) then return M.hide() end
  local kept_cursor = v.renewed and result.edited(v.bufs.result)
  fill_result(v)
  v.incoming = nil
  local bufs = { v.bufs.base, v.bufs.theirs, v.bufs.result, not v.live and v.bufs.yours or nil }
  sides.syntax(bufs, v.syntax)
  sides.compare({ v.wins.base, v.wins.yours, v.wins.theirs, v.wins.result })
  uv.update_time()
  v.loaded, v.since = true, uv.now()
  if not kept_cursor then
    local first = result.conflicts(v.bufs.result)[1]
    local line = math.min((first and first[1] or 0) + 1, api.nvim_buf_line_count(v.bufs.result))
    pcall(api.nvim_win_set_cursor, v.wins.result, { line, 0 })
    api.nvim_win_call(v.wins.result, function() vim.cmd('silent! normal! zvzz') end)
  end
  hunks.lend_keys(v)
  draw(v)
end

--- Whether messages about the diffs of that question are for this tab.
function M.is_about(id) return view ~= nil and view.question == id end

--- Whether this tab is the one that shows the merge of that question.
function M.shows(id) return M.is_about(id) and api.nvim_get_current_tabpage() == view.tab end

--- The sidecar's answer to `show_diff`: `diff`, then `diff_lines`, then `diff_done`. What comes again, because it was
--- asked for twice, changes nothing.
function M.recv(name, msg)
  local v = view
  if not v or msg.question ~= v.question or v.loaded then return end
  if not whole(v) then return end
  if name == 'diff' then
    start(v, msg)
  elseif name == 'diff_lines' then
    slice(v, msg)
  elseif name == 'diff_done' then
    done(v)
  end
end

-- Whether the person is at work in the tab: in a mode that would be cut short, in their own text, or in a result that
-- they have begun. The next key they press is meant for that.
local function at_work(v)
  if api.nvim_get_current_tabpage() ~= v.tab then return false end
  if api.nvim_get_mode().mode ~= 'n' then return true end
  local win = api.nvim_get_current_win()
  if win == v.wins.result then
    local buf = v.bufs.result
    return result.edited(buf) or result.touched_within(buf, questions().GUARD_MS)
  end
  return win ~= v.wins.panel and win ~= v.wins.base and win ~= v.wins.theirs
end

-- The question was replaced by another about the same write.
local function follow(v, q)
  v.question, v.loaded, v.renewed, v.gone, v.incoming = q.id, false, true, nil, nil
  draw(v)
  require('bosun.rpc').notify('show_diff', { question = q.id, index = 0 })
end

local function forget_settled()
  local alive = {}
  for _, q in ipairs(require('bosun.state').questions or {}) do
    if q.write then alive[q.write] = true end
  end
  uv.update_time()
  for write, begun in pairs(kept) do
    begun.settled = not alive[write] and (begun.settled or uv.now()) or nil
    if begun.settled and uv.now() - begun.settled > LINGER_MS then kept[write] = nil end
  end
end

--- The list has changed: the tab goes with its question, as soon as that takes nothing from under someone who works in
--- it, or on to the question that took its place.
function M.on_questions()
  forget_settled()
  local v = view
  if not v or v.answered then return end
  if questions().get(v.question) then return draw(v) end
  local next_one = v.write and questions().about(v.write)
  if next_one then return follow(v, next_one) end
  v.gone = true
  if not at_work(v) then return M.hide() end
  draw(v)
  vim.defer_fn(function()
    if view == v and v.gone then M.on_questions() end
  end, questions().GUARD_MS)
end

local group = api.nvim_create_augroup('bosun.merge', {})

local function look_again()
  if view and sides.astray(view) then return M.hide() end
  if view and view.gone then M.on_questions() end
end

local function on(events, callback, pattern)
  api.nvim_create_autocmd(events, { group = group, pattern = pattern, callback = callback })
end

on('ModeChanged', vim.schedule_wrap(look_again), '*:n')
on({ 'WinEnter', 'TabEnter' }, function()
  if not view then return end
  hunks.lend_keys(view)
  vim.schedule(look_again)
end)
on({ 'WinLeave', 'BufLeave' }, function()
  if view then hunks.take_keys(view) end
end)
on('WinClosed', function(args)
  local v, win = view, tonumber(args.match)
  if not v or not sides.owns(v, win) then return end
  if v.lent and win == v.lent.win then sides.give_back(v) end
  vim.schedule(function()
    if view == v then M.hide() end
  end)
end)

return M
