-- The atomic edit: what of the person's must survive it, and when it must not happen.
local editor = require('editor')
local same, whole, within = editor.same, editor.whole, editor.within

local function numbered(n)
  local lines = {}
  for i = 1, n do
    lines[i] = 'line ' .. i
  end
  return table.concat(lines, '\n') .. '\n'
end

local function seq(e, buf) return e:lua('return vim.fn.undotree(...).seq_cur', buf) end

local function check_bytes(name, before, edits, more, after)
  return {
    name,
    function(e)
      local path = e:file('a.txt', before)
      local buf = e:open(path)
      local got = e:edit(buf, edits, more)
      same({ got.kind, got.saved, got.modified }, { 'done', true, false }, vim.inspect(got))
      same(e:bytes(path), after, 'bytes on disk')
      same(got.tick, e:lua('return vim.api.nvim_buf_get_changedtick(...)', buf), 'tick')
    end,
  }
end

local function check_refused(name, prepare, kind, message)
  return {
    name,
    function(e)
      local path = e:file('a.txt', 'one\ntwo\n')
      local buf = e:open(path)
      local more = prepare(e, buf, path)
      local before, bytes = e:lines(buf), e:bytes(path)
      local got = e:edit(buf, { within(0, 0, 3, 'ONE') }, more)
      same(got.kind, kind, vim.inspect(got))
      assert((got.message or ''):find(message, 1, true), vim.inspect(got))
      same(e:lines(buf), before, 'the buffer is as it was')
      same(e:bytes(path), bytes, 'the file is as it was')
    end,
  }
end

-- Makes the plugin one that was loaded after the buffer.
local FORGET = [[
  vim.api.nvim_create_augroup('bosun.stamps', { clear = true })
  package.loaded['bosun.stamps'] = nil
]]

