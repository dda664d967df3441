-- Leaving the merge tab: nothing but writing its result answers, and what was begun is kept.
-- Run: nvim --clean --headless --cmd 'set rtp^=.' -c 'luafile tests/lua/ui_merge_leave.lua'
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local ui = dofile(here .. '/support/ui.lua')
local m = dofile(here .. '/support/merge.lua')
local T, equal = {}, ui.equal
local THEIRS, RESULT = m.THEIRS, m.RESULT
local open, feed, merge, answers, is_clean = m.open, m.feed, m.merge, m.answers, m.is_clean

for name, keys in pairs({
  [':q'] = ':q<CR>',
  [':q!'] = ':q!<CR>',
  ['q'] = 'q',
  ['q in the panel'] = '<C-w>bq',
  ['q in the base'] = '<C-w>tq',
  ['ZQ'] = 'ZQ',
  [':bd'] = ':bd<CR>',
  [':bw'] = ':bw<CR>',
  [':only'] = ':only<CR>',
  [':only in the panel'] = '<C-w>b:only<CR>',
  [':tabclose'] = ':tabclose<CR>',
  ['<C-w>c'] = '<C-w>c',
  ['<C-w>o'] = '<C-w>o',
  ['<C-w>T'] = '<C-w>T',
  ['<C-w>T in the live window'] = '<C-w>t<C-w>l<C-w>T:tabclose<CR>',
  [':q in the live window'] = '<C-w>t<C-w>l:q<CR>',
  [':tabonly elsewhere'] = 'gt:tabonly<CR>',
}) do
  for what, before in pairs({ untouched = '', edited = '3Gccmine<Esc>' }) do
    local title = ('leaving it %s by %s leaves the question pending and the result kept'):format(what, name)
    T[title] = ui.with_child(function(c)
      merge(c)
      c.input(before)
      c.input(keys)
      is_clean(c, name)
      equal(c.lua([[return vim.deep_equal(vim.fn.winlayout(), layout)]]), true, 'layout')
      c.lua([[vim.api.nvim_set_current_win(home)]])
      open(c)
      feed(c)
      local lines = vim.deepcopy(RESULT)
      if before ~= '' then lines[3] = 'mine' end
      equal(c.lua([[return result_lines()]]), lines, 'kept')
      equal(c.lua([[return vim.bo[result()].modified]]), false)
      c.input(':w<CR>')
      equal(answers(c), { {}, { { question = 7, lines = lines, eol = true } } })
    end)
  end
end

for _, keys in ipairs({
  ':qa<CR>',
  ':wqa<CR>',
  ':xa<CR>',
  ':confirm qa<CR>',
  '<C-w>t3G:diffput RESULT<CR>:qa<CR>',
  ':wall|qa<CR>',
}) do
  T['an edited result does not hold up ' .. keys] = ui.with_child(function(c)
    merge(c)
    c.input('ccmine<Esc>')
    -- Changed from another window by a command that is not ours.
    if keys:find('diffput') then
      keys = ('<C-w>t3G:diffput %d<CR>:qa<CR>'):format(c.lua([[return result()]]))
    end
    pcall(c.input, keys)
    assert(vim.wait(3000, function() return c.code ~= nil end, 10), 'it quits')
    equal(c.code, 0)
  end)
end

