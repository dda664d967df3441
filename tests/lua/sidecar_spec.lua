-- The sidecar's process as Lua sees it: found, started, lost, and never in the way. A Neovim stands in for it.
local editor = require('editor')
local same = editor.same

-- An executable that speaks msgpack-RPC and does nothing; records that it ran.
local function stand_in(e)
  local path = e:file(
    'bosun',
    ('#!/bin/sh\necho noise >&2\nexec %s --clean --headless --embed\n'):format(vim.v.progpath)
  )
  vim.uv.fs_chmod(path, 493)
  -- The real one again: `editor` put a recorder in its place.
  e:lua(
    [[
    vim.env.BOSUN_BIN = ...
    package.loaded['bosun.rpc'] = nil
    _G.told = {}
    vim.notify = function(text) table.insert(_G.told, text) end
    -- The parts that show things are not under test.
    package.loaded['bosun.chat'] = {
      create = function() end, on_sessions = function() end, current = function() end, dispose = function() end,
      prompt_returned = function(m) _G.returned = m end,
    }
    package.loaded['bosun.transcript'] = { reload = function() end }
    package.loaded['bosun.context'] = { collect = function() return {} end, sent = function() end }
    package.loaded['bosun.questions'] = { on_questions = function() end }
    package.loaded['bosun.highlight'] = { apply = function() end }
  ]],
    path
  )
  return path
end

local function new(e, opts)
  return e:lua(
    [[
    local id, err = require('bosun').new(...)
    return { id = id, err = err }
  ]],
    vim.tbl_extend('force', { agent = 'demo', cwd = e.dir }, opts or {})
  )
end

local function state(e) return e:lua([[return (require('bosun').sessions()[1] or {}).state]]) end

