-- What is under review: the hunks of agents' changes, file by file, as the sidecar told of them, and what a person says
-- to them.
--
-- Owns the table of files with hunks and their numbers. Never draws (`bosun.marks` does), never compares texts and
-- never changes one: a verdict is sent, and what comes of it is told again. Called by the inbox, the public API, the
-- command and keys.
--
-- A file: { path, buf, tick, created, hunks }; a hunk: { id, session, turn, author, first, last, removed, live_words,
-- removed_words } with zero-based lines of the text at `tick`, end exclusive.
local M = {}

local api = vim.api

--- Hunks of a quickfix list; a list of more helps nobody.
M.MAX_LISTED = 20000

-- Files by path.
local files = {}
-- Paths by buffer.
local by_buf = {}
local counts = { files = 0, hunks = 0, sessions = {} }

--- What may be kept or rejected at once.
M.SCOPES = { 'hunk', 'file', 'turn', 'session', 'all' }

local function send(name, message)
  if not require('bosun.rpc').notify(name, message) then return nil, 'the sidecar is not running' end
  return true
end

-- vim.NIL is true in a condition.
local function value(v)
  if v == vim.NIL then return nil end
  return v
end

-- A part that shows the review and fails must not keep the others from being told.
local function tell(what, call)
  local ok, err = pcall(call)
  if not ok then require('bosun.inbox').fail(what, err) end
end

local function told(path, was, now)
  local bufs = {}
  for _, file in ipairs({ was or false, now or false }) do
    if file and file.buf then bufs[file.buf] = true end
  end
  for buf in pairs(bufs) do
    local file = by_buf[buf] == path and files[path] or nil
    tell('marks', function() require('bosun.marks').show(buf, file) end)
    tell('code actions', function() require('bosun.actions_server').follow(buf, file ~= nil) end)
  end
  tell('review tab', function() require('bosun.review_tab').on_file(path) end)
  tell('commits', function() require('bosun.commits').follow(path, now ~= nil) end)
end

--- The hunks of one file, as they are now. `gone`: there is nothing left to review in it.
function M.recv(message)
  local path, was = message.path, files[message.path]
  if was and was.buf and by_buf[was.buf] == path then by_buf[was.buf] = nil end
  local now = nil
  if not value(message.gone) and #message.hunks > 0 then
    now = {
      path = path,
      buf = value(message.buf),
      tick = message.tick,
      created = value(message.created) or false,
      hunks = message.hunks,
    }
    for _, hunk in ipairs(now.hunks) do
      hunk.session, hunk.turn = value(hunk.session), value(hunk.turn)
    end
    if now.buf and not api.nvim_buf_is_loaded(now.buf) then now.buf = nil end
    if now.buf then by_buf[now.buf] = path end
  end
  files[path] = now
  told(path, was, now)
end

--- The numbers of files and hunks, in all and by session.
function M.on_counts(message) counts = message end

--- The sidecar is gone, and what it knew of the review with it.
function M.lost()
  local before = files
  files, by_buf, counts = {}, {}, { files = 0, hunks = 0, sessions = {} }
  for path, file in pairs(before) do
    told(path, file, nil)
  end
end

--- { files, hunks, sessions = { { session, files, hunks } } }; not to be changed by the caller.
function M.counts() return counts end

--- The file under review at that path, or nil.
function M.file(path) return files[path] end

--- The file under review in that buffer, or nil.
function M.of(buf) return by_buf[buf] and files[by_buf[buf]] or nil end

--- All paths under review, sorted.
function M.paths()
  local out = vim.tbl_keys(files)
  table.sort(out)
  return out
end

--- The hunks of a file with the lines where they are now: { hunk, first, last }, zero-based, end exclusive, in order.
function M.placed(file)
  local out = {}
  for i, hunk in ipairs(file.hunks) do
    local first, last = hunk.first, hunk.last
    if file.buf then
      first, last = require('bosun.marks').place(file.buf, hunk)
    end
    out[i] = { hunk = hunk, first = first, last = last }
  end
  table.sort(out, function(a, b) return a.first < b.first end)
  return out
end

-- Whether a hunk at these lines touches the lines `[first, last)`. One that only took lines out stands between two
-- lines and touches both.
local function touches(place, first, last)
  if place.first == place.last then return first <= place.first and place.first <= last end
  return place.first < last and first < place.last
end

--- The hunks of the buffer in the lines `[first, last)`, as `placed` gives them.
function M.within(buf, first, last)
  local file = M.of(buf)
  if not file then return {} end
  return vim.tbl_filter(function(p) return touches(p, first, last) end, M.placed(file))
end

--- The hunk at a line, as `placed` gives it, or nil. One that holds the line goes before one that ends above it.
function M.at(buf, line)
  local found = M.within(buf, line, line + 1)
  for _, p in ipairs(found) do
    if p.first <= line and (line < p.last or p.first == p.last) then return p end
  end
  return found[1]
end

-- The turn that is meant: that of the hunk at the cursor, else the last one that the session has left hunks of.
local function turn_of(opts, buf)
  local session = opts.session
  if opts.turn then return session or require('bosun.chat').current(), opts.turn end
  local here = not session and buf and M.at(buf, api.nvim_win_get_cursor(0)[1] - 1)
  if here and here.hunk.turn then return here.hunk.session, here.hunk.turn end
  session = session or require('bosun.chat').current()
  local last = nil
  for _, file in pairs(files) do
    for _, hunk in ipairs(file.hunks) do
      if hunk.turn and hunk.session == session then last = math.max(last or 0, hunk.turn) end
    end
  end
  return session, last
