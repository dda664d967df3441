-- Terminals as a person has them: the list, where they open, how they are stopped and left, and what is said of them.
local same = require('editor').same
local terminal = require('support.terminal')

local specs = {
  {
    'a terminal opens below the window of the person, as a buffer of ours that is on no list',
    function(e)
      terminal.open(e)
      same(
        e:lua([[return {
          vim.api.nvim_buf_get_name(buf), vim.bo[buf].buftype, vim.bo[buf].buflisted, vim.bo[buf].bufhidden,
          vim.bo[buf].modifiable, require('bosun.buffers').is_own(buf), vim.wo[win].winfixbuf,
          vim.fn.winlayout()[1], vim.fn.mode(),
        }]]),
        { 'bosun://terminal/1', 'terminal', false, 'hide', false, true, true, 'col', 'n' }
      )
      same(
        e:lua([[return { vim.wo[win].number, vim.wo[home].number, vim.go.number }]]),
        { false, true, true }
      )
      same(#e:sent('buf_meta'), 0)
    end,
  },
  {
    'a command is stopped by a key in normal mode, and by the command line',
    function(e)
      terminal.open(e)
      e:keys('<C-c>', [[return count('terminal_stop') == 1]])
      terminal.list(e, {}, { id = 2 }, { id = 3, agent_only = true }, { id = 4, state = 'exited', code = 1 })
      e:forget()
      e:cmd('Bosun terminals stop')
      e:cmd('Bosun terminals stop 2')
      e:cmd('Bosun terminals stop 4')
      e:cmd('Bosun terminals stop 9')
      same(e:sent('terminal_stop'), { { terminal = 1 }, { terminal = 2 } })
      same(e:lua('return said'), { 'the command has ended', 'there is no terminal 9' })
      e:forget()
      e:cmd('Bosun! terminals stop')
      same(e:sent('terminal_stop'), { { terminal = 1 }, { terminal = 2 } })
    end,
  },
  {
    'the list names each terminal with its state, running ones first, and opens the one that is chosen',
    function(e)
      terminal.open(e)
      terminal.list(
        e,
        {},
        { id = 2, state = 'exited', code = 3, seconds = 61, command = 'false \27[2J' },
        { id = 3, seconds = 4000 },
        { id = 4, state = 'exited', code = 137, signal = 'SIGKILL' }
      )
      e:lua([[
        vim.ui.select = function(items, opts, done)
          _G.shown = vim.tbl_map(opts.format_item, items)
          done(items[4])
        end
        vim.cmd('Bosun terminals')
      ]])
      same(e:lua('return shown'), {
        '3  running  1h06m  make check',
        '1  running  3s  make check',
        '4  ended by SIGKILL  3s  make check',
        '2  exit 3  1m01s  false ^[[2J',
      })
      same(e:lua('return vim.api.nvim_buf_get_name(0)'), 'bosun://terminal/2')
      same(e:lua('return #vim.api.nvim_list_wins()'), 2, 'it takes the window of the other terminal')
      same(
        e:lua([[return vim.fn.getcompletion('Bosun terminals ', 'cmdline')]]),
        { 'stop', '1', '2', '3', '4' }
      )
      same(e:lua([[return vim.fn.getcompletion('Bosun terminals stop ', 'cmdline')]]), { '1', '3' })
      same(e:lua([[return vim.fn.maparg('<Plug>(bosun-terminals)', 'n') ~= '']]), true)
    end,
  },
  {
    'the bar says command, state and keys, and evaluates nothing',
    function(e)
      terminal.open(e, { command = "%{execute('let g:owned=1')} 100%" })
      local bar = function()
        e:lua([[vim.cmd('redraw!')]])
        return e:lua(
          [[return vim.api.nvim_eval_statusline(vim.wo[win].winbar, { use_winbar = true, winid = win }).str]]
        )
      end
      e:eventually([[return vim.wo[win].winbar ~= '']])
      local want = "%{execute('let g:owned=1')} 100% · running 3s"
      assert(vim.startswith(bar(), ' ' .. want) and bar():find('<C-c> stop', 1, true), bar())
      e:keys('i', [[return vim.wo[win].winbar:find('ends typing') ~= nil]])
      terminal.list(e, { state = 'exited', code = 2, seconds = 7 })
      e:eventually([[return vim.wo[win].winbar:find('exit 2 after 7s') ~= nil]])
      e:keys('<C-\\><C-n>', [[return vim.wo[win].winbar:find('ends typing') == nil]])
      assert(not bar():find('stop'), bar())
      same(e:lua('return vim.g.owned == nil'), true)
    end,
  },
  {
    'wiping or deleting the buffer is told once, and the terminal can be opened again',
    function(e)
      terminal.open(e)
      for i, command in ipairs({ 'bwipeout!', 'bdelete!', 'bunload!' }) do
        e:cmd(command .. ' ' .. e:lua('return buf'))
        e:eventually(([[return count('terminal_wiped') == %d]]):format(i))
        e:cmd('Bosun terminals 1')
        e:lua([[_G.win = vim.api.nvim_get_current_win(); _G.buf = vim.api.nvim_win_get_buf(win)]])
        terminal.feed(e, 'again')
        e:eventually([[return texts(1)[1] == 'again']])
      end
      e:cmd('silent! bdelete')
      same({ #e:sent('terminal_wiped'), e:lua('return vim.api.nvim_buf_is_loaded(buf)') }, { 3, true }, 'E89')
    end,
  },
  {
    'a terminal that the sidecar forgot goes with its window, and stays readable until then',
    function(e)
      terminal.open(e)
      terminal.feed(e, 'read me')
      e:forget()
      terminal.list(e)
      e:eventually([[return vim.wo[win].winbar:find('ended with its session') ~= nil]])
      e:keys('i', [[return #said == 1]])
      e:keys('<C-c>', [[return #said == 2]])
      e:eventually([[return texts(1)[1] == 'read me']])
      terminal.list(e, { command = 'another' })
      e:cmd('Bosun terminals 1')
      same(e:lua('return vim.api.nvim_get_current_buf() ~= buf'), true, 'its number came again')
      e:eventually([[return not vim.api.nvim_buf_is_valid(buf)]])
      same(#e:sent('terminal_wiped'), 0)
    end,
  },
  {
    'a sidecar that is lost leaves its terminals readable and dead',
    function(e)
      terminal.open(e)
      terminal.feed(e, 'read me')
      e:forget()
      e:lua([[require('bosun.state').lost('it was killed')]])
      e:eventually([[return vim.wo[win].winbar:find('ended with its session') ~= nil]])
      e:cmd('startinsert')
      e:keys('x', [[return #said == 1]])
      e:eventually([[return texts(1)[1] == 'read me']])
      same(e:lua([[return { count('terminal_input'), vim.v.errmsg }]]), { 0, '' })
      same(e:lua([[return #require('bosun.terminals').running()]]), 0)
    end,
  },
  {
    'running commands are counted in the status line',
    function(e)
      e:lua([[require('bosun.state').add({ name = 'demo' }, '/')]])
      local line = function() return e:lua([[return require('bosun').statusline()]]) end
      terminal.list(e, {}, { id = 2, state = 'exited' })
      same(line(), 'demo: starting (1 command runs)')
      terminal.recv(
        e,
        'questions',
        { list = { { id = 1, session = 's1', title = 't', options = {}, files = {}, body = {} } } }
      )
      terminal.list(e, {}, { id = 2 })
      same(line(), 'demo: starting (1 question, 2 commands run)')
    end,
  },
  {
    'the window that the person is in gets neither options nor modes of a terminal that opens by itself',
    function(e)
      e:lua([[vim.api.nvim_create_autocmd('TermOpen', { command = 'startinsert | setlocal number' })]])
      terminal.list(e, {})
      e:cmd('set list number')
      terminal.recv(e, 'terminal_show', { terminal = 1 })
      e:eventually([[return #sent == 1 and sent[1].name == 'terminal_view']])
      e:keys('j', [[return true]])
      same(
        e:lua([[return { vim.api.nvim_get_mode().mode, vim.bo.buftype, vim.wo.list, vim.wo.number }]]),
        { 'n', '', true, true }
      )
    end,
  },
  {
    'a key in the transcript opens the terminal beside it and goes there, unless the person has gone on',
    function(e)
      e:lua([[
        require('bosun.state').add({ name = 'demo' }, '/')
        require('bosun.chat').open({ session = 's1' })
        vim.cmd('stopinsert')
        for _, w in ipairs(vim.api.nvim_list_wins()) do
          if vim.w[w].bosun == 'transcript' then _G.transcript = w end
        end
        _G.shown = vim.api.nvim_win_get_buf(transcript)
        vim.api.nvim_set_current_win(transcript)
      ]])
      terminal.list(e, {}, { id = 2 })
      terminal.recv(e, 'terminal_show', { terminal = 1 })
      same(e:lua([[return vim.api.nvim_buf_get_name(0)]]), 'bosun://terminal/1')
      same(e:lua([[return vim.api.nvim_win_get_buf(transcript) == shown]]), true)
      local column = e:lua(
        [[return { vim.api.nvim_win_get_position(transcript)[2], vim.api.nvim_win_get_position(0)[2] }]]
      )
      assert(column[1] > column[2], 'left of the chat')
      e:keys('i', [[return vim.fn.mode() == 't']])
      terminal.recv(e, 'terminal_show', { terminal = 2 })
      e:eventually([[return #vim.tbl_filter(function(s) return s.name == 'terminal_view' end, sent) >= 2]])
      e:keys('y', [[return sent[#sent].name == 'terminal_input']])
      same(e:sent('terminal_input'), { { terminal = 1, data = 'y' } })
      e:keys('<C-\\><C-n>', [[return vim.fn.mode() == 'n']])
      e:cmd('wincmd t')
      terminal.recv(e, 'terminal_show', { terminal = 1 })
      same(e:lua([[return vim.bo.buftype]]), '')
      local count = e:lua('return #vim.api.nvim_list_wins()')
      terminal.recv(e, 'terminal_show', { terminal = 9 })
      same(e:lua('return #vim.api.nvim_list_wins()'), count, 'one that is gone')
    end,
  },
  {
    'the last window of all is hidden by its key without an error',
    function(e)
      terminal.open(e)
      e:cmd('only')
      e:keys('q', [[return vim.bo.buftype == '']])
      same(
        e:lua([[return { vim.wo.winfixbuf, vim.wo.winbar, vim.wo.number, vim.v.errmsg }]]),
        { false, '', true, '' }
      )
    end,
  },
  {
    'a buffer that a person shows by its number is dressed and told like any other',
    function(e)
      terminal.open(e)
      e:keys('q', [[return count('terminal_view') == 2]])
      e:cmd('sbuffer ' .. e:lua('return buf'))
      e:eventually([[return count('terminal_view') == 3]])
      same(e:lua([[return { vim.wo.number, vim.wo.winbar ~= '' }]]), { false, true })
    end,
  },
}

for _, command in ipairs({ ':wqa', ':qa', ':xa', ':wa|qa', 'ZZ:qa' }) do
  table.insert(specs, {
    command .. ' leaves Neovim while a command runs in a terminal',
    function(e)
      terminal.open(e)
      terminal.feed(e, terminal.numbered(1, 50))
      local code
      e:lua([[vim.keymap.set('n', 'ZQ', '<Nop>')]])
      local left = e:lua(
        [[
        local path = ...
        vim.api.nvim_create_autocmd('VimLeave', { callback = function() vim.fn.writefile({ vim.v.errmsg }, path) end })
        return path
      ]],
        e.dir .. '/left'
      )
      pcall(vim.rpcnotify, e.chan, 'nvim_input', command .. '<CR>')
      code = vim.fn.jobwait({ e.chan }, 5000)[1]
      same({ code, vim.fn.readfile(left) }, { 0, { '' } })
    end,
  })
end

return specs
