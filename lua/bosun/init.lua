-- The public Lua API. The names here are a contract: `:help bosun` and the tests rely on them.
--
-- Owns the start of sessions, also again after the sidecar was lost. Queries read tables that the sidecar pushed,
-- and nothing here waits for it, so nothing here can stop the editor.
local M = {}

local notice = require('bosun.notice')

local function rpc() return require('bosun.rpc') end
local function state() return require('bosun.state') end
local function chat() return require('bosun.chat') end

local function fail(err)
  notice.say('error', err)
  return nil, err
end

-- An option that does not exist is a mistake of the caller, and said.
local function check_options(opts, known, what)
  for key in pairs(opts) do
    if not vim.tbl_contains(known, key) then
      local near = type(key) == 'string' and require('bosun.config').nearest(key, known)
      error(
        ('bosun.%s: unknown option `%s`%s'):format(
          what,
          key,
          near and (', did you mean `%s`?'):format(near) or ''
        ),
        3
      )
    end
  end
end

-- The session that is meant when none is named: the chat's, else the newest.
local function current()
  local ok, id = pcall(function() return chat().current() end)
  if ok and id and state().get(id) then return id end
  local all = state().sessions
  return all[#all] and all[#all].id
end

local function existing(session)
  local id = type(session) == 'table' and session.id or session or current()
  if id and state().get(id) then return id end
  return nil, id and ('there is no session %s'):format(tostring(id)) or 'there is no session'
end

--- Settings; optional. Raises an error for one that makes no sense.
function M.setup(opts)
  require('bosun.config').setup(opts)
  local keys = vim.deepcopy(require('bosun.config').get().keys)
  -- `v` for verdict: neither Neovim nor its file types map this pair, and ]h, ]g, ]c are often taken.
  if keys.hunks then
    keys.next_hunk, keys.prev_hunk = keys.next_hunk or ']v', keys.prev_hunk or '[v'
  end
  keys.hunks = nil
  for name, lhs in pairs(keys) do
    if lhs then
      local plug = name:gsub('_', '-')
      vim.keymap.set(
        plug:find('%-hunk$') and { 'n', 'x', 'o' } or plug == 'review-undo' and 'n' or { 'n', 'x' },
        lhs,
        ('<Plug>(bosun-%s)'):format(plug),
        { remap = true, desc = 'Bosun: ' .. plug }
      )
    end
  end
end

--- Opens the chat, with a session when there is none.
function M.open(opts) return chat().open(opts or {}) end

--- Opens the chat, or hides it.
function M.toggle(opts) return chat().toggle(opts) end

--- Hides the chat. With `session`, ends that session instead.
function M.close(opts)
  opts = opts or {}
  check_options(opts, { 'session' }, 'close')
  if not opts.session then return chat().close() end
  local id, err = existing(opts.session)
  if not id then return nil, err end
  rpc().notify('close', { session = id })
  state().forget(id)
  chat().dispose(id)
  return true
end

-- Tells the sidecar to start the session. `again`: its view was opened before, for a sidecar that did not know it.
local function start(id, again)
  local roots, record = require('bosun.roots'), state().record(id)
  local ok, err = roots.check(record.cwd)
  if ok then
    ok, err = rpc().ensure()
  end
  if not ok then return nil, err end
  record.lost = false
  local access, wrong = roots.access(record.cwd, record.launch.name)
  for _, text in ipairs(wrong) do
    notice.say('warn', text)
  end
  rpc().notify('new_session', { session = id, cwd = record.cwd, launch = record.launch, access = access })
  chat().create(id)
  if again then require('bosun.transcript').reload(id) end
  return true
end

local function send(id, text, context)
  require('bosun.buffers').refresh()
  if not rpc().notify('prompt', { session = id, text = text, context = context }) then
    return nil, 'the sidecar is not running'
  end
  return true
end