end

local function of_lines(buf, range)
  local file = M.of(buf)
  if not file then return nil, 'nothing in this buffer waits for a review' end
  if not range then
    local place = M.at(buf, api.nvim_win_get_cursor(0)[1] - 1)
    if not place then return nil, 'there is no hunk at the cursor' end
    return { path = file.path, id = place.hunk.id }
  end
  local first, last = range[1] - 1, range[2]
  local found = M.within(buf, first, last)
  if #found == 0 then return nil, 'there is no hunk in these lines' end
  local only = found[1]
  if #found == 1 and first <= only.first and only.last <= last then
    return { path = file.path, id = only.hunk.id }
  end
  return { path = file.path, first = first, last = last, tick = api.nvim_buf_get_changedtick(buf) }
end

--- Keeps or rejects. `opts`: `scope` (by default `hunk`), `path` or `buf` (by default the current buffer), `range` (two
--- one-based lines, both included), `id` of a hunk, `session`, `turn`. True, or nil and why not.
function M.verdict(verdict, opts)
  local scope = opts.scope or 'hunk'
  local buf = opts.buf or 0
  if buf == 0 then buf = api.nvim_get_current_buf() end
  local message = {}
  if counts.files == 0 and next(files) == nil then return nil, 'nothing waits for a review' end
  if scope == 'hunk' and opts.id then
    message = { path = opts.path or (M.of(buf) or {}).path, id = opts.id }
  elseif scope == 'hunk' then
    local here, err = of_lines(buf, opts.range)
    if not here then return nil, err end
    message = here
  elseif scope == 'file' then
    message.path = opts.path or (M.of(buf) or {}).path
    if not message.path or not files[message.path] then
      return nil, 'nothing in this file waits for a review'
    end
  elseif scope == 'turn' then
    message.session, message.turn = turn_of(opts, M.of(buf) and buf)
    if not message.turn then return nil, 'no turn of this session has left a hunk' end
  elseif scope == 'session' then
    message.session = opts.session or require('bosun.chat').current()
    if not message.session then return nil, 'there is no session' end
  elseif scope ~= 'all' then
    return nil, ('nothing is called `%s`: try %s'):format(tostring(scope), table.concat(M.SCOPES, ', '))
  end
  message.verdict, message.scope = verdict, scope
  return send('review_verdict', message)
end

--- Takes the last verdict back. True, or nil and why not.
function M.undo() return send('review_undo', vim.empty_dict()) end

--- Asks for the texts of a file; `bosun.review_tab` gets them.
function M.ask_texts(path) return send('review_texts', { path = path }) end

-- What a hunk does, in one line.
local function summary(file, place)
  local hunk = place.hunk
  local text = file.buf and api.nvim_buf_get_lines(file.buf, place.first, place.first + 1, false)[1] or ''
  if place.first == place.last then text = hunk.removed[1] or '' end
  local who = hunk.author == 'unknown' and 'author unknown'
    or ('%s turn %s'):format(hunk.session or '?', tostring(hunk.turn or '?'))
  return ('+%d -%d  %s: %s'):format(
    place.last - place.first,
    #hunk.removed,
    who,
    require('bosun.display').line(vim.trim(text), 120)
  )
end

--- All hunks of all files in a new quickfix list, which is opened; the lists before it stay. True, or nil and why not.
function M.quickfix()
  if vim.fn.getcmdwintype() ~= '' then return nil, 'leave the command-line window first' end
  local items = {}
  for _, path in ipairs(M.paths()) do
    local file = files[path]
    for _, place in ipairs(M.placed(file)) do
      if #items == M.MAX_LISTED then break end
      -- What was removed at the end of the text has no line behind it.
      local most = file.buf and api.nvim_buf_line_count(file.buf) or math.huge
      items[#items + 1] = {
        bufnr = file.buf,
        filename = not file.buf and path or nil,
        lnum = math.min(place.first + 1, most),
        end_lnum = math.min(math.max(place.last, place.first + 1), most),
        text = summary(file, place),
      }
    end
  end
  if #items == 0 then return nil, 'nothing waits for a review' end
  vim.fn.setqflist({}, ' ', { title = 'Bosun: hunks to review', items = items })
  vim.cmd('botright copen')
  return true
end

local group = api.nvim_create_augroup('bosun.review', {})

-- A buffer was loaded, or loaded anew: what is drawn in it went with its old text. The text is that of the disk, of
-- which the sidecar told; where it is not, it tells again.
api.nvim_create_autocmd('BufReadPost', {
  group = group,
  callback = function(args)
    if next(files) == nil or not api.nvim_buf_is_loaded(args.buf) then return end
    local name = api.nvim_buf_get_name(args.buf)
    local file = M.of(args.buf) or files[vim.uv.fs_realpath(name) or name]
    if not file then return end
    file.buf, file.tick, by_buf[args.buf] = args.buf, api.nvim_buf_get_changedtick(args.buf), file.path
    vim.schedule(function()
      if files[file.path] == file then told(file.path, nil, file) end
    end)
  end,
})

api.nvim_create_autocmd('BufUnload', {
  group = group,
  callback = function(args)
    local file = M.of(args.buf)
    by_buf[args.buf] = nil
    if file then file.buf = nil end
  end,
})

return M
