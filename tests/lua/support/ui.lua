-- A Neovim of its own for each test of the user interface: real keys, real windows, and a sidecar that only listens.
--
-- Owns the child process and the fakes that stand for the Lua core in it (`bosun.rpc` records what is sent). Used by
-- the `ui_*.lua` files beside it; holds no test.
local M = {}

local here = debug.getinfo(1, 'S').source:sub(2)
local root = vim.fn.fnamemodify(here, ':p:h:h:h:h')

local fakes = [[
  _G.sent = {}
  package.loaded['bosun.state'] = { sessions = {}, questions = {} }
  _G.said = {}
  package.loaded['bosun.notice'] = {
    say = function(_, text) said[#said + 1] = text end,
    once = function(_, _, text) said[#said + 1] = text end,
  }
  local settings = { window = { width = 0.4 }, context = { file = true, selection = true } }
  package.loaded['bosun.config'] = { get = function() return settings end }
  package.loaded['bosun.buffers'] = { own = function() end, is_empty = require('bosun.buffers').is_empty }
  package.loaded['bosun.rpc'] = {
    welcome = { groups = { 'BosunUser', 'BosunOption', 'BosunOfTomorrow' } },
    notify = function(name, data)
      sent[#sent + 1] = { name = name, data = data }
      return true
    end,
  }
  local state = package.loaded['bosun.state']
  local count = 0
  package.loaded['bosun'] = {
    new = function()
      count = count + 1
      local id = 's' .. count
      state.sessions[count] = { id = id, agent = 'fake', title = '', cwd = '/', state = 'idle', queue = {} }
      require('bosun.chat').create(state.sessions[count])
      return id
    end,
    answer = function(id, option, opts)
      return require('bosun.rpc').notify('answer', { question = id, option = option, why = opts and opts.why })
    end,
    prompt = function(text, opts)
      if refusal then return nil, refusal end
      return require('bosun.rpc').notify('prompt', { session = opts.session, text = text, context = opts.context })
    end,
  }
  function _G.sent_named(name)
    local out = {}
    for _, m in ipairs(sent) do
      if m.name == name then out[#out + 1] = m.data end
    end
    return out
  end
  -- The window of a role in the current tab.
  function _G.role(name)
    for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      if vim.w[win].bosun == name then return win end
    end
  end
  local version = 0
  -- A patch as the sidecar would send it.
  function _G.patch(first, last, lines, questions, marks)
    version = version + 1
    require('bosun.chat').patch({
      session = 's1',
      buf = require('bosun.transcript').buf('s1'),
      version = version,
      first = first,
      last = last,
      lines = lines,
      marks = marks or {},
      questions = questions or {},
    })
  end
  function _G.fill(count)
    local lines = {}
    for i = 1, count do lines[i] = 'line ' .. i end
    patch(0, 1, lines)
  end
  function _G.ask(id, files, session)
    table.insert(state.questions, {
      id = id,
      session = session or 's1',
      title = 'question ' .. id,
      body = { 'a detail' },
      options = {
        { id = 'yes', name = 'Allow', kind = 'allow_once' },
        { id = 'no', name = 'Reject', kind = 'reject_once' },
      },
      files = files or {},
    })
    require('bosun.questions').on_questions()
  end
  function _G.withdraw(id)
    for i, q in ipairs(state.questions) do
      if q.id == id then table.remove(state.questions, i) end
    end
    require('bosun.questions').on_questions()
  end
  -- Lines of a diff as the sidecar would send them.
  function _G.feed_diff(id, buf, new, more)
    local recv = require('bosun.diff').recv
    local usual = { index = 0, count = 1, editable = true, eol = true }
    local at = vim.tbl_extend('keep', { question = id }, more or {}, usual)
    local function with(t) return vim.tbl_extend('force', t, at) end
    recv('diff', with({ path = 'a.txt', buf = buf, old_total = 0, new_total = #new }))
    recv('diff_lines', with({ side = 'new', start = 0, lines = new }))
    recv('diff_done', with({}))
  end
]]

--- Starts a Neovim with the fakes in it.
function M.child()
  local c = {}
  local on_path = ('lua vim.opt.rtp:prepend(%q); vim.o.swapfile = false'):format(root)
  local chan = vim.fn.jobstart(
    { vim.v.progpath, '--clean', '--embed', '--headless', '--cmd', on_path },
    { rpc = true, on_exit = function(_, code) c.code = code end }
  )
  assert(chan > 0, 'the child did not start')
  c.chan = chan
  --- Runs Lua in the child and returns what it returns.
  function c.lua(code, ...) return vim.rpcrequest(chan, 'nvim_exec_lua', code, { ... }) end
  --- Types.
  function c.input(keys)
    vim.rpcrequest(chan, 'nvim_input', keys)
    -- The answer to a request says that the keys before it were taken up, not that they were carried out.
    vim.wait(30)
  end
  --- Waits until Lua in the child returns something true.
  function c.eventually(code, what)
    local value
    local ok = vim.wait(3000, function()
      value = c.lua(code)
      return value ~= vim.NIL and value ~= nil and value ~= false
    end, 10)
    if not ok then error(('never: %s (%s)'):format(what or code, vim.inspect(value)), 2) end
    return value
  end
  function c.mode() return vim.rpcrequest(chan, 'nvim_get_mode').mode end
  --- Ends it; does nothing when it has ended by itself. `code` is its exit code then.
  function c.stop() pcall(vim.fn.jobstop, chan) end
  c.lua(fakes)
  return c
end

--- Compares, and says both when they differ.
function M.equal(got, want, what)
  if not vim.deep_equal(got, want) then
    error(('%s: got %s, want %s'):format(what or 'value', vim.inspect(got), vim.inspect(want)), 2)
  end
end

--- A test that gets a child and always ends it.
function M.with_child(body)
  return function()
    local c = M.child()
    local ok, err = pcall(body, c)
    c.stop()
    if not ok then error(err, 0) end
  end
end

--- Runs the tests of a file that is run by itself; a runner that has loaded it only takes the table.
function M.main(tests)
  if vim.g.bosun_test_runner or debug.getinfo(3, 'f') then return tests end
  local failed = 0
  local names = vim.tbl_keys(tests)
  table.sort(names)
  for _, name in ipairs(names) do
    local ok, err = pcall(tests[name])
    io.stdout:write(
      (ok and 'ok    ' or 'FAIL  ') .. name .. (ok and '' or '\n      ' .. tostring(err)) .. '\n'
    )
    failed = failed + (ok and 0 or 1)
  end
  vim.cmd(failed == 0 and 'qall!' or 'cquit')
end

return M
