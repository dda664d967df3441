-- What the sidecar pushed: sessions, questions and terminals. Queries read these tables, so that none of them can wait.
--
-- Owns the three lists, and what is needed to start a session again when the sidecar was lost. Lua mints session ids,
-- so that a session exists at once. Never sends and never draws.
local M = {}

--- Sessions in order of creation; see `SessionState` of the sidecar for the fields.
M.sessions = {}
--- Questions that wait, oldest first: { id, session, title, body, options = { { id, name, kind } }, files }.
M.questions = {}
--- Terminals in order of their start; see `bosun.terminals` for the fields.
M.terminals = {}
-- By session id: { launch, cwd, seen, lost, undecided, waiting }.
--   seen       the present sidecar has told of it
--   lost       its sidecar is gone
--   undecided  its root was not agreed to yet; `waiting` holds the prompts meanwhile
local own = {}
local count = 0

--- Adds a session; returns its id. `launch` is what the sidecar is told.
function M.add(launch, cwd)
  count = count + 1
  local id = 's' .. count
  own[id] = { launch = launch, cwd = cwd, waiting = {} }
  table.insert(M.sessions, {
    id = id,
    agent = launch.name,
    agent_info = '',
    title = '',
    cwd = cwd,
    state = 'starting',
    queue = {},
    commands = {},
    turn = 0,
  })
  return id
end

--- What starts the session.
function M.record(id) return own[id] end

--- The session as it is shown, or nil.
function M.get(id)
  for _, session in ipairs(M.sessions) do
    if session.id == id then return session end
  end
end

--- The question with this id, or nil.
function M.question(id)
  for _, question in ipairs(M.questions) do
    if question.id == id then return question end
  end
end

--- Takes a session out.
function M.forget(id)
  own[id] = nil
  M.sessions = vim.tbl_filter(function(s) return s.id ~= id end, M.sessions)
  M.questions = vim.tbl_filter(function(q) return q.session ~= id end, M.questions)
end

--- All sessions of the sidecar. Those that it does not know (yet, or after it was lost) stay as they are.
function M.on_sessions(list)
  local told = {}
  for _, session in ipairs(list) do
    told[session.id] = session
    local record = own[session.id]
    if record then
      record.seen, record.lost = true, false
    end
  end
  local merged = {}
  for _, session in ipairs(M.sessions) do
    local record = own[session.id]
    if told[session.id] then
      merged[#merged + 1] = told[session.id]
      told[session.id] = nil
    elseif record and (record.lost or not record.seen) then
      merged[#merged + 1] = session
    else
      own[session.id] = nil
    end
  end
  for _, session in ipairs(list) do
    if told[session.id] and own[session.id] then merged[#merged + 1] = session end
  end
  M.sessions = merged
end

--- All questions of the sidecar.
function M.on_questions(list) M.questions = list end

--- All terminals of the sidecar.
function M.on_terminals(list) M.terminals = list end

--- The sidecar is gone: all sessions are dead, no question and no terminal is left. Returns how many sessions that is.
function M.lost(cause)
  local told = {}
  for _, session in ipairs(M.sessions) do
    if vim.tbl_contains({ 'running', 'waiting', 'cancelling' }, session.state) then
      told[#told + 1] = { 'BosunTurnEnd', { session = session.id, stop_reason = 'sidecar_exit' } }
    end
    if session.state ~= 'dead' then
      told[#told + 1] = { 'BosunStateChanged', { session = session.id, state = 'dead' } }
    end
    if #(session.queue or {}) > 0 then
      local text = table.concat(session.queue, '\n\n')
      vim.schedule(
        function() require('bosun.chat').prompt_returned({ session = session.id, text = text, why = cause }) end
      )
    end
    session.state, session.cause, session.queue = 'dead', cause, {}
    local record = own[session.id]
    if record then
      record.lost, record.seen = true, false
    end
  end
  M.questions, M.terminals = {}, {}
  require('bosun.inbox').changed()
  -- Whoever follows a turn by its events sees it end, although nobody is left to send them.
  vim.schedule(function()
    for _, event in ipairs(told) do
      pcall(vim.api.nvim_exec_autocmds, 'User', { pattern = event[1], data = event[2], modeline = false })
    end
  end)
  return #M.sessions
end

return M