-- In `mode`, reached by `enter`, the edit waits until `leave`.
local function check_busy(name, enter, mode, leave)
  return {
    name,
    function(e)
      local buf = e:open(e:file('a.txt', numbered(10)))
      e:lua('vim.api.nvim_win_set_cursor(0, { 5, 0 })')
      e:keys(enter, ("return vim.api.nvim_get_mode().mode == '%s'"):format(mode))
      local got = e:edit(buf, { whole(0, 0, { 'new' }) })
      same({ got.kind, got.mode }, { 'busy', mode })
      same(#e:lines(buf), 10)
      same(e:edit(buf, { whole(0, 0, { 'new' }) }).kind, 'busy')
      same(#e:sent('safe'), 0)
      e:keys(leave, "return vim.api.nvim_get_mode().mode == 'n'")
      e:eventually("return #vim.tbl_filter(function(s) return s.name == 'safe' end, _G.sent) > 0")
      same(e:sent('safe'), { { buf = buf } })
      same(e:edit(buf, { whole(0, 0, { 'new' }) }).kind, 'done')
    end,
  }
end

return {
  {
    'cursors, marks, folds and views of all windows follow the text',
    function(e)
      local buf = e:open(e:file('a.txt', numbered(40)))
      local ids = e:lua(
        [[
        local buf = ...
        vim.o.lines, vim.o.columns = 40, 100
        vim.o.foldmethod = 'manual'
        local a = vim.api.nvim_get_current_win()
        vim.cmd('split')
        local b = vim.api.nvim_get_current_win()
        vim.cmd('tab split')
        local c = vim.api.nvim_get_current_win()
        vim.cmd('tabprevious')
        vim.api.nvim_set_current_win(b)
        for win, line in pairs({ [a] = 20, [b] = 30, [c] = 12 }) do
          vim.api.nvim_win_call(win, function()
            vim.wo.foldmethod = 'manual'
            vim.api.nvim_win_set_cursor(win, { line, 2 })
            vim.cmd('normal! zt')
          end)
        end
        vim.api.nvim_win_call(a, function() vim.cmd('12,15fold') end)
        vim.api.nvim_buf_set_mark(buf, 'a', 10, 1, {})
        local ns = vim.api.nvim_create_namespace('test')
        local mark = vim.api.nvim_buf_set_extmark(buf, ns, 24, 0, {})
        vim.fn.setreg('"', 'yanked')
        vim.fn.setreg('/', 'pattern')
        vim.fn.setloclist(b, { { bufnr = buf, lnum = 35, text = 'entry' } })
        return { a = a, b = b, c = c, ns = ns, mark = mark, win = b }
      ]],
        buf
      )
      local look = [[
        local buf, ids = ...
        local out = {}
        for _, name in ipairs({ 'a', 'b', 'c' }) do
          local win = ids[name]
          local top = vim.fn.getwininfo(win)[1].topline
          out[name] = { vim.api.nvim_win_get_cursor(win)[1], vim.api.nvim_buf_get_lines(buf, top - 1, top, true)[1] }
        end
        out.mark = vim.api.nvim_buf_get_mark(buf, 'a')
        out.extmark = vim.api.nvim_buf_get_extmark_by_id(buf, ids.ns, ids.mark, {})[1] + 1
        out.fold = vim.api.nvim_win_call(ids.a, function()
          return { vim.fn.foldclosed(16), vim.fn.foldclosedend(16) }
        end)
        out.entry = vim.fn.getloclist(ids.b)[1].lnum
        out.win = vim.api.nvim_get_current_win()
        out.registers = { vim.fn.getreg('"'), vim.fn.getreg('/') }
        out.jumps = vim.fn.getjumplist(ids.b)
        out.alternate = vim.fn.bufnr('#')
        return out
      ]]
      local before = e:lua(look, buf, ids)
      local got = e:edit(buf, { whole(0, 0, { 'x', 'y', 'z' }), within(17, 5, 7, 'eighteen') })
      same(got.kind, 'done', vim.inspect(got))
      local after = e:lua(look, buf, ids)
      same({ after.a[1], after.b[1], after.c[1] }, { 23, 33, 15 }, 'cursors')
      same({ after.a[2], after.b[2], after.c[2] }, { before.a[2], before.b[2], before.c[2] }, 'top lines')
      same(after.mark, { 13, 1 }, 'mark')
      same(after.extmark, 28, 'extmark')
      same(after.fold, { 15, 18 }, 'fold')
      same(after.entry, 38, 'location list')
      same(
        { after.win, after.registers, after.alternate },
        { ids.win, { 'yanked', 'pattern' }, before.alternate }
      )
      same(#after.jumps[1], #before.jumps[1], 'jump list')
      same(e:lines(buf)[21], 'line eighteen')
      -- Shrinking clamps.
      got = e:edit(buf, { whole(5, 43, {}) })
      same(got.kind, 'done', vim.inspect(got))
      after = e:lua(look, buf, ids)
      same({ after.a[1], after.b[1], after.c[1] }, { 5, 5, 5 }, 'cursors')
    end,
  },
  {
    'many edits are exactly one undo step, apart from those before and after',
    function(e)
      local path = e:file('a.txt', numbered(6))
      local buf = e:open(path)
      e:lua([[vim.cmd('normal! Gonine')]])
      local mine = e:lines(buf)
      local start = seq(e, buf)
      e:edit(buf, { whole(0, 1, {}), within(2, 0, 4, 'LINE'), whole(4, 4, { 'in', 'between' }) }, {})
      local first = e:lines(buf)
      same(first, { 'line 2', 'LINE 3', 'line 4', 'in', 'between', 'line 5', 'line 6', 'nine' })
      e:edit(buf, { within(0, 0, 0, '>') })
      same(seq(e, buf), start + 2, 'two edits, two steps')
      e:cmd('silent undo')
      same(e:lines(buf), first)
      e:cmd('silent undo')
      same(e:lines(buf), mine)
      e:cmd('silent undo')
      same(e:lines(buf), vim.split(vim.trim(numbered(6)), '\n'))
    end,
  },
  {
    'two edits of a hidden buffer are two steps',
    function(e)
      local buf = e:open(e:file('a.txt', 'a\n'))
      e:open(e:file('b.txt', 'b\n'))
      e:edit(buf, { within(0, 0, 1, 'one') })
      e:edit(buf, { within(0, 0, 3, 'two') })
      e:lua('vim.api.nvim_buf_call(..., function() vim.cmd("silent undo") end)', buf)
      same(e:lines(buf), { 'one' })
    end,
  },
  {
    'what is typed before and after the edit in insert mode is undone by itself',
    function(e)
      local buf = e:open(e:file('a.txt', 'one\ntwo\n'))
      e:lua('vim.api.nvim_win_set_cursor(0, { 2, 0 })')
      e:keys('oaa', "return vim.api.nvim_get_current_line() == 'aa'")
      same(e:edit(buf, { whole(0, 0, { 'top' }), within(1, 0, 3, 'TWO') }).kind, 'done')
      same(e:lua('return vim.api.nvim_get_mode().mode'), 'i')
      e:keys('bb', "return vim.api.nvim_get_current_line() == 'aabb'")
      same(e:lines(buf), { 'top', 'one', 'TWO', 'aabb' })
      e:keys(
        '<Esc>u',
        "return vim.api.nvim_get_mode().mode == 'n' and vim.api.nvim_get_current_line() ~= 'aabb'"
      )
      same(e:lines(buf), { 'top', 'one', 'TWO', 'aa' })
      e:cmd('silent undo')
      same(e:lines(buf), { 'one', 'two', 'aa' })
      e:cmd('silent undo')
      same(e:lines(buf), { 'one', 'two' })
      for _ = 1, 3 do
        e:cmd('silent redo')
      end
      same(e:lines(buf), { 'top', 'one', 'TWO', 'aabb' })
    end,
  },
  {
    'so is what is taken back and broken into lines after the edit',
    function(e)
      local buf = e:open(e:file('a.txt', 'one\ntwo\n'))
      e:lua('vim.api.nvim_win_set_cursor(0, { 2, 0 })')
      e:keys('oaaa', "return vim.api.nvim_get_current_line() == 'aaa'")
      e:edit(buf, { whole(0, 0, { 'top' }) })
      e:keys('<BS><BS>b<CR>c', "return vim.api.nvim_get_current_line() == 'c'")
      same(e:lines(buf), { 'top', 'one', 'two', 'ab', 'c' })
      e:keys('<Esc>u', "return vim.api.nvim_get_mode().mode == 'n' and vim.api.nvim_buf_line_count(0) == 4")
      same(e:lines(buf), { 'top', 'one', 'two', 'aaa' })
      e:cmd('silent undo')
      same(e:lines(buf), { 'one', 'two', 'aaa' })
      e:cmd('silent redo | silent redo')
      same(e:lines(buf), { 'top', 'one', 'two', 'ab', 'c' })
    end,
  },
  {
    'replace mode, which remembers what it typed over, holds the edit up until it ends',
    function(e)
      local buf = e:open(e:file('a.txt', 'one\nabcdef\n'))
      e:lua('vim.api.nvim_win_set_cursor(0, { 2, 0 })')
      e:keys('RXY', "return vim.api.nvim_get_current_line() == 'XYcdef'")
      same(e:edit(buf, { whole(0, 0, { 'top' }) }).kind, 'busy')
      e:keys('<BS>', "return vim.api.nvim_get_current_line() == 'Xbcdef'")
      e:keys('<Esc>', "return vim.api.nvim_get_mode().mode == 'n'")
      same(e:edit(buf, { whole(0, 0, { 'top' }) }).kind, 'done')
      same(e:lines(buf), { 'top', 'one', 'Xbcdef' })
    end,
  },
  {
    'so does typing into a visual block, which is copied to its lines at the end',
    function(e)
      local buf = e:open(e:file('a.txt', 'one\ntwo\n'))
      -- Loaded with the sidecar's start, before anything is typed.
      e:lua("require('bosun.edit')")
      e:keys('<C-v>jIab', "return vim.api.nvim_get_current_line() == 'abone'")
      same(e:edit(buf, { whole(0, 0, { 'top' }) }).kind, 'busy')
      e:keys('c<Esc>', "return vim.api.nvim_get_mode().mode == 'n'")
      same(e:edit(buf, { whole(0, 0, { 'top' }) }).kind, 'done')
      same(e:lines(buf), { 'top', 'abcone', 'abctwo' })
    end,
  },
  {
    'an edit of the very line that is typed on keeps both',
    function(e)
      local buf = e:open(e:file('a.txt', 'one\n'))
      e:keys('Axx', "return vim.api.nvim_get_current_line() == 'onexx'")
      same(e:edit(buf, { within(0, 0, 3, '1') }).kind, 'done')
      e:keys('yy', "return vim.api.nvim_get_current_line() == '1xxyy'")
      e:keys('<Esc>u', "return vim.api.nvim_get_current_line() ~= '1xxyy'")
      same(e:lines(buf), { '1xx' })
      e:cmd('silent undo')
      same(e:lines(buf), { 'onexx' })
      e:cmd('silent undo')
      same(e:lines(buf), { 'one' })
    end,
  },
  {
    "the last change, the change list and the last put stay the person's",
    function(e)
      local buf = e:open(e:file('a.txt', numbered(20)))
      e:lua([[vim.api.nvim_win_set_cursor(0, { 10, 0 }) vim.cmd('normal! yyP')]])
      local look = [[return {
        vim.api.nvim_buf_get_mark(0, '.'), vim.api.nvim_buf_get_mark(0, '['), vim.api.nvim_buf_get_mark(0, ']'),
        #vim.fn.getchangelist(0)[1],
      }]]
      same(e:lua(look), { { 10, 0 }, { 10, 0 }, { 10, 6 }, 1 }, 'before')
      e:edit(buf, { whole(0, 0, { 'x' }), within(15, 0, 4, 'LINE') })
      local after = e:lua(look)
      same({ after[1], after[4] }, { { 11, 0 }, 1 }, 'last change and change list')
      same({ after[2][1], after[3][1] }, { 11, 11 }, 'last put')
    end,
  },
  check_busy('a half-typed operator is waited for', 'd', 'no', '<Esc>'),
  check_busy('a selection is waited for', 'Vj', 'V', '<Esc>'),
  check_busy('select mode is waited for', 'gh', 's', '<Esc>'),
  {
    'a selection in another buffer is not waited for',
    function(e)
      local buf = e:open(e:file('a.txt', 'a\n'))
      e:open(e:file('b.txt', 'b\n'))
      e:keys('V', "return vim.api.nvim_get_mode().mode == 'V'")
      same(e:edit(buf, { within(0, 0, 1, 'one') }).kind, 'done')
      same(e:lua('return vim.api.nvim_get_mode().mode'), 'V')
    end,
  },
  {
    "a save that fails is an answer, also with 'confirm'",
    function(e)
      local path = e:file('a.txt', 'a\n')
      local buf = e:open(path)
      e:lua("vim.o.confirm = true; vim.uv.fs_chmod(..., tonumber('444', 8))", path)
      -- Whoever may write everything writes this, too.
      local may = e:lua('return vim.uv.fs_access(..., "W")', path)
      local outcome = e:edit(buf, { { whole = true, sl = 0, sc = 0, el = 1, ec = 0, lines = { 'b' } } })
      same({ outcome.kind, e:lua('return vim.o.confirm') }, { may and 'done' or 'not_saved', true })
    end,
  },
  {
    'the stamp after a save is the one of the file, whether it ends in a newline or not',
    function(e)
      for _, format in ipairs({ 'unix', 'dos' }) do
        for _, eol in ipairs({ true, false }) do
          local buf = e:open(e:file(format .. tostring(eol), 'one\ntwo\n'))
          e:lua('vim.bo.fileformat, vim.bo.fixendofline = ..., false', format)
          local outcome = e:edit(
            buf,
            { { whole = true, sl = 0, sc = 0, el = 1, ec = 0, lines = { 'ONE' } } },
            { eol = eol }
          )
          same({ outcome.size, e:lua("return require('bosun.stamps').check(...)", buf) }, {
            #e:bytes(e.dir .. '/' .. format .. tostring(eol)),
            'same',
          })
        end
      end
    end,
  },
  {
    'a lock of the text is waited for',
    function(e)
      local buf = e:open(e:file('a.txt', 'a\n'))
      e:lua(
        [[
        local buf = ...
        vim.keymap.set('n', '<F2>', function()
          require('bosun.inbox').recv('edit', {
            op = 5, buf = buf, tick = vim.api.nvim_buf_get_changedtick(buf), eol = true, empty = false, save = true,
            through = {},
            edits = { { whole = true, sl = 0, sc = 0, el = 1, ec = 0, lines = { 'b' } } },
          })
          return '<Ignore>'
        end, { expr = true })
      ]],
        buf
      )
      e:keys('<F2>', 'return #_G.sent > 0')
      same(e:sent('edit_done'), { { op = 5, kind = 'busy', mode = 'textlock' } })
      e:eventually("return _G.sent[#_G.sent].name == 'safe'")
      same(e:lines(buf), { 'a' })
    end,
  },
  {
    "an edit that arrives while the person's save waits for a formatter waits for the end of it",
    function(e)
      local path = e:file('a.txt', 'one\ntwo\n')
      local buf = e:open(path)
      e:lua(
        [[
        vim.api.nvim_create_autocmd('BufWritePre', { buffer = ..., callback = function()
          _G.formatting = true
          vim.wait(2000, function() return _G.go_on end, 5)
          vim.api.nvim_buf_set_lines(0, 0, 1, true, { 'formatted' })
        end })
      ]],
        buf
      )
      e:keys(':w<CR>', 'return _G.formatting == true')
      local got = e:edit(buf, { whole(0, 0, { 'top' }) })
      same({ got.kind, got.mode }, { 'busy', 'autocommand' })
      e:lua('_G.go_on = true')
      e:eventually("return #vim.tbl_filter(function(s) return s.name == 'safe' end, _G.sent) > 0")
      same(e:bytes(path), 'formatted\ntwo\n')
      e:lua('vim.api.nvim_clear_autocmds({ event = "BufWritePre" })')
      same(e:edit(buf, { whole(0, 0, { 'top' }) }).kind, 'done')
      same(e:bytes(path), 'top\nformatted\ntwo\n')
    end,
  },
  check_refused('a tick that has moved is stale', function(e, buf)
    local tick = e:lua('return vim.api.nvim_buf_get_changedtick(...)', buf)
    e:lua([[vim.cmd('normal! Goxxx')]])
    return { tick = tick }
  end, 'stale', ''),
  check_refused(
    'a read-only buffer is left alone',
    function(e) e:cmd('set readonly') end,
    'failed',
    'readonly'
  ),
  check_refused(
    'a buffer that is not modifiable is left alone',
    function(e) e:cmd('set nomodifiable') end,
    'failed',
    'modifiable'
  ),
  check_refused(
    'a file that changed on disk under unsaved text is left alone, without a question',
    function(e, _, path)
      e:lua([[vim.cmd('normal! Goxxx')]])
      e:file(vim.fs.basename(path), 'other text\n')
    end,
    'disk',
    ''
  ),
  check_refused(
    'a file that changed on disk is left alone, without a question',
    function(e, _, path) e:file(vim.fs.basename(path), 'other text\n') end,
    'disk',
    ''
  ),
  check_refused('also when it changed before the plugin was there to see', function(e, _, path)
    e:lua(FORGET)
    e:file(vim.fs.basename(path), 'other text\n')
  end, 'disk', ''),
  check_refused('also under unsaved text: the swap file knows', function(e, _, path)
    vim.uv.fs_utime(path, 1000000000, 1000000000)
    e:cmd('set swapfile | silent edit!')
    e:lua([[vim.cmd('normal! Goxxx') vim.cmd('silent preserve')]])
    e:lua(FORGET)
    e:file(vim.fs.basename(path), 'other text\n')
  end, 'disk', ''),
  check_refused(
    'also where there is neither a swap file nor a stamp: Neovim itself knows',
    function(e, _, path)
      e:cmd('set noswapfile | silent edit!')
      e:lua([[vim.cmd('normal! Goxxx')]])
      e:lua(FORGET)
      e:file(vim.fs.basename(path), 'other text\n')
      vim.uv.fs_utime(path, 2000000000, 2000000000)
    end,
    'disk',
    ''
  ),
  check_refused('a buffer that took the name of another file does not overwrite it, nor ask', function(e)
    local other = e:file('other.txt', 'not ours\n')
    e:cmd('set confirm | file ' .. other)
  end, 'disk', ''),
  check_refused(
    'edits that do not fit are refused whole',
    function() return { edits = { within(0, 0, 1, 'x'), within(1, 0, 50, 'x') } } end,
    'failed',
    'do not fit'
  ),
  {
    'a file that was only touched is written without a question',
    function(e)
      local path = e:file('a.txt', 'one\n')
      local buf = e:open(path)
      vim.uv.fs_utime(path, 1000000000, 1000000000)
      same(e:edit(buf, { within(0, 0, 3, 'two') }).kind, 'done')
      same(e:bytes(path), 'two\n')
    end,
  },
  {
    'a buffer that is gone is an answer',
    function(e)
      same(e:edit(4711, {}, { tick = 1 }), { op = 1, kind = 'failed', message = 'the buffer is not loaded' })
    end,
  },
  check_bytes(
    'a missing final newline stays missing',
    'one\ntwo',
    { within(0, 0, 3, 'ONE') },
    { eol = false },
    'ONE\ntwo'
  ),
  check_bytes(
    'a final newline is added when asked for',
    'one\ntwo',
    { within(0, 0, 3, 'ONE') },
    { eol = true },
    'ONE\ntwo\n'
  ),
  check_bytes('a final newline is taken away when asked for', 'one\ntwo\n', {}, { eol = false }, 'one\ntwo'),
  check_bytes('an emptied file has no bytes', 'one\ntwo\n', { whole(0, 2, {}) }, { empty = true }, ''),
  check_bytes('a file of one empty line has one byte', 'one\n', { within(0, 0, 3, '') }, {}, '\n'),
  check_bytes('an empty file gets its lines', '', { whole(0, 1, { 'a', 'b' }) }, {}, 'a\nb\n'),
  check_bytes('one empty line becomes no line', '\n', { whole(0, 1, {}) }, { empty = true }, ''),
  check_bytes('lines are appended at the end', 'a\n', { whole(1, 1, { 'b' }) }, {}, 'a\nb\n'),
  check_bytes('CRLF stays CRLF', 'a\r\nb\r\n', { whole(1, 2, { 'c', 'd' }) }, {}, 'a\r\nc\r\nd\r\n'),
  check_bytes('a BOM stays', '\239\187\191a\n', { within(0, 0, 1, 'b') }, {}, '\239\187\191b\n'),
  check_bytes(
    'NUL and bytes that are not UTF-8 stay',
    'a\0\255\nb\n',
    { within(1, 0, 1, 'c\0') },
    {},
    'a\0\255\nc\0\n'
  ),
  {
    "'fixendofline' is as it was after the save",
    function(e)
      local buf = e:open(e:file('a.txt', 'one'))
      e:edit(buf, { within(0, 0, 3, 'two') }, { eol = false })
      same(e:lua('return vim.bo[...].fixendofline', buf), true)
    end,
  },
  {
    'without save the buffer is modified and the file is not',
    function(e)
      local path = e:file('a.txt', 'one\n')
      local buf = e:open(path)
      local got = e:edit(buf, { within(0, 0, 3, 'two') }, { save = false })
      same({ got.kind, got.saved, got.modified, e:bytes(path) }, { 'done', false, true, 'one\n' })
    end,
  },
  {
    'a folder that is missing is made with the file',
    function(e)
      local path = e.dir .. '/no/such/a.txt'
      local buf = e:open(path)
      local got = e:edit(buf, { whole(0, 1, { 'text' }) })
      same({ got.kind, got.saved, e:bytes(path) }, { 'done', true, 'text\n' }, vim.inspect(got))
    end,
  },
  {
    'an unencodable character is an answer, not a replacement',
    function(e)
      local path = e:file('a.txt', 'gr\252n\n')
      local buf = e:open(path)
      e:cmd('set fileencoding=cp1252')
      local got = e:edit(buf, { within(0, 0, 0, '漢') })
      same(got.kind, 'failed', vim.inspect(got))
      assert(got.message:find('cp1252 has no "漢"', 1, true), got.message)
      same(e:lines(buf), { 'grün' })
      same(e:bytes(path), 'gr\252n\n')
    end,
  },
  {
    'autocommands of a save run, in a step of their own, and one that fails does not keep the file from being written',
    function(e)
      local path = e:file('a.txt', 'one\n')
      local buf = e:open(path)
      e:lua([[
        vim.api.nvim_create_autocmd('BufWritePre', { callback = function(args)
          local lines = vim.api.nvim_buf_get_lines(args.buf, 0, -1, true)
          vim.api.nvim_buf_set_lines(args.buf, 0, -1, true, vim.tbl_map(string.upper, lines))
        end })
        vim.api.nvim_create_autocmd('BufWritePre', { callback = function() error('formatter is broken') end })
      ]])
      local got = e:edit(buf, { within(0, 0, 3, 'two') })
      same({ got.kind, got.saved, e:bytes(path) }, { 'done', true, 'TWO\n' }, vim.inspect(got))
      e:cmd('silent undo')
      same(e:lines(buf), { 'two' })
      e:cmd('silent undo')
      same(e:lines(buf), { 'one' })
      same(e:lua('return vim.api.nvim_get_mode()'), { blocking = false, mode = 'n' })
    end,
  },
  {
    'events of the buffer come before the outcome',
    function(e)
      local buf = e:open(e:file('a.txt', 'one\n'))
      e:lua(
        [[vim.api.nvim_buf_attach(..., false, {
          on_lines = function() table.insert(_G.sent, { name = 'lines', message = {} }) end,
        })]],
        buf
      )
      e:edit(buf, { within(0, 0, 3, 'two') })
      local names = e:lua([[return vim.tbl_map(function(s) return s.name end, _G.sent)]])
      same({ names[1], names[#names] }, { 'lines', 'edit_done' })
    end,
  },
}
