-- The view of a terminal: its size, what is fed into it, what is typed into it, and what its program may not do.
local same = require('editor').same
local terminal = require('support.terminal')

return {
  {
    'the size that is told is the size of the terminal, also after the window changes',
    function(e)
      terminal.open(e)
      local changes = {
        'echo',
        'resize 5',
        'set nowinfixheight | vsplit | vertical resize 20',
        'set columns=60',
        'tab sbuffer ' .. e:lua('return buf'),
      }
      for i, change in ipairs(changes) do
        e:cmd(change)
        e:eventually(([[return count('terminal_view') == %d]]):format(i))
        local told = e:sent('terminal_view')
        told = told[#told]
        local before = #terminal.typed(e)
        terminal.feed(e, '\27[s\27[999;999H\27[6n\27[u')
        local size = ('\27[%d;%dR'):format(told.rows, told.cols)
        same({ told.terminal, told.shown, terminal.typed(e):sub(before + 1) }, { 1, true, size }, change)
      end
    end,
  },
  {
    'a size is told once, and that no window shows it any more when the last one is closed',
    function(e)
      terminal.open(e)
      e:cmd('split | wincmd p')
      e:keys('q', [[return #vim.fn.win_findbuf(buf) == 1]])
      e:forget()
      e:cmd('wincmd j')
      e:keys('q', [[return count('terminal_view') == 1]])
      same(
        { e:sent('terminal_view')[1].shown, e:lua([[return vim.api.nvim_buf_is_loaded(buf)]]) },
        { false, true }
      )
      same(#e:sent('terminal_wiped'), 0)
      e:cmd('Bosun terminals 1')
      e:eventually([[return count('terminal_view') == 2 and vim.api.nvim_get_current_buf() == buf]])
      same(e:sent('terminal_view')[2].shown, true)
    end,
  },
  {
    'output is followed where the cursor is on the last line, and stays where it is not',
    function(e)
      terminal.open(e)
      terminal.feed(e, terminal.numbered(1, 100))
      e:eventually([[return vim.fn.line('.', win) == vim.fn.line('$', win) and vim.fn.line('$', win) > 100]])
      e:cmd('split')
      e:lua([[_G.reader = vim.api.nvim_get_current_win(); vim.api.nvim_win_set_cursor(reader, { 40, 0 })]])
      local top = e:lua([[return vim.fn.line('w0', reader)]])
      terminal.feed(e, terminal.numbered(101, 300))
      e:eventually([[return vim.fn.line('$', win) > 300 and vim.fn.line('.', win) == vim.fn.line('$', win)]])
      same(
        e:lua([[return { vim.fn.line('.', reader), vim.fn.line('w0', reader), texts()[100], texts()[300] }]]),
        { 40, top, 'line 100', 'line 300' }
      )
    end,
  },
  {
    'text is yanked and found as in any buffer, also after the command has ended',
    function(e)
      terminal.open(e)
      terminal.feed(e, 'one\r\n\27[31mtwo\27[0m\r\nthree\r\n')
      terminal.list(e, { state = 'exited', code = 0 })
      e:eventually([[return texts(3)[3] == 'three']])
      e:keys('gg/tw<CR>yy', [[return vim.fn.getreg('"') == 'two\n']])
      same(e:lua('return { vim.fn.mode(), vim.v.errmsg }'), { 'n', '' })
    end,
  },
  {
    'what is typed goes to the program, and to nobody once it has ended',
    function(e)
      terminal.open(e)
      e:keys('i', [[return vim.fn.mode() == 't']])
      e:keys('y<CR><C-c>', [[return count('terminal_input') == 3]])
      same(terminal.typed(e), 'y\r\3')
      terminal.list(e, { state = 'exited', code = 0 })
      e:forget()
      e:keys('dd<CR><Esc>:q<CR>', [[return #said > 0]])
      same(
        e:lua([[return { vim.fn.mode(), count('terminal_input'), #said, vim.api.nvim_buf_is_valid(buf) }]]),
        {
          't',
          0,
          1,
          true,
        }
      )
      assert(e:lua('return said[1]'):find('has ended', 1, true))
      e:keys('<C-\\><C-n>', [[return vim.fn.mode() == 'n']])
      for i, key in ipairs({ 'i', 'a', 'A' }) do
        e:keys(key, ([[return #said == %d]]):format(i + 1))
        same(e:lua('return vim.fn.mode()'), 'n', key)
      end
    end,
  },
  {
    'a command that an agent only shows takes no input and cannot be stopped',
    function(e)
      terminal.open(e, { agent_only = true })
      e:keys('i', [[return #said == 1]])
      e:keys('<C-c>', [[return #said == 2]])
      e:cmd('Bosun terminals stop 1')
      e:cmd('startinsert')
      e:keys('x', [[return #said == 4]])
      terminal.feed(e, '\27[6n')
      same({ #e:sent('terminal_input'), #e:sent('terminal_stop') }, { 0, 0 })
    end,
  },
  {
    'the answer to a query goes to the program, but not when the query is from before',
    function(e)
      terminal.open(e)
      terminal.feed(e, 'ab\27[6n')
      same(terminal.typed(e), '\27[1;3R')
      terminal.feed(e, 'ab\27[6n\27[c', { reset = true })
      same(terminal.typed(e), '\27[1;3R')
      terminal.feed(e, '\27[6n')
      same(terminal.typed(e), '\27[1;3R\27[1;3R')
    end,
  },
  {
    'title, bell and clipboard orders of a program change nothing, however they are written and cut',
    function(e)
      terminal.open(e)
      e:lua([[
        _G.clip = {}
        local function copy(lines) table.insert(clip, lines) end
        local function paste() return {} end
        vim.g.clipboard = {
          name = 'x', copy = { ['+'] = copy, ['*'] = copy }, paste = { ['+'] = paste, ['*'] = paste },
        }
        _G.title = { vim.o.title, vim.o.titlestring, vim.o.icon }
      ]])
      local orders = {
        '\27]52;c;aGVsbG8=\7',
        '\27]52;p;aGVsbG8=\27\\',
        '\27\7]052;c;aGVsbG8=\7',
        '\27\27]52;;aGVsbG8=\7',
        '\27]2;owned\7\27]0;owned\27\\\7\7',
      }
      for _, order in ipairs(orders) do
        terminal.feed(e, order .. '.')
        for i = 1, #order do
          terminal.feed(e, order:sub(i, i))
        end
        terminal.feed(e, '.')
      end
      terminal.feed(e, '\27]8;;http://a.b/\27\\link\27]8;;\27\\ \27[32mgreen\27[0m')
      e:eventually([[return texts(1)[1] == '..........link green']])
      -- The editor takes such orders up in a later turn.
      e:lua('vim.wait(20)')
      same(
        e:lua(
          [[return { clip, vim.deep_equal(title, { vim.o.title, vim.o.titlestring, vim.o.icon }), vim.v.errmsg,
          vim.fn.getreg('"'), vim.b[buf].term_title ~= 'owned' }]]
        ),
        { {}, true, '', '', true }
      )
    end,
  },
  {
    'without a clipboard such an order raises no error',
    function(e)
      terminal.open(e)
      e:lua([[vim.g.loaded_clipboard_provider = 1; vim.g.clipboard = nil]])
      terminal.feed(e, '\27]52;c;aGVsbG8=\7end')
      e:eventually([[return texts(1)[1] == 'end']])
      e:lua('vim.wait(20)')
      same({ e:lua('return vim.v.errmsg'), e:messages() }, { '', '' })
    end,
  },
  {
    'a long feed comes in slices between which keys are taken up, and is acknowledged once, in order',
    function(e)
      terminal.open(e)
      local long = terminal.numbered(1, 6000)
      e:lua(
        [[
        _G.at_key = nil
        vim.keymap.set('n', 'x', function() at_key = vim.fn.line('$') < 6000 and count('terminal_ack') end)
        local recv = require('bosun.inbox').recv
        recv('terminal_feed', { terminal = 1, seq = 70, bytes = ... })
        recv('terminal_feed', { terminal = 1, seq = 71, bytes = 'the end' })
        vim.api.nvim_input('x')
      ]],
        long
      )
      e:eventually([[return count('terminal_ack') == 2]])
      same(e:lua('return at_key'), 0)
      same(vim.tbl_map(function(m) return m.seq end, e:sent('terminal_ack')), { 70, 71 })
      e:eventually([[return texts()[6000] == 'line 6000' and texts()[6001] == 'the end']])
    end,
  },
  {
    'what comes while no window shows the terminal is acknowledged and left out',
    function(e)
      terminal.open(e)
      terminal.feed(e, 'one')
      e:keys('q', [[return #vim.fn.win_findbuf(buf) == 0]])
      terminal.feed(e, 'two')
      terminal.feed(e, 'one, two', { reset = true })
      e:cmd('Bosun terminals 1')
      terminal.feed(e, ', three')
      e:eventually([[return texts(1)[1] == 'one, three']])
      same(e:lua('return vim.v.errmsg'), '')
    end,
  },
  {
    'a reset leaves nothing of what was there, keeps the mode, and is followed on',
    function(e)
      terminal.open(e)
      terminal.feed(
        e,
        terminal.numbered(1, 500) .. '\27[31m\27[?1049h\27[3;5rin the other screen\27]0;unfinished'
      )
      e:keys('i', [[return vim.fn.mode() == 't']])
      terminal.feed(e, 'one\r\ntwo\r\n', { reset = true })
      e:eventually([[return texts(1)[1] == 'one' ]])
      local rows = e:lua([[return vim.fn.getwininfo(win)[1].height]])
      same(
        e:lua([[return { texts(3), #texts(), vim.fn.mode(), vim.api.nvim_get_current_win() == win }]]),
        { { 'one', 'two', '' }, rows, 't', true }
      )
      terminal.feed(e, terminal.numbered(1, 400), { reset = true })
      e:eventually([[return texts()[400] == 'line 400' and #texts() == 401]])
      same(e:lua([[return { texts(1)[1], vim.fn.line('.') == vim.fn.line('$') }]]), { 'line 1', true })
      terminal.feed(e, '\27[999;999H\27[6n')
      assert(terminal.typed(e):find(('[%d;'):format(rows), 1, true), terminal.typed(e))
      same(e:lua('return vim.v.errmsg'), '')
    end,
  },
  {
    'a feed for a terminal without a buffer is acknowledged all the same',
    function(e)
      terminal.list(e, {})
      terminal.recv(e, 'terminal_feed', { terminal = 1, seq = 5, reset = true, bytes = 'x' })
      terminal.recv(e, 'terminal_feed', { terminal = 9, seq = 1, reset = false, bytes = 'x' })
      same(e:sent('terminal_ack'), { { terminal = 1, seq = 5 }, { terminal = 9, seq = 1 } })
      same(
        e:lua([[return #vim.tbl_filter(function(b)
        return vim.bo[b].buftype == 'terminal'
      end, vim.api.nvim_list_bufs())]]),
        0
      )
    end,
  },
}