-- The root was agreed to, or not.
local function decided(id, yes)
  local record = state().record(id)
  if not record then return end
  record.undecided = nil
  local ok, err = nil, 'the session was not started'
  if yes then
    ok, err = start(id, true)
  end
  if ok then
    for _, prompt in ipairs(record.waiting) do
      send(id, prompt.text, prompt.context)
    end
    record.waiting = {}
    return
  end
  for _, prompt in ipairs(record.waiting) do
    chat().prompt_returned({ session = id, text = prompt.text, why = err })
  end
  state().forget(id)
  chat().dispose(id)
  notice.say(yes and 'error' or 'info', err)
end

local function ask(id, cwd)
  vim.schedule(function()
    vim.ui.select({ 'No', 'Yes' }, {
      prompt = ('Bosun: let the agent read and write all of %s?'):format(cwd),
    }, function(choice) decided(id, choice == 'Yes') end)
  end)
end

--- Starts a session in the background; returns its id at once, or nil and why not. `agent`: name of a preset;
--- `cwd`: the folder it works in, by default the project of the current file.
function M.new(opts)
  opts = opts or {}
  check_options(opts, { 'agent', 'cwd' }, 'new')
  local cwd, err = require('bosun.roots').choose(opts.cwd)
  if not cwd then return fail(err) end
  local agents = require('bosun.agents')
  local launch
  launch, err = agents.launch(opts.agent or agents.default(), cwd)
  if not launch then return fail(err) end
  local wide = require('bosun.roots').is_wide(cwd)
  if not wide then
    local ok
    ok, err = rpc().ensure()
    if not ok then return fail(err) end
  end
  local id = state().add(launch, cwd)
  if wide then
    state().record(id).undecided = true
    ask(id, cwd)
  else
    start(id)
  end
  return id
end

--- Sends a prompt, or queues it while a turn runs. True, or nil and why not. `session`: by default the chat's; one
--- is started when there is none. `context`: what goes along; by default the file and the selection as the settings
--- say, `false` for nothing.
function M.prompt(text, opts)
  opts = opts or {}
  check_options(opts, { 'session', 'context' }, 'prompt')
  if type(text) ~= 'string' or not text:find('%S') then return nil, 'the prompt is empty' end
  local id, err
  if opts.session or current() then
    id, err = existing(opts.session)
  else
    id, err = M.new()
  end
  if not id then return nil, err end
  local context = opts.context
  if context == nil then
    context = require('bosun.context').collect()
    require('bosun.context').sent()
  end
  context = context or {}
  local record = state().record(id)
  if record.undecided then
    table.insert(record.waiting, { text = text, context = context })
    return true
  end
  if record.lost or not rpc().alive() then
    local ok
    ok, err = start(id, true)
    if not ok then return nil, err end
    state().get(id).state = 'starting'
  end
  return send(id, text, context)
end

--- Cancels the running turn. True, or nil and why not.
function M.cancel(opts)
  opts = opts or {}
  check_options(opts, { 'session' }, 'cancel')
  local id, err = existing(opts.session)
  if not id then return nil, err end
  local s = state().get(id).state
  if s == 'idle' or s == 'dead' then return nil, 'no turn is running' end
  if not rpc().notify('cancel', { session = id }) then return nil, 'the sidecar is not running' end
  return true
end

--- All sessions: { id, agent, title, cwd, state, … }.
function M.sessions() return vim.deepcopy(state().sessions) end

--- All questions that wait: { id, session, title, options = { { id, name, kind } }, files }.
function M.pending() return vim.deepcopy(state().questions) end

