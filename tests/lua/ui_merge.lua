-- The merge tab: what it shows, where it opens, and how its result answers.
-- Run: nvim --clean --headless --cmd 'set rtp^=.' -c 'luafile tests/lua/ui_merge.lua'
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local ui = dofile(here .. '/support/ui.lua')
local m = dofile(here .. '/support/merge.lua')
local T, equal = {}, ui.equal
local YOURS, THEIRS, BASE, RESULT, TAKEN = m.YOURS, m.THEIRS, m.BASE, m.RESULT, m.TAKEN
local asked, open, feed, merge, answers, is_clean, names =
  m.asked, m.open, m.feed, m.merge, m.answers, m.is_clean, m.names

T['it shows base, yours and theirs above a result, and the cursor is on the first conflict'] = ui.with_child(
  function(c)
    merge(c)
    equal(c.lua(names), { 'base', 'live', 'theirs', 'result', 'question' })
    equal(c.lua([[return vim.fn.winnr()]]), 4)
    equal(c.lua([[return result_lines()]]), RESULT)
    equal(c.lua([[return vim.api.nvim_win_get_cursor(0)]]), { 3, 0 })
    local got = c.lua([[
      local b = result()
      return { vim.bo[b].buftype, vim.bo[b].buflisted, vim.bo[b].swapfile, vim.bo[b].filetype, vim.bo[b].syntax,
        vim.bo[b].modified, vim.wo.diff, vim.api.nvim_buf_get_name(b):find('^bosun://merge/7/.*%.txt$') ~= nil }
    ]])
    equal(got, { 'acwrite', false, false, '', 'text', false, true, true })
    local marks = c.lua([[
      local ns = vim.api.nvim_get_namespaces()['bosun.result']
      local m = vim.api.nvim_buf_get_extmarks(result(), ns, 0, -1, { details = true })
      local signs = vim.api.nvim_get_namespaces()['bosun.result.signs']
      local s = vim.api.nvim_buf_get_extmarks(result(), signs, 0, -1, { details = true })
      return { #m, m[1][2], m[1][4].virt_text[1][1], #s, s[1][2], vim.trim(s[1][4].sign_text) }
    ]])
    equal(marks, { 1, 2, '  conflict 1 of 1', 1, 2, '!' })
    equal(c.lua([[return #sent_named('show_diff')]]), 1)
    equal(
      c.lua([[
        local out = {}
        for i = 1, 3 do
          local win = vim.fn.win_getid(i)
          out[i] = { vim.wo[win].diff, #vim.api.nvim_buf_get_lines(vim.fn.winbufnr(i), 0, -1, false) }
        end
        return out
      ]]),
      { { true, 10 }, { true, 10 }, { true, 10 } }
    )
  end
)

T['do takes the hunk of the other side, d2o ours, and writing answers with the text'] = ui.with_child(
  function(c)
    merge(c)
    c.input('do')
    equal(c.lua([[return result_lines()]]), TAKEN)
    c.input('d2o')
    equal(c.lua([[return result_lines()]]), RESULT)
    c.input('d1o')
    equal(c.lua([[return result_lines()[3] ]]), 'three')
    c.input('u')
    equal(c.lua([[return result_lines()]]), RESULT)
    c.input('d3o')
    equal(c.lua([[return result_lines()]]), TAKEN)
    equal(c.lua([[return vim.api.nvim_buf_get_lines(live, 0, -1, false)]]), YOURS, 'nothing lands here')
    c.input(':w<CR>')
    equal(answers(c), { {}, { { question = 7, lines = TAKEN, eol = true } } })
    c.eventually([[return vim.api.nvim_get_current_win() == home and #vim.api.nvim_list_tabpages() == 1]])
    equal(
      c.lua([[return { result() == nil, vim.deep_equal(vim.fn.winlayout(), layout), vim.v.errmsg }]]),
      { true, true, '' }
    )
    c.lua([[withdraw(7)]])
    equal(c.lua([[return #require('bosun.questions').pending()]]), 0)
  end
)

for _, keys in ipairs({
  ':wq<CR>',
  'ZZ',
  ':x<CR>',
  ':xit<CR>',
  ':exit<CR>',
  ':w!<CR>',
  ':write<CR>',
  ':up|w<CR>',
}) do
  for what, before in pairs({ ['as it came'] = '', ['edited'] = 'ccmine<Esc>' }) do
    T[keys .. ' answers with the result ' .. what] = ui.with_child(function(c)
      merge(c)
      c.input(before)
      c.input(keys)
      local lines = vim.deepcopy(RESULT)
      if before ~= '' then lines[3] = 'mine' end
      equal(answers(c), { {}, { { question = 7, lines = lines, eol = true } } })
      c.eventually([[return vim.api.nvim_get_current_win() == home and #vim.api.nvim_list_tabpages() == 1]])
      equal(c.lua([[return { result() == nil, vim.v.errmsg }]]), { true, '' })
    end)
  end
end

T['dp in the other windows puts a hunk into the result'] = ui.with_child(function(c)
  merge(c)
  c.input('<C-w>t3Gdp')
  equal(c.lua([[return result_lines()[3] ]]), 'three')
  c.input('<C-w>l3Gdp')
  equal(c.lua([[return result_lines()[3] ]]), 'YOURS 3')
  c.input('<C-w>l3Gdp')
  equal(c.lua([[return result_lines()]]), TAKEN)
  c.input('<C-w>j3Gu')
  equal(c.lua([[return result_lines()[3] ]]), 'YOURS 3')
  equal(
    c.lua([[return { vim.bo[result()].modified, vim.fn.maparg('dp', 'n', false, true).buffer == 1 }]]),
    { false, true }
  )
  equal(c.lua([[return vim.api.nvim_buf_get_lines(live, 0, -1, false)]]), YOURS)
  equal(
    c.lua([[return vim.api.nvim_buf_call(live, function() return vim.fn.maparg('dp', 'n') end)]]),
    '',
    'our key goes with the cursor'
  )
  c.lua([[vim.keymap.set('n', 'dp', 'gg', { buffer = live })]])
  c.input('<C-w>t<C-w>l')
  assert(c.lua([[return vim.fn.maparg('dp', 'n')]]) ~= 'gg', 'ours is there')
  c.input('<C-w>l')
  equal(
    c.lua([[return vim.api.nvim_buf_call(live, function() return vim.fn.maparg('dp', 'n') end)]]),
    'gg',
    "a key of the person's is back"
  )
end)

T[']c and [c go to changes, ]x and [x to conflicts'] = ui.with_child(function(c)
  asked(c)
  open(c)
  feed(c, 7, { conflicts = { { 2, 3 }, { 6, 6 } } })
  local function row() return c.lua([[return vim.api.nvim_win_get_cursor(0)[1] ]]) end
  c.lua([[vim.opt.diffopt:remove('linematch:40')]])
  c.input(']c')
  equal(row(), 9)
  c.input('[c')
  equal(row(), 3)
  c.input(']x')
  equal(row(), 7)
  c.input('[x')
  equal(row(), 3)
  equal(c.lua([[return vim.v.errmsg]]), '')
end)

T['a digit in the panel answers with that option'] = ui.with_child(function(c)
  merge(c)
  c.input('<C-w>b')
  c.input('2')
  equal(answers(c), { { { question = 7, option = 'theirs' } }, {} })
  c.eventually([[return vim.api.nvim_get_current_win() == home and #vim.api.nvim_list_tabpages() == 1]])
end)

T['digits in the result are counts, and nothing answers before all is there'] = ui.with_child(function(c)
  asked(c)
  open(c)
  c.input('<C-w>b')
  c.input('1')
  c.input('<C-w>k')
  c.input(':w<CR>')
  equal(answers(c), { {}, {} })
  feed(c)
  c.input('2j')
  equal(answers(c), { {}, {} })
  equal(c.lua([[return vim.fn.line('.')]]), 5)
end)

T['undo does not go behind what came, and :e starts again from it'] = ui.with_child(function(c)
  merge(c)
  c.input('uu')
  equal(c.lua([[return result_lines()]]), RESULT)
  c.input('ggdG')
  c.input('inew<Esc>')
  c.input(':e!<CR>')
  equal(c.lua([[return result_lines()]]), RESULT)
  c.input('ccmore<Esc>')
  c.input(':e<CR>')
  equal(c.lua([[return result_lines()]]), RESULT)
  equal(
    c.lua([[return { #require('bosun.result').conflicts(result()), vim.bo[result()].syntax }]]),
    { 1, 'text' }
  )
  c.input(':w<CR>')
  equal(answers(c), { {}, { { question = 7, lines = RESULT, eol = true } } })
  equal(c.lua([[return vim.v.errmsg]]), '')
end)

T['the end of the last line, NUL, odd bytes and nothing at all come back as they are'] = ui.with_child(
  function(c)
    asked(c)
    open(c)
    feed(c, 7, { eol = false, conflicts = {} }, { new = { 'nul\nhere', 'odd\255', '' } })
    equal(c.lua([[return result_lines()]]), { 'nul\0here', 'odd\255', '' })
    c.input(':w<CR>')
    equal(answers(c)[2], { { question = 7, lines = { 'nul\0here', 'odd\255', '' }, eol = false } })
    c.lua([[withdraw(7); ask_merge(7, 71, file)]])
    c.eventually([[return result() == nil]])
    open(c)
    feed(c)
    c.input('ggdG:w<CR>')
    equal(answers(c)[2][2], { question = 7, lines = {}, eol = true })
    c.lua([[withdraw(7); ask_merge(7, 72, file)]])
    c.eventually([[return result() == nil]])
    open(c)
    feed(c, 7, { conflicts = { { 0, 0 } } }, { new = {}, theirs = {} })
    c.input(':w<CR>')
    equal(answers(c)[2][3], { question = 7, lines = {}, eol = true })
  end
)

T['a file that is not open is shown from the text that came'] = ui.with_child(function(c)
  asked(c)
  open(c)
  c.lua(
    'feed_merge(7, ...)',
    { path = '/p/b.lua', conflicts = { { 2, 3 } }, from_disk = true },
    { old = YOURS, base = BASE, theirs = THEIRS, new = RESULT }
  )
  equal(c.lua(names), { 'base', 'yours', 'theirs', 'result', 'question' })
  equal(c.lua([[return vim.api.nvim_buf_get_lines(vim.fn.winbufnr(2), 0, -1, false)]]), YOURS)
  equal(
    c.lua(
      [[return { vim.bo[vim.fn.winbufnr(2)].syntax, vim.wo[vim.fn.win_getid(3)].winbar:match('on disk') }]]
    ),
    {
      'lua',
      'on disk',
    }
  )
  c.input('do')
  c.input(':w<CR>')
  equal(answers(c)[2], { { question = 7, lines = TAKEN, eol = true } })
end)

T['a question opens nothing and takes no focus'] = ui.with_child(function(c)
  asked(c)
  c.lua([[ask_merge(8, 80, file)]])
  c.lua('vim.wait(200)')
  equal(
    c.lua(
      [[return { #vim.api.nvim_list_tabpages(), vim.api.nvim_get_current_win() == home, result() == nil }]]
    ),
    { 1, true, true }
  )
end)

T['opened again it goes to the same tab, and texts that come twice change nothing'] = ui.with_child(
  function(c)
    merge(c)
    c.input('ccmine<Esc>')
    c.lua([[vim.api.nvim_set_current_win(home); require('bosun.diff').open(7, 0)]])
    feed(c)
    equal(
      c.lua([[return { #vim.api.nvim_list_tabpages(), vim.api.nvim_get_current_buf() == result() }]]),
      { 2, true }
    )
    equal(c.lua([[return result_lines()[3] ]]), 'mine')
  end
)

T['it fits a small screen'] = ui.with_child(function(c)
  c.lua([[vim.o.columns, vim.o.lines = 60, 24]])
  merge(c)
  equal(c.lua(names), { 'base', 'live', 'theirs', 'result', 'question' })
  local sizes = c.lua([[
    return vim.tbl_map(function(w)
      return { vim.api.nvim_win_get_width(w), vim.api.nvim_win_get_height(w) }
    end, vim.api.nvim_tabpage_list_wins(0))
  ]])
  for i, size in ipairs(sizes) do
    assert(size[1] >= 18 and size[2] >= 3, ('window %d is %d by %d'):format(i, size[1], size[2]))
  end
  c.input('do')
  c.input(':w<CR>')
  equal(answers(c)[2][1].lines, TAKEN)
  equal(c.lua([[return vim.v.errmsg]]), '')
end)

T['a screen that is too small says so and leaves nothing behind'] = ui.with_child(function(c)
  asked(c)
  c.lua([[vim.o.columns, vim.o.lines = 20, 5]])
  open(c)
  local left = c.lua([[return { #vim.api.nvim_list_tabpages(), result() == nil, #said > 0, vim.v.errmsg }]])
  if left[1] == 1 then
    equal(left, { 1, true, true, '' })
    c.lua([[_G.tab = -1]])
  end
  c.lua([[vim.o.columns, vim.o.lines = 80, 24; require('bosun.merge').hide()]])
  is_clean(c, 'small')
end)

T['it opens from a window with winfixbuf, from one in diff mode, from a float and from a terminal'] = ui.with_child(
  function(c)
    asked(c)
    for name, place in pairs({
      winfixbuf = [[vim.wo.winfixbuf = true]],
      diff = [[vim.cmd('diffthis | vnew | diffthis')]],
      float = [[vim.api.nvim_open_win(live, true, { relative = 'editor', row = 1, col = 1, width = 9, height = 3 })]],
      terminal = [[vim.cmd('new'); vim.fn.jobstart({ 'cat' }, { term = true }); vim.cmd('startinsert')]],
    }) do
      c.lua(place .. [[; _G.there = vim.api.nvim_get_current_win()]])
      c.lua('vim.wait(20)')
      open(c)
      feed(c)
      equal(c.lua(names), { 'base', 'live', 'theirs', 'result', 'question' }, name)
      equal(c.lua([[return vim.wo[vim.fn.win_getid(5)].diff]]), false, name)
      equal(c.mode(), 'n', name)
      c.input('do')
      equal(c.lua([[return result_lines()]]), TAKEN, name)
      c.input('uq')
      c.eventually([[return vim.api.nvim_get_current_win() == there]], name)
      c.lua([[
        vim.cmd('stopinsert')
        if vim.bo.buftype == 'terminal' then vim.cmd('bwipeout!') end
        vim.api.nvim_set_current_win(home)
        vim.wo.winfixbuf = false
        vim.cmd('diffoff! | only')
      ]])
    end
    equal(c.lua([[return vim.v.errmsg]]), '')
  end
)

T['in the command-line window it says why not'] = ui.with_child(function(c)
  asked(c)
  c.input('q:')
  open(c)
  equal(c.lua([[return { #vim.api.nvim_list_tabpages(), vim.fn.getcmdwintype(), #said }]]), { 1, ':', 1 })
  c.input(':q<CR>')
  equal(c.lua([[return vim.v.errmsg]]), '')
end)

T['unsaved text of the person shows as theirs and is neither written nor lost'] = ui.with_child(function(c)
  asked(c)
  c.input('Gotyped<Esc>')
  open(c)
  feed(c)
  c.input('do')
  c.input(':w<CR>')
  c.eventually([[return vim.api.nvim_get_current_win() == home]])
  equal(c.lua([[return { vim.bo[live].modified, vim.api.nvim_buf_get_lines(live, -2, -1, false)[1] }]]), {
    true,
    'typed',
  })
  equal(c.lua([[return vim.fn.readfile(file)]]), YOURS)
end)

return ui.main(T)
