-- Settings, presets and the command.
local editor = require('editor')
local same = editor.same

local function check_setting(name, opts, expected)
  return {
    name,
    function(e)
      local err = e:lua(
        [[
        local ok, err = pcall(require('bosun').setup, ...)
        return ok and 'accepted' or err
      ]],
        opts
      )
      same(err, expected)
    end,
  }
end

local function check_completion(name, line, expected)
  return {
    name,
    function(e)
      e:lua([[require('bosun.state').questions = {
        { id = 7, session = 's1', title = 't', files = {}, options = {
          { id = 'yes', name = 'Yes', kind = 'allow_once' }, { id = 'no', name = 'No', kind = 'reject_once' },
        } },
      }]])
      same(e:lua([[return vim.fn.getcompletion(..., 'cmdline')]], line), expected)
    end,
  }
end

return {
  check_setting('no settings are fine', {}, 'accepted'),
  check_setting('settings that make sense are fine', {
    agents = { my = { command = 'x', args = { '-a' }, env = { A = 'b', C = false } } },
    default_agent = 'my',
    window = { width = 60 },
    context = { file = false },
    terminal_editor = false,
    keys = { toggle = '<leader>a' },
  }, 'accepted'),
  check_setting(
    'an unknown setting is told the nearest one',
    { defualt_agent = 'x' },
    'bosun: unknown setting setup.defualt_agent: did you mean `default_agent`?'
  ),
  check_setting(
    'also deep inside',
    { agents = { my = { comand = 'x' } } },
    'bosun: unknown setting setup.agents.my.comand: did you mean `command`?'
  ),
  check_setting(
    'a wrong type is named',
    { agents = { my = { args = 'x' } } },
    'bosun: setup.agents.my.args must be a list of strings'
  ),
  check_setting(
    'a switch is on or off',
    { terminal_editor = 'nvim' },
    'bosun: setup.terminal_editor must be a boolean'
  ),
  check_setting('folders and globs of a session make sense', {
    roots = { '~/notes', { path = '/ref', write = false } },
    outside = 'deny',
    always_ask = { 'ci/**' },
    ask_read = {},
    agents = { my = { roots = { '$STATE' } } },
  }, 'accepted'),
  check_setting(
    'a root is a folder or says more of one',
    { roots = { { '~/notes' } } },
    'bosun: setup.roots must be a list of folders, each a string or { path = string, write = boolean }'
  ),
  check_setting(
    'also that of a preset',
    { agents = { my = { roots = '~/notes' } } },
    'bosun: setup.agents.my.roots must be a list of folders, each a string or { path = string, write = boolean }'
  ),
  check_setting(
    'a word that is none of the known is named',
    { log_level = 'loud' },
    'bosun: setup.log_level must be one of error, warn, info, debug, trace'
  ),
  {
    'an unknown option of a function is an error that suggests the nearest',
    function(e)
      local err = e:lua([[return select(2, pcall(require('bosun').new, { agnet = 'demo' }))]])
      assert(err:find('unknown option `agnet`, did you mean `agent`?', 1, true), err)
    end,
  },
  {
    "a person's preset is laid over the one that comes along",
    function(e)
      local launch = e:lua([[
        vim.env.BOSUN_BIN = vim.v.progpath
        require('bosun').setup({ agents = { demo = { env = { A = '1', B = false } } } })
        return require('bosun.agents').launch('demo', '/tmp')
      ]])
      same(launch, {
        name = 'demo',
        command = vim.v.progpath,
        args = { 'demo-agent' },
        env = { { name = 'A', value = '1' }, { name = 'B' } },
        cwd = '/tmp',
        start_timeout_ms = 60000,
        unsaved = 'auto',
      })
    end,
  },
  {
    'what a session may see is the settings with ~ and variables expanded, and what is no folder is told',
    function(e)
      local access = e:lua(
        [[
        local dir = ...
        vim.fn.mkdir(dir .. '/ref/sub', 'p')
        vim.fn.mkdir(dir .. '/my notes', 'p')
        vim.env.HOME, vim.env.REF = dir, dir .. '/ref'
        require('bosun').setup({
          roots = { '~/my notes', { path = '$REF', write = false }, '$UNSET/x' },
          always_ask = { '~/.ssh/**', 'a~/b' },
          outside = 'deny',
          agents = { my = { command = vim.v.progpath, roots = { '../ref/sub/' } } },
        })
        return { require('bosun.roots').access(dir .. '/my notes', 'my') }
      ]],
        e.dir
      )
      same(access[1].roots, {
        { path = e.dir .. '/my notes', write = true },
        { path = e.dir .. '/ref', write = false },
        { path = e.dir .. '/ref/sub', write = true },
      })
      same(access[1].always_ask, { e.dir .. '/.ssh/**', 'a~/b' })
      same(access[1].ask_outside, false)
      assert(#access[1].ask_read > 0)
      same(#access[2], 1)
      assert(access[2][1]:find('$UNSET/x is not a folder', 1, true), access[2][1])
    end,
  },
  {
    'an agent that is unknown or not installed is an answer that says what to do',
    function(e)
      e:lua(
        [[require('bosun').setup({ agents = { gone = { command = 'no-such-program', install = 'make gone' } } })]]
      )
      local why = function(name)
        return e:lua([[return select(2, require('bosun.agents').launch(..., '/'))]], name)
      end
      same(why('gone'), 'the agent `gone` is not installed (no `no-such-program` on PATH): make gone')
      same(why('gonne'), 'there is no agent preset `gonne`: did you mean `gone`?')
    end,
  },
  {
    'the default agent is the setting, the environment, what is installed, the built-in one',
    function(e)
      local default = function(code) return e:lua(code .. [[ return require('bosun.agents').default()]]) end
      same(default([[vim.env.BOSUN_BIN = vim.v.progpath vim.env.PATH = '']]), 'demo')
      same(default([[require('bosun').setup({ agents = { zed = { command = vim.v.progpath } } })]]), 'zed')
      same(default([[vim.env.BOSUN_AGENT = 'other']]), 'other')
      same(default([[require('bosun').setup({ default_agent = 'mine' })]]), 'mine')
    end,
  },
  check_completion('subcommands are completed', 'Bosun pe', { 'pending' }),
  check_completion('with a range and a bang too', "'<,'>Bosun! to", { 'toggle' }),
  check_completion(
    'answers are completed with options, kinds and questions',
    'Bosun answer ',
    { 'yes', 'allow_once', 'no', 'reject_once', 'cancelled', '7' }
  ),
  check_completion('and with the options of the question named', 'Bosun answer 7 a', { 'allow_once' }),
  check_completion('agents are completed', 'Bosun new d', { 'demo' }),
  {
    'an answer names a question and an option that exist',
    function(e)
      e:lua([[require('bosun.state').questions = {
        { id = 7, session = 's1', title = 't', files = {},
          options = { { id = 'y', name = 'Y', kind = 'allow_once' } } },
      }]])
      local answer = function(...) return e:lua([[return { require('bosun').answer(...) }]], ...) end
      same(answer(7, 'allow_once'), { true })
      same(answer(7, 'y'), { true })
      same(answer(7, 'cancelled'), { true })
      same(answer(7, 'allow_always')[2], 'question 7 has no option allow_always')
      same(answer(8, 'y')[2], 'there is no question 8')
      e:forget()
      e:cmd('Bosun answer 7 y')
      e:cmd('Bosun answer allow_once')
      same(e:sent('answer'), { { question = 7, option = 'y' }, { question = 7, option = 'allow_once' } })
    end,
  },
  {
    'an unknown subcommand is one line, and suggests the nearest',
    function(e)
      e:cmd('Bosun pendnig')
      e:eventually([[return vim.fn.execute('messages'):find('did you mean `pending`', 1, true) ~= nil]])
    end,
  },
  {
    'checkhealth says what is there',
    function(e)
      e:lua([[vim.env.BOSUN_BIN = vim.v.progpath]])
      e:cmd('silent checkhealth bosun')
      local text = table.concat(e:lines(0), '\n')
      for _, part in ipairs({ 'Neovim 0.', 'the plugin file is loaded', 'sidecar: ', 'demo: ', 'logs: ' }) do
        assert(text:find(part, 1, true), text)
      end
    end,
  },
  {
    'the plugin is loaded once, from the root of the repository',
    function(e)
      e:cmd('runtime! plugin/bosun.lua')
      local paths = e:lua([[return vim.tbl_filter(function(p)
        return p:find('nvim%-plugin$') ~= nil
      end, vim.opt.runtimepath:get())]])
      same(#paths, 1)
      same(e:lua([[return vim.fn.exists(':Bosun')]]), 2)
      same(e:lua([[return vim.fn.mapcheck('<Plug>(bosun-toggle)', 'n') ~= '']]), true)
    end,
  },
}