--- Answers a question by an option's id, by its kind such as `allow_once`, or by `cancelled`. `opts.why`: what the
--- agent is told where that refuses. True, or nil and why not.
function M.answer(id, option, opts)
  opts = opts or {}
  check_options(opts, { 'why' }, 'answer')
  local question = state().question(id)
  if not question then return nil, ('there is no question %s'):format(tostring(id)) end
  -- Refusing works also where the agent offers no option for it: the sidecar falls back to `cancelled`.
  local known = vim.tbl_contains({ 'cancelled', 'reject_once', 'reject_always' }, option)
  for _, o in ipairs(question.options) do
    known = known or o.id == option or o.kind == option
  end
  if not known then return nil, ('question %d has no option %s'):format(id, tostring(option)) end
  if not rpc().notify('answer', { question = id, option = option, why = opts.why }) then
    return nil, 'the sidecar is not running'
  end
  return true
end

--- The checkpoints of a session, oldest first: { number, prompt, files, time }. `files`: what the agent had changed
--- since when this was last told; `time`: seconds of the clock.
function M.checkpoints(session)
  local id = existing(session)
  return id and require('bosun.checkpoints').list(id) or {}
end

--- Goes back to the state before the prompt of that checkpoint; without a number the last way back is taken back. True,
--- or nil and why not.
function M.restore(number, opts)
  opts = opts or {}
  check_options(opts, { 'session' }, 'restore')
  local id, err = existing(opts.session)
  if not id then return nil, err end
  if number then return require('bosun.checkpoints').restore(id, number) end
  return require('bosun.checkpoints').undo(id)
end

--- The transcript of a session as Markdown.
function M.transcript(session)
  local id = existing(session)
  return id and chat().transcript(id) or ''
end

--- Shows what waits for a review: opens the review tab. `file`: at that path; `quickfix`: a list of all hunks instead;
--- `undo`: takes the last verdict back instead. True, or nil and why not.
function M.review(opts)
  opts = opts or {}
  check_options(opts, { 'file', 'quickfix', 'undo' }, 'review')
  if opts.undo then return require('bosun.review').undo() end
  if opts.quickfix then return require('bosun.review').quickfix() end
  local path = opts.file and (vim.uv.fs_realpath(opts.file) or vim.fs.normalize(vim.fs.abspath(opts.file)))
  return require('bosun.review_tab').open(path)
end

-- Options of a verdict, with the path as the review has it.
local function verdict(name, opts)
  opts = vim.deepcopy(opts or {})
  check_options(opts, { 'scope', 'file', 'buf', 'range', 'id', 'session', 'turn' }, name)
  if opts.file then
    opts.path = vim.uv.fs_realpath(opts.file) or vim.fs.normalize(vim.fs.abspath(opts.file))
  end
  return require('bosun.review').verdict(name, opts)
end

--- Keeps changes of agents: `scope` is `hunk` (the default: at the cursor, or in `range`, two one-based lines), `file`,
--- `turn`, `session` or `all`. `buf` or `file`: where; `session`, `turn`: whose. True, or nil and why not.
function M.keep(opts) return verdict('keep', opts) end

--- Rejects changes of agents; the same options as `keep`.
function M.reject(opts) return verdict('reject', opts) end

-- The hunks that wait for a review, as `±3`, or nothing.
local function hunks()
  local count = require('bosun.review').counts().hunks
  return count > 0 and ('±%d'):format(count) or ''
end

--- For a status line: state of the current session, the numbers of questions that wait and of commands that run in
--- terminals, and that of hunks to review. Empty without any of them.
function M.statusline()
  local all = state().sessions
  if #all == 0 then return hunks() end
  local session = state().get(current()) or all[#all]
  local counts = {}
  local function add(count, one, many)
    if count > 0 then counts[#counts + 1] = ('%d %s'):format(count, count == 1 and one or many) end
  end
  add(#state().questions, 'question', 'questions')
  add(#require('bosun.terminals').running(), 'command runs', 'commands run')
  local more = #counts > 0 and (' (%s)'):format(table.concat(counts, ', ')) or ''
  local review = hunks()
  return ('%s: %s%s%s'):format(session.agent, session.state, more, review ~= '' and ' ' .. review or '')
end

return M
