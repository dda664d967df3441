-- Hunks in a person's buffers: how they look, how one gets to them, and which verdict is sent.
local here = vim.fs.dirname(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p'))
local hunks = dofile(here .. '/support/review.lua')
local same = require('editor').same

local function row(e) return e:lua('return vim.api.nvim_win_get_cursor(0)[1]') end

local ALL = {
  '2 above old| 3',
  '2 word 0-1',
  '2-2 sign ┃ BosunSignChanged BosunHunkChanged',
  '5-6 sign ┃ BosunSignAdded BosunHunkAdded',
  '8-8 sign ▁ BosunSignRemoved -',
  '9 above gone a',
  '9 above gone b',
}

local specs = {
  {
    'a hunk shows its lines by a sign, what was removed above them, and the words that changed',
    function(e)
      local buf = hunks.open(e)
      same(hunks.drawn(e, buf), ALL)
    end,
  },
  {
    'hunks that are gone leave nothing drawn',
    function(e)
      local buf = hunks.open(e)
      hunks.tell(e, buf, {})
      same(hunks.drawn(e, buf), {})
    end,
  },
  {
    'lines removed at the end of a file stand below its last line',
    function(e)
      local buf = hunks.open(e)
      hunks.tell(e, buf, { hunks.hunk(9, 12, 12, { 'was last' }) })
      same(hunks.drawn(e, buf), { '11 below was last', '11-11 sign ▁ BosunSignRemoved -' })
      same(
        e:lua(
          [[local h = require('bosun.review').placed(require('bosun.review').of(...))[1]
    return { h.first, h.last }]],
          buf
        ),
        { 12, 12 }
      )
    end,
  },
  {
    'lines removed above the first line are in sight',
    function(e)
      local buf = hunks.open(e)
      hunks.tell(e, buf, { hunks.hunk(9, 0, 0, { 'was first', 'was second' }) })
      same(e:lua('return vim.fn.winsaveview().topfill'), 2)
    end,
  },
  {
    'many removed lines are cut, and it is said how many more there are',
    function(e)
      local buf = hunks.open(e)
      local removed = {}
      for i = 1, 1000 do
        removed[i] = 'r' .. i
      end
      hunks.tell(e, buf, { hunks.hunk(9, 1, 2, removed) })
      local drawn = hunks.drawn(e, buf)
      same(#drawn, 41, 'forty virtual lines and a sign')
      assert(vim.tbl_contains(drawn, '1 above … 961 more lines'), vim.inspect(drawn))
    end,
  },
  {
    'a removed line with tabs, control bytes and a NUL is drawn without an error',
    function(e)
      local buf = hunks.open(e)
      hunks.tell(e, buf, { hunks.hunk(9, 1, 2, { 'a\tb\27[31m\nc', '', ('x'):rep(100000) }) })
      e:cmd('redraw!')
      same(e:lua('return vim.v.errmsg'), '')
    end,
  },
  {
    'a change of an unknown author is drawn differently, and says so',
    function(e)
      local buf = hunks.open(e)
      hunks.tell(e, buf, { hunks.hunk(9, 1, 2, { 'x' }, { author = 'unknown' }) })
      same(hunks.drawn(e, buf), {
        '1 above x',
        '1 note changed during a turn, author unknown',
        '1-1 sign ┆ BosunSignUnknown BosunHunkUnknown',
      })
    end,
  },
  {
    'hunks of a text that is a little older stand where its lines are now',
    function(e)
      local buf = hunks.open(e)
      local tick = e:lua('return vim.b[...].changedtick', buf)
      e:lua([[vim.api.nvim_buf_set_lines(..., 0, 0, true, { 'new', 'new' })]], buf)
      e:lua([[vim.api.nvim_buf_set_lines(..., 9, 9, true, { 'new' })]], buf)
      hunks.tell(e, buf, { hunks.hunk(11, 2, 3, { 'old 3' }), hunks.hunk(12, 9, 10, { 'x' }) }, tick)
      same(hunks.drawn(e, buf), {
        '12 above x',
        '12-12 sign ┃ BosunSignChanged BosunHunkChanged',
        '4 above old 3',
        '4-4 sign ┃ BosunSignChanged BosunHunkChanged',
      })
    end,
  },
  {
    'hunks that stay are not drawn again when others come and go',
    function(e)
      local buf = hunks.open(e)
      local ids = [[
    local ns, out = vim.api.nvim_get_namespaces()['bosun.review'], {}
    for _, m in ipairs(vim.api.nvim_buf_get_extmarks(..., ns, { 5, 0 }, { 5, -1 }, {})) do out[#out + 1] = m[1] end
    return out
  ]]
      local before = e:lua(ids, buf)
      local list = hunks.hunks()
      table.remove(list, 1)
      hunks.tell(e, buf, list)
      same(e:lua(ids, buf), before)
      same(#hunks.drawn(e, buf), #ALL - 3)
    end,
  },
  {
    'a buffer that is loaded anew, or that is opened later, shows its hunks',
    function(e)
      local buf, path = hunks.open(e)
      e:cmd('edit!')
      e:eventually(([[return #vim.api.nvim_buf_get_extmarks(%d, vim.api.nvim_get_namespaces()['bosun.review'],
        0, -1, {}) > 0]]):format(buf))
      same(hunks.drawn(e, buf), ALL)
      same(e:lua('return #vim.lsp.get_clients({ bufnr = ... })', buf), 1)
      e:cmd('bwipeout')
      same(e:lua([[return require('bosun.review').file(...).buf == nil]], path), true)
      local again = e:open(path)
      e:eventually(([[return #vim.api.nvim_buf_get_extmarks(%d, vim.api.nvim_get_namespaces()['bosun.review'],
        0, -1, {}) > 0]]):format(again))
      same(hunks.drawn(e, again), ALL)
    end,
  },
  {
    'a hidden buffer is drawn when a window shows it',
    function(e)
      local buf = hunks.open(e)
      e:cmd('hide enew')
      hunks.tell(e, buf, { hunks.hunk(9, 4, 5, {}) })
      assert(#hunks.drawn(e, buf) == #ALL, 'nothing is drawn while it is hidden')
      e:cmd('buffer ' .. buf)
      same(hunks.drawn(e, buf), { '4-4 sign ┃ BosunSignAdded BosunHunkAdded' })
    end,
  },
  {
    'while a window compares the text, only signs are drawn, and all comes back at the place it moved to',
    function(e)
      local buf = hunks.open(e)
      e:cmd('diffthis')
      local signs = function()
        return vim.deep_equal(hunks.drawn(e, buf), {
          '2-2 sign ┃ BosunSignChanged -',
          '5-6 sign ┃ BosunSignAdded -',
          '8-8 sign ▁ BosunSignRemoved -',
        })
      end
      assert(vim.wait(2000, signs, 5), vim.inspect(hunks.drawn(e, buf)))
      e:lua([[vim.api.nvim_buf_set_lines(..., 0, 0, true, { 'new' })]], buf)
      e:cmd('diffoff')
      local back = function() return vim.tbl_contains(hunks.drawn(e, buf), '10 above gone a') end
      assert(vim.wait(2000, back, 5), vim.inspect(hunks.drawn(e, buf)))
      same(#hunks.drawn(e, buf), #ALL)
    end,
  },
  {
    'three thousand hunks of three hundred files come without holding up the editor',
    function(e)
      local longest = e:lua([[
    local longest = 0
    for f = 1, 300 do
      local hunks = {}
      for h = 1, 10 do
        hunks[h] = {
          id = f * 10 + h, session = 's1', turn = 1, author = 'agent', first = h * 10, last = h * 10 + 3,
          removed = { 'a', 'b' }, live_words = {}, removed_words = {},
        }
      end
      local buf = vim.fn.bufadd(vim.fn.tempname())
      vim.fn.bufload(buf)
      local before = vim.uv.hrtime()
      require('bosun.inbox').recv('review', {
        path = vim.api.nvim_buf_get_name(buf), buf = buf, tick = 1, created = false, gone = false, hunks = hunks,
      })
      longest = math.max(longest, vim.uv.hrtime() - before)
    end
    return longest / 1e6
  ]])
      assert(longest < 100, ('%.1f ms'):format(longest))
    end,
  },
  {
    'motions go to the next and the previous hunk, by count, and around the end as wrapscan says',
    function(e)
      hunks.open(e)
      e:cmd('nmap ]v <Plug>(bosun-next-hunk)')
      e:cmd('nmap [v <Plug>(bosun-prev-hunk)')
      for _, step in ipairs({
        { ']v', 3 },
        { ']v', 6 },
        { '[v', 3 },
        { '2]v', 10 },
        { ']v', 3 },
        { '[v', 10 },
      }) do
        e:cmd('normal ' .. step[1])
        same(row(e), step[2], step[1])
      end
      e:cmd('set nowrapscan')
      e:cmd('normal ]v')
      same(row(e), 10)
      e:cmd([[exe "normal! \<C-o>"]])
      same(row(e), 3, 'the jump list knows where one was')
    end,
  },
  {
    'the opt-in keys are a pair that nothing of Neovim maps',
    function(e)
      same(e:lua([[return { vim.fn.maparg(']v', 'n'), vim.fn.maparg('[v', 'n') }]]), { '', '' })
      hunks.open(e)
      e:lua([[require('bosun').setup({ keys = { hunks = true, keep = '<leader>k' } })]])
      e:cmd('normal ]v')
      same(row(e), 3)
      e:cmd([[exe "normal \\k"]])
      same(e:sent('review_verdict')[1].verdict, 'keep')
    end,
  },
  {
    'keep and reject mean the hunk at the cursor',
    function(e)
      local _, path = hunks.open(e)
      e:cmd('nmap K <Plug>(bosun-keep)')
      e:cmd('nmap R <Plug>(bosun-reject)')
      e:cmd('normal 6GK')
      e:cmd('normal 3GR')
      -- Above a hunk that only took lines out, and below.
      e:cmd('normal 9GK')
      e:cmd('normal 10GK')
      same(e:sent('review_verdict'), {
        { verdict = 'keep', scope = 'hunk', path = path, id = 2 },
        { verdict = 'reject', scope = 'hunk', path = path, id = 1 },
        { verdict = 'keep', scope = 'hunk', path = path, id = 3 },
        { verdict = 'keep', scope = 'hunk', path = path, id = 3 },
      })
    end,
  },
  {
    'away from any hunk nothing is sent, and it is said',
    function(e)
      hunks.open(e)
      e:cmd('1')
      e:cmd('Bosun keep')
      e:eventually([[return vim.fn.execute('messages'):find('no hunk at the cursor') ~= nil]])
      same(e:sent('review_verdict'), {})
    end,
  },
  {
    'a hunk that moved with a later edit is still the one at the cursor',
    function(e)
      local buf, path = hunks.open(e)
      e:lua([[vim.api.nvim_buf_set_lines(..., 0, 0, true, { 'new', 'new' })]], buf)
      e:cmd('8')
      e:cmd('Bosun reject')
      same(e:sent('review_verdict'), { { verdict = 'reject', scope = 'hunk', path = path, id = 2 } })
    end,
  },
  {
    'a range means its hunks: one by its id, several or a part by lines and tick',
    function(e)
      local buf, path = hunks.open(e)
      local tick = e:lua('return vim.b[...].changedtick', buf)
      e:cmd('5,8Bosun keep')
      e:cmd('6,6Bosun reject')
      e:cmd('%Bosun keep hunk')
      same(e:sent('review_verdict'), {
        { verdict = 'keep', scope = 'hunk', path = path, id = 2 },
        { verdict = 'reject', scope = 'hunk', path = path, first = 5, last = 6, tick = tick },
        { verdict = 'keep', scope = 'hunk', path = path, first = 0, last = 12, tick = tick },
      })
    end,
  },
  {
    'a selection is a range',
    function(e)
      local buf, path = hunks.open(e)
      e:cmd('xmap R <Plug>(bosun-reject)')
      e:keys(
        '3GVjjjR',
        [[return vim.api.nvim_get_mode().mode == 'n' and #sent > 0 and sent[#sent].name == 'review_verdict']]
      )
      local tick = e:lua('return vim.b[...].changedtick', buf)
      same(
        e:sent('review_verdict'),
        { { verdict = 'reject', scope = 'hunk', path = path, first = 2, last = 6, tick = tick } }
      )
    end,
  },
  {
    'file, turn, session and all say what they mean',
    function(e)
      local _, path = hunks.open(e)
      e:cmd('6')
      e:cmd('Bosun keep file')
      e:cmd('Bosun keep turn')
      e:cmd('1')
      e:lua([[require('bosun').reject({ scope = 'turn', session = 's1' })]])
      e:cmd('Bosun reject all')
      e:lua([[require('bosun').reject({ scope = 'session', session = 's1' })]])
      e:cmd('Bosun review undo')
      same(e:sent('review_verdict'), {
        { verdict = 'keep', scope = 'file', path = path },
        { verdict = 'keep', scope = 'turn', session = 's1', turn = 2 },
        { verdict = 'reject', scope = 'turn', session = 's1', turn = 2 },
        { verdict = 'reject', scope = 'all' },
        { verdict = 'reject', scope = 'session', session = 's1' },
      })
      same(#e:sent('review_undo'), 1)
    end,
  },
  {
    'the text object is the lines of the hunk',
    function(e)
      local buf = hunks.open(e)
      e:cmd('omap ih <Plug>(bosun-hunk)')
      e:cmd('normal 6Gdih')
      same(vim.list_slice(e:lines(buf), 5, 7), { 'l5', 'l8', 'l9' })
    end,
  },
  {
    'all hunks are in a new quickfix list, and the lists before it stay',
    function(e)
      hunks.open(e)
      e:lua([[vim.fn.setqflist({}, ' ', { title = 'mine', items = { { text = 'a' } } })]])
      e:cmd('Bosun review quickfix')
      local got = e:lua([[
    local list = vim.fn.getqflist({ title = 1, items = 1, nr = 0 })
    local out = {}
    for _, item in ipairs(list.items) do out[#out + 1] = ('%d-%d %s'):format(item.lnum, item.end_lnum, item.text) end
    return { list.title, out, vim.fn.getqflist({ nr = list.nr - 1, title = 1 }).title }
  ]])
      same(got, {
        'Bosun: hunks to review',
        { '3-3 +1 -1  s1 turn 1: l3', '6-7 +2 -0  s1 turn 2: l6', '10-10 +0 -2  s1 turn 1: gone a' },
        'mine',
      })
    end,
  },
  {
    'the status line counts the hunks, and nothing when there are none',
    function(e)
      local buf = hunks.open(e)
      same(e:lua([[return require('bosun').statusline()]]), '±3')
      hunks.tell(e, buf, {})
      same(e:lua([[return require('bosun').statusline()]]), '')
    end,
  },
  {
    'a lost sidecar takes its hunks from the screen',
    function(e)
      local buf = hunks.open(e)
      e:lua([[require('bosun.review').lost()]])
      same(hunks.drawn(e, buf), {})
      same(e:lua([[return require('bosun.review').paths()]]), {})
    end,
  },
}

return specs