return {
  {
    'the sidecar is told where commands reach the editor, unless they must not',
    function(e)
      stand_in(e)
      for _, on in ipairs({ true, false }) do
        local heard = e.dir .. '/heard'
        local path = e:file('ear', ('#!/bin/sh\nexec cat > %s\n'):format(heard))
        vim.uv.fs_chmod(path, 493)
        e:lua(
          [[
          require('bosun').setup({ binary = ..., terminal_editor = select(2, ...) })
          require('bosun.rpc').stop('for the test')
        ]],
          path,
          on
        )
        os.remove(heard)
        new(e)
        local server
        vim.wait(5000, function()
          local file = io.open(heard, 'rb')
          local bytes = file and file:read('*a') or ''
          if file then file:close() end
          -- The message holds more behind it: the next one has come.
          if not bytes:find('new_session', 1, true) then return false end
          local ok, at = pcall(string.find, bytes, 'server', 1, true)
          server = ok and at and vim.mpack.Unpacker()(bytes, at + #'server') or nil
          return true
        end, 5)
        same(server, on and e:lua('return vim.v.servername') or '')
      end
    end,
  },
  {
    'a session has its id at once and is seen at once',
    function(e)
      stand_in(e)
      same(new(e), { id = 's1' })
      same(new(e), { id = 's2' })
      local session = e:lua([[return require('bosun').sessions()[1] ]])
      same({ session.id, session.agent, session.cwd, session.state }, { 's1', 'demo', e.dir, 'starting' })
      same(e:lua([[return require('bosun').statusline()]]), 'demo: starting')
    end,
  },
  {
    'the state that the sidecar pushes replaces the provisional one, but not that of a session it does not know yet',
    function(e)
      stand_in(e)
      new(e)
      new(e)
      local push = function(list) e:lua([[require('bosun.inbox').recv('sessions', { list = ... })]], list) end
      push({ { id = 's1', agent = 'demo', state = 'idle', cause = vim.NIL } })
      local states =
        [[return vim.tbl_map(function(s) return s.id .. s.state end, require('bosun').sessions())]]
      same(e:lua(states), { 's1idle', 's2starting' })
      push({ { id = 's1', agent = 'demo', state = 'idle' }, { id = 's2', agent = 'demo', state = 'dead' } })
      same(e:lua(states), { 's1idle', 's2dead' })
      push({ { id = 's2', agent = 'demo', state = 'dead' } })
      same(e:lua(states), { 's2dead' }, 'a session that the sidecar knew and does not know any more')
      same(e:lua([[return require('bosun').sessions()[1].cause == nil]]), true)
    end,
  },
  {
    'a lost sidecar is said once, ends the groups of its agents, and the next prompt starts it again',
    function(e)
      stand_in(e)
      new(e)
      local child = vim.fn.jobstart({ 'setsid', 'sleep', '300' })
      local pid = vim.fn.jobpid(child)
      e:lua([[require('bosun.inbox').recv('groups', { pgids = { ... } })]], pid)
      e:lua([[vim.uv.kill(vim.fn.jobpid(vim.tbl_filter(function(c)
        return c.mode == 'rpc' and c.stream == 'job'
      end, vim.api.nvim_list_chans())[1].id), 'sigkill')]])
      e:eventually([[return require('bosun').sessions()[1].state == 'dead']])
      assert(vim.fn.jobwait({ child }, 3000)[1] ~= -1, 'the agent outlives the sidecar')
      e:eventually('return #_G.told == 1')
      local said = e:lua('return _G.told[1]')
      assert(said:find('the sidecar ended', 1, true) and not said:find('\n'), said)
      same(e:lua([[return require('bosun').prompt('again') ]]), true)
      same({ state(e), e:lua([[return require('bosun.rpc').alive()]]) }, { 'starting', true })
      same(e:lua('return vim.api.nvim_get_mode()'), { blocking = false, mode = 'n' })
    end,
  },
  {
    'a sidecar that speaks another protocol is told off with what to run',
    function(e)
      stand_in(e)
      new(e)
      e:lua(
        [[require('bosun.inbox').recv('welcome', { protocol = 99, version = '9', log = '/x', groups = {} })]]
      )
      e:eventually('return #_G.told == 1')
      local said = e:lua('return _G.told[1]')
      assert(said:find('protocol 99', 1, true), said)
      same({ state(e), e:lua([[return require('bosun.rpc').alive()]]) }, { 'dead', false })
    end,
  },
  {
    'a binary that is missing is an answer that says what to do',
    function(e)
      stand_in(e)
      e:lua([[vim.env.BOSUN_BIN = '/no/such/bosun']])
      local got = new(e)
      assert(got.id == nil and got.err:find('$BOSUN_BIN is not an executable', 1, true), vim.inspect(got))
    end,
  },
  {
    'a working directory is a folder that exists, never an address',
    function(e)
      stand_in(e)
      for _, cwd in ipairs({ 'oil:///tmp', 'file:///tmp', e.dir .. '/missing', e.dir .. '/bosun' }) do
        local got = new(e, { cwd = cwd })
        assert(got.id == nil and got.err:find('folder', 1, true), vim.inspect(got))
      end
    end,
  },
  {
    'a root that holds everything is asked about first, and a prompt waits for the answer',
    function(e)
      stand_in(e)
      e:lua([[
        vim.ui.select = function(items, opts, choice)
          _G.asked = { items = items, prompt = opts.prompt }
          _G.choose = choice
        end
      ]])
      same(new(e, { cwd = '/' }).id, 's1')
      same(e:lua([[return require('bosun').prompt('hi', { session = 's1' })]]), true)
      e:eventually('return _G.asked ~= nil')
      same(e:lua([[return require('bosun.rpc').alive()]]), false, 'nothing is started')
      e:lua([[_G.choose('No')]])
      same(e:lua([[return #require('bosun').sessions()]]), 0)
      same(e:lua('return _G.returned.text'), 'hi')
    end,
  },
  {
    'Neovim leaves at once while the sidecar runs',
    function(e)
      stand_in(e)
      new(e)
      pcall(e.lua, e, [[vim.schedule(function() vim.cmd('qall!') end)]])
      local codes = vim.fn.jobwait({ e.chan }, 3000)
      same(codes[1], 0)
    end,
  },
  {
    'two messages in one turn and a long one do not end in a prompt',
    function(e)
      e:lua([[
        require('bosun.notice').say('error', ('long '):rep(200) .. '\nsecond line')
        require('bosun.notice').say('warn', 'another')
      ]])
      e:eventually([[return vim.fn.execute('messages'):find('another') ~= nil]])
      same(e:lua('return vim.api.nvim_get_mode()'), { blocking = false, mode = 'n' })
    end,
  },
  {
    'a handler that fails is reported once and does not stop the next message',
    function(e)
      e:lua([[
        _G.told = {}
        vim.notify = function(text) table.insert(_G.told, text) end
        package.loaded['bosun.chat'] = { patch = function() error('broken on purpose') end }
        for _ = 1, 3 do require('bosun.inbox').recv('patch', {}) end
        require('bosun.inbox').recv('never heard of', {})
      ]])
      e:eventually('return #_G.told == 2')
      local log = e:lua([[return table.concat(vim.fn.readfile(require('bosun.inbox').log_path()), '\n')]])
      local _, count = log:gsub('broken on purpose', '')
      same(count, 3)
    end,
  },
}
