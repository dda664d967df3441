-- The review tab: what it compares, what its keys do, and that it leaves a person's windows as they were.
local here = vim.fs.dirname(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p'))
local hunks = dofile(here .. '/support/review.lua')
local same = require('editor').same

local BASE = { 'l1', 'l2', 'old 3', 'l4', 'l5', 'l8', 'l9', 'gone a', 'gone b', 'l10', 'l11', 'l12' }

-- The texts as the sidecar would send them.
local function texts(e, path, buf, base, live)
  e:lua(
    [[
    local path, buf, base, live = ...
    require('bosun.inbox').recv('review_texts', {
      path = path, buf = buf, base = base, live = live, created = false,
    })
  ]],
    path,
    buf,
    base,
    live
  )
end

-- Options of all windows, tabs, windows and their sizes, to compare.
local function layout(e)
  return e:lua([[
    local out = {}
    for _, tab in ipairs(vim.api.nvim_list_tabpages()) do
      for _, win in ipairs(vim.api.nvim_tabpage_list_wins(tab)) do
        local options = { tab = tab, buf = vim.api.nvim_win_get_buf(win), height = vim.api.nvim_win_get_height(win),
          width = vim.api.nvim_win_get_width(win), here = win == vim.api.nvim_get_current_win() }
        for name, info in pairs(vim.api.nvim_get_all_options_info()) do
          if info.scope == 'win' and name ~= 'scroll' then
            options[name] = vim.api.nvim_get_option_value(name, { win = win, scope = 'local' })
          end
        end
        out[tostring(win)] = options
      end
    end
    return out
  ]])
end

local function open(e)
  local buf, path = hunks.open(e)
  e:cmd('Bosun review')
  texts(e, path, buf, BASE)
  return buf, path
end

local specs = {
  {
    'it compares the base with the live text, in a tab of its own, at once',
    function(e)
      local buf, path = hunks.open(e)
      local before = vim.uv.hrtime()
      e:cmd('Bosun review')
      texts(e, path, buf, BASE)
      e:cmd('redraw')
      assert((vim.uv.hrtime() - before) / 1e6 < 200, 'it took too long')
      local got = e:lua([[
    local left, right = vim.fn.win_getid(1), vim.fn.win_getid(2)
    local base = vim.api.nvim_win_get_buf(left)
    return {
      #vim.api.nvim_list_tabpages(), vim.api.nvim_win_get_buf(right), vim.wo[left].diff, vim.wo[right].diff,
      vim.api.nvim_buf_get_lines(base, 0, -1, false), vim.api.nvim_get_current_win() == right,
      vim.api.nvim_win_get_cursor(right)[1],
      { vim.bo[base].buftype, vim.bo[base].buflisted, vim.bo[base].swapfile, vim.bo[base].modifiable },
    }
  ]])
      same(got, { 2, buf, true, true, BASE, true, 3, { 'nofile', false, false, false } })
      same(e:sent('review_texts'), { { path = path } })
      assert(e:lua([[return vim.wo.winbar]]):find('3 hunks', 1, true))
    end,
  },
  {
    'keys of the review are in the file only while the cursor is in the review',
    function(e)
      local buf = open(e)
      local maps = [[
    local out = {}
    for _, m in ipairs(vim.api.nvim_buf_get_keymap(..., 'n')) do out[#out + 1] = m.lhs end
    table.sort(out)
    return table.concat(out, ' ')
  ]]
      same(e:lua(maps, buf), '[f ]f dp g? q')
      e:cmd('tabnext')
      same(e:lua(maps, buf), '')
      e:cmd('tabnext')
      same(e:lua(maps, buf), '[f ]f dp g? q')
    end,
  },
  {
    'keys of the person in that buffer come back',
    function(e)
      local buf, path = hunks.open(e)
      e:cmd([[nnoremap <buffer> q :echo 'mine'<CR>]])
      e:cmd('Bosun review')
      texts(e, path, buf, BASE)
      same(e:lua([[return vim.fn.maparg('q', 'n', false, true).desc]]), 'Close the review')
      e:keys('q', 'return #vim.api.nvim_list_tabpages() == 1')
      same(e:lua([[return vim.fn.maparg('q', 'n')]]), [[:echo 'mine'<CR>]])
    end,
  },
  {
    'do takes the lines of the base, dp keeps the hunk',
    function(e)
      local buf, path = open(e)
      e:keys('3Gdo', [[return vim.api.nvim_buf_get_lines(0, 2, 3, true)[1] == 'old 3']])
      same(e:lines(buf)[3], 'old 3')
      e:keys('6Gdp', [[return sent[#sent].name == 'review_verdict']])
      same(e:sent('review_verdict'), { { verdict = 'keep', scope = 'hunk', path = path, id = 2 } })
    end,
  },
  {
    'on the left, dp puts the lines of the base and do keeps the hunk',
    function(e)
      local buf, path = open(e)
      e:keys(
        '<C-w>h3Gdp',
        [[return vim.api.nvim_buf_get_lines(vim.fn.winbufnr(2), 2, 3, true)[1] == 'old 3']]
      )
      same(e:lines(buf)[3], 'old 3')
      e:keys('8Gdo', [[return sent[#sent].name == 'review_verdict']])
      same(e:sent('review_verdict'), { { verdict = 'keep', scope = 'hunk', path = path, id = 3 } })
    end,
  },
  {
    'the base follows verdicts while it is shown, and the cursor stays',
    function(e)
      local buf, path = open(e)
      e:cmd('11')
      local list = hunks.hunks()
      table.remove(list, 1)
      hunks.tell(e, buf, list)
      same(#e:sent('review_texts'), 2)
      local base = vim.deepcopy(BASE)
      base[3] = 'l3'
      texts(e, path, buf, base)
      same(
        e:lua([[return { vim.api.nvim_win_get_cursor(0)[1], vim.fn.getbufline(vim.fn.winbufnr(1), 3)[1] }]]),
        { 11, 'l3' }
      )
      hunks.tell(e, buf, {})
      assert(e:lua('return vim.wo.winbar'):find('nothing left', 1, true))
    end,
  },
  {
    'several changes in one breath ask for the texts once more, not once each',
    function(e)
      local buf, path = open(e)
      for _ = 1, 5 do
        hunks.tell(e, buf, hunks.hunks())
      end
      same(#e:sent('review_texts'), 2)
      texts(e, path, buf, BASE)
      e:eventually(
        [[return vim.iter(sent):filter(function(s) return s.name == 'review_texts' end):nth(3) ~= nil]]
      )
    end,
  },
  {
    'the next file has its own texts, and files without hunks are passed over',
    function(e)
      local buf = open(e)
      local names = {}
      for i, name in ipairs({ 'b.txt', 'c.txt' }) do
        names[i] = e:file(name, 'x\ny\n')
        e:lua(
          [[require('bosun.inbox').recv('review', {
        path = ..., tick = 0, created = false, gone = false, hunks = { select(2, ...) } })]],
          names[i],
          hunks.hunk(10 + i, 0, 1, { 'z' })
        )
      end
      e:cmd('Bosun review')
      e:lua(
        [[require('bosun.inbox').recv('review', { path = ..., tick = 0, gone = true, hunks = {} })]],
        names[1]
      )
      e:keys(']f', [[return sent[#sent].message.path:find('c.txt', 1, true) ~= nil]])
      texts(e, names[2], nil, { 'z', 'y' }, { 'x', 'y' })
      local shown = [[
    local out = {}
    for i = 1, 2 do out[i] = { vim.fn.getbufline(vim.fn.winbufnr(i), 1, '$'), vim.wo[vim.fn.win_getid(i)].diff } end
    return out
  ]]
      same(e:lua(shown), { { { 'z', 'y' }, true }, { { 'x', 'y' }, true } })
      e:keys('[f', [[return sent[#sent].message.path:find('a.txt', 1, true) ~= nil]])
      same(e:lua('return #vim.api.nvim_list_tabpages()'), 2)
      e:keys('q', 'return #vim.api.nvim_list_tabpages() == 1')
      same(e:lua('return vim.api.nvim_get_current_buf()'), buf)
    end,
  },
  {
    'nothing to review is said, and no tab opens',
    function(e)
      e:cmd('Bosun review')
      e:eventually([[return vim.fn.execute('messages'):find('nothing waits for a review') ~= nil]])
      same(e:lua('return #vim.api.nvim_list_tabpages()'), 1)
    end,
  },
  {
    'in the command-line window it says why not',
    function(e)
      hunks.open(e)
      e:keys('q:', [[return vim.fn.getcmdwintype() ~= '']])
      same(
        e:lua([[local ok, err = require('bosun').review() return { ok or false, err }]]),
        { false, 'leave the command-line window first' }
      )
    end,
  },
  -- B56
  {
    'buffers of the review are no files: not listed, not swapped, not saved, and in the way of nobody',
    function(e)
      e:cmd('set swapfile')
      e:lua([[
    _G.types = 0
    vim.api.nvim_create_autocmd('FileType', { callback = function() types = types + 1 end })
  ]])
      local buf, path = hunks.open(e)
      local seen = e:lua('return _G.types')
      e:cmd('Bosun review')
      texts(e, path, buf, BASE)
      local base = e:lua('return vim.fn.winbufnr(1)')
      same(e:lua('return _G.types'), seen, 'no file type is set')
      same(
        e:lua(
          [[local b = vim.bo[...] return { b.buftype, b.buflisted, b.swapfile, b.modified, b.filetype }]],
          base
        ),
        { 'nofile', false, false, false, '' }
      )
      e:cmd('wall')
      assert(not e:cmd('ls'):find('bosun://', 1, true))
      same(e:lua([[return require('bosun.buffers').is_own(...)]], base), true)
      vim.rpcnotify(e.chan, 'nvim_command', 'qa')
      same(vim.fn.jobwait({ e.chan }, 3000)[1], 0)
    end,
  },
}

-- Ways to close the tab, by the name of the test; each with a diff of the person's own open.
for _, case in ipairs({
  { 'after q windows, options and layout are as before', 'q' },
  { 'after q on the left windows, options and layout are as before', '<C-w>hq' },
  { 'after :q windows, options and layout are as before', ':q<CR>' },
  { 'after :only windows, options and layout are as before', ':only<CR>' },
  { 'after :tabclose windows, options and layout are as before', ':tabclose<CR>' },
  { 'after <C-w>c on the left windows, options and layout are as before', '<C-w>h<C-w>c' },
}) do
  local function body(e)
    local buf, path = hunks.open(e)
    e:cmd('vsplit ' .. e:file('other.txt', 'l1\nl2\nother\n'))
    e:cmd('windo diffthis')
    e:cmd('botright 3split | enew')
    e:cmd('setlocal nowrap foldmethod=marker number')
    local before = layout(e)
    e:lua([[require('bosun').review({ file = ... })]], path)
    texts(e, path, buf, BASE)
    e:keys(case[2], 'return #vim.api.nvim_list_tabpages() == 1')
    same(layout(e), before)
    same(e:sent('review_verdict'), {}, 'closing decides nothing')
    same(e:lua([[return vim.fn.maparg('q', 'n') .. vim.fn.maparg('dp', 'n')]]), '')
  end
  specs[#specs + 1] = { case[1], body }
end

-- B47: what the person has open, by the name of the test.
for _, case in ipairs({
  {
    'the review opens beside a tree that fixes its buffer',
    'enew | setlocal buftype=nofile winfixbuf winfixwidth',
  },
  { 'the review opens beside the chat alone', [[lua require('bosun').open(); vim.cmd('only!')]] },
  { 'the review opens beside a terminal', 'terminal' },
  {
    'the review opens from a float',
    'lua vim.api.nvim_open_win(0, true, { relative = "editor", row = 1, col = 1, width = 9, height = 3 })',
  },
  { 'the review opens on a screen of a few lines', 'set lines=5 columns=20' },
}) do
  local function body(e)
    local buf, path = hunks.open(e)
    e:cmd('only')
    e:lua([[vim.cmd(...)]], case[2])
    local before = layout(e)
    e:lua([[require('bosun').review({ file = ... })]], path)
    texts(e, path, buf, BASE)
    same(e:lua([[return { #vim.api.nvim_list_tabpages(), vim.wo.diff, vim.v.errmsg }]]), { 2, true, '' })
    same(e:lua([[return require('bosun').keep({ file = ..., scope = 'file' })]], path), true)
    e:lua([[require('bosun.review_tab').hide()]])
    e:eventually('return #vim.api.nvim_list_tabpages() == 1')
    local after = layout(e)
    for win, options in pairs(before) do
      after[win].here, options.here = nil, nil
      -- Bars of ours say what is so now.
      after[win].winbar, options.winbar = nil, nil
      same(after[win], options)
    end
  end
  specs[#specs + 1] = { case[1], body }
end

return specs