T['writing all, or what was changed, answers nothing'] = ui.with_child(function(c)
  merge(c)
  c.input('ccmine<Esc>')
  for _, keys in ipairs({ ':wall<CR>', ':update<CR>', '<C-w>t:wall<CR><C-w>j' }) do
    c.input(keys)
  end
  c.input(':set autowriteall<CR>gtgT')
  equal(answers(c), { {}, {} })
  equal(c.lua([[return { #vim.api.nvim_list_tabpages(), vim.v.errmsg }]]), { 2, '' })
end)

T['writing elsewhere, a part, or appending answers nothing and writes nothing'] = ui.with_child(function(c)
  merge(c)
  local other = vim.fn.tempname()
  for _, keys in ipairs({ ':w %s', ':w! %s', ':1,2w %s', ':1,2w!', ':w >> %s', ':w! >> %s', ':x %s' }) do
    c.lua([[said = {}]])
    c.input(':' .. keys:format(other):sub(2) .. '<CR>')
    equal(answers(c), { {}, {} }, keys)
    equal(vim.fn.filereadable(other), 0, keys)
    equal(c.lua([[return #said]]), 1, keys .. ' says why')
    if keys:find('^:x') then break end
    equal(c.lua([[return vim.api.nvim_get_current_buf() == result()]]), true, keys)
  end
end)

T['it goes with its question, from the result too when nobody works there'] = ui.with_child(function(c)
  merge(c)
  c.input('<C-w>b')
  c.lua([[withdraw(7)]])
  c.eventually([[return vim.api.nvim_get_current_win() == home and result() == nil]])
  c.lua([[ask_merge(8, 80, file)]])
  c.lua([[require('bosun.diff').open(8, 0)]])
  feed(c, 8)
  c.lua([[withdraw(8)]])
  c.eventually([[return vim.api.nvim_get_current_win() == home and result() == nil]])
end)

T['a result that someone works on stays, marked, when it is no longer asked, and answers nothing'] = ui.with_child(
  function(c)
    merge(c)
    c.input('ccmi')
    c.lua([[withdraw(7)]])
    c.input('ne')
    equal(c.mode(), 'i')
    c.input('<Esc>')
    c.lua('vim.wait(900)')
    equal(c.lua([[return vim.api.nvim_get_current_buf() == result()]]), true)
    equal(c.lua([[return result_lines()[3] ]]), 'mine')
    assert(c.lua([[return vim.wo.winbar]]):find('no longer asked'), 'it says so')
    c.input(':w<CR>')
    equal(answers(c), { {}, {} })
    assert(c.lua([[return said[#said] ]]):find('no longer asked'), 'writing says so')
    c.input('<C-w>b')
    c.eventually([[return vim.api.nvim_get_current_win() == home and result() == nil]])
  end
)

T['when the text moves on, a result that was begun is kept and asked about anew'] = ui.with_child(function(c)
  merge(c)
  c.input('ccmine<Esc>')
  c.lua([[said = {}; ask_merge(8, 70, file)]])
  equal(c.lua([[local s = sent_named('show_diff'); return s[#s].question]]), 8)
  c.input(':w<CR>')
  equal(answers(c), { {}, {} }, 'the new texts are not there yet')
  feed(c, 7)
  local theirs = vim.deepcopy(THEIRS)
  theirs[10] = 'TEN'
  feed(c, 8, {}, { theirs = theirs, new = theirs })
  equal(c.lua([[return { result_lines()[3], result_lines()[10] }]]), { 'mine', 'ten' })
  equal(c.lua([[return vim.api.nvim_buf_get_lines(vim.fn.winbufnr(3), 9, 10, false)]]), { 'TEN' })
  assert(c.lua([[return said[#said] ]]):find('your result is kept'), 'it says so')
  c.input(':w<CR>')
  equal(answers(c), { {}, {} }, 'a write that was meant for the old texts')
  c.lua('vim.wait(800)')
  c.input('yypu')
  c.input(':w<CR>')
  equal(answers(c)[2][1].question, 8)
  equal(answers(c)[2][1].lines[3], 'mine')
end)

T['when the text moves on, a result that nobody touched starts again, and :e does it in one begun'] = ui.with_child(
  function(c)
    merge(c)
    local theirs = vim.deepcopy(THEIRS)
    theirs[10] = 'TEN'
    c.lua([[ask_merge(8, 70, file)]])
    feed(c, 8, {}, { theirs = theirs, new = theirs })
    equal(c.lua([[return result_lines()]]), theirs)
    c.input('ccmine<Esc>')
    c.lua([[ask_merge(9, 70, file)]])
    feed(c, 9)
    equal(c.lua([[return result_lines()[3] ]]), 'mine')
    c.input(':e<CR>')
    equal(c.lua([[return result_lines()]]), RESULT)
    equal(c.lua([[return #require('bosun.questions').pending()]]), 1)
  end
)

T['a result that was begun is kept when the text moves on while it is hidden'] = ui.with_child(function(c)
  merge(c)
  c.input('ccmine<Esc>q')
  is_clean(c, 'hidden')
  c.lua([[said = {}; ask_merge(8, 70, file)]])
  c.lua([[require('bosun.diff').open(8, 0)]])
  feed(c, 8)
  equal(c.lua([[return result_lines()[3] ]]), 'mine')
  assert(c.lua([[return said[#said] ]]):find('your result is kept'), 'it says so')
  c.lua([[require('bosun.merge').hide(); withdraw(8); ask_merge(9, 71, file)]])
  c.lua([[require('bosun.diff').open(9, 0)]])
  feed(c, 9)
  equal(c.lua([[return result_lines()]]), RESULT, 'it belongs to its own write')
end)

T['a result that answered is there again when the text had moved on and it is asked anew'] = ui.with_child(
  function(c)
    merge(c)
    c.input('ccmine<Esc>:w<CR>')
    equal(#answers(c)[2], 1)
    c.eventually([[return result() == nil]])
    c.lua([[withdraw(7)]])
    c.lua([[said = {}; ask_merge(8, 70, file); require('bosun.diff').open(8, 0)]])
    feed(c, 8)
    equal(c.lua([[return result_lines()[3] ]]), 'mine')
    assert(c.lua([[return said[#said] ]]):find('your result is kept'), 'it says so')
    c.input('u')
    equal(c.lua([[return result_lines()]]), RESULT)
    c.lua([[require('bosun.merge').hide(); withdraw(8)]])
    -- Another sidecar counts its writes from the start.
    c.lua([[ask_merge(1, 70, '/another/file')]])
    c.lua([[require('bosun.diff').open(1, 0)]])
    feed(c, 1)
    equal(c.lua([[return result_lines()]]), RESULT)
  end
)

for _, keys in ipairs({ 'q', ':bw<CR>', ':bd<CR>', ':tabclose<CR>' }) do
  T['a result without any line is kept as such by ' .. keys] = ui.with_child(function(c)
    merge(c)
    c.input('ggdG')
    c.input(keys)
    is_clean(c, keys)
    c.lua([[vim.api.nvim_set_current_win(home)]])
    open(c)
    feed(c)
    c.input(':w<CR>')
    equal(answers(c), { {}, { { question = 7, lines = {}, eol = true } } })
    equal(c.lua([[return vim.v.errmsg]]), '')
  end)
end

return ui.main(T)
