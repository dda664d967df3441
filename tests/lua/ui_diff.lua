-- The diff tab: what it shows, that it leaves nothing behind, that closing it answers nothing.
-- Run: nvim --clean --headless --cmd 'set rtp^=.' -c 'luafile tests/lua/ui_diff.lua'
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local ui = dofile(here .. '/support/ui.lua')
local T, equal = {}, ui.equal

local OLD = { 'one', 'two', 'three', 'four' }
local NEW = { 'one', 'TWO', 'three', 'four', 'five' }

-- Remembers all options of a window, to compare.
local options = [[
  function _G.options_of(win)
    local out = {}
    for name, info in pairs(vim.api.nvim_get_all_options_info()) do
      -- 'scroll' is half the height of the window, whatever was there before.
      if info.scope == 'win' and name ~= 'scroll' then
        out[name] = vim.api.nvim_get_option_value(name, { win = win, scope = 'local' })
      end
    end
    return out
  end
]]

-- A file in a window with options of its own, a question about it, and the diff open and filled.
local function diff(c, from_prompt, hidden)
  local file = vim.fn.tempname() .. '.txt'
  vim.fn.writefile(OLD, file)
  c.lua(options)
  c.lua(
    [[
    local file, from_prompt, hidden, new = ...
    vim.cmd.edit(file)
    vim.cmd('setlocal nowrap foldmethod=marker foldcolumn=1 number')
    _G.live, _G.home = vim.api.nvim_get_current_buf(), vim.api.nvim_get_current_win()
    _G.before = options_of(home)
    require('bosun').new()
    ask(7, { file })
    if from_prompt then require('bosun.chat').open() end
    if hidden then vim.cmd('enew') end
    _G.origin = vim.api.nvim_get_current_win()
    require('bosun.diff').open(7, 0)
    _G.tab = vim.api.nvim_get_current_tabpage()
    feed_diff(7, live, new)
    _G.panel = vim.api.nvim_get_current_win()
  ]],
    file,
    from_prompt or false,
    hidden or false,
    NEW
  )
end

-- What must hold once the diff is gone.
local function is_clean(c, what, hidden)
  c.eventually([[return not vim.api.nvim_tabpage_is_valid(tab)]], what)
  equal(c.lua([[return #require('bosun.questions').pending()]]), 1, what .. ': pending')
  equal(c.lua([[return #sent_named('answer') + #sent_named('cancel')]]), 0, what .. ': answers')
  local differences = c.lua(
    [[
    local out = {}
    local function compare(win, label)
      for name, value in pairs(options_of(win)) do
        if not vim.deep_equal(value, before[name]) then
          out[#out + 1] = ('%s %s: %s, was %s'):format(label, name, vim.inspect(value), vim.inspect(before[name]))
        end
      end
    end
    -- First a window that takes its options from what the last window of the buffer left behind.
    vim.cmd('tabnew')
    vim.cmd('buffer ' .. live)
    compare(vim.api.nvim_get_current_win(), 'new window')
    vim.cmd('tabclose')
    if not ... then compare(home, 'home') end
    vim.cmd('tab sbuffer ' .. live)
    compare(vim.api.nvim_get_current_win(), 'new tab')
    vim.cmd('tabclose')
    return out
  ]],
    hidden or false
  )
  equal(differences, {}, what .. ': options')
  local leftovers = c.lua([[
    return vim.tbl_filter(function(b)
      return vim.api.nvim_buf_get_name(b):find('bosun://question', 1, true) ~= nil
    end, vim.api.nvim_list_bufs())
  ]])
  equal(leftovers, {}, what .. ': buffers')
end

T['left is the live buffer, right the proposal, the panel has the focus'] = ui.with_child(function(c)
  diff(c)
  local got = c.lua([[
    local out = {}
    for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      if vim.api.nvim_win_get_config(win).relative == '' then
        local buf = vim.api.nvim_win_get_buf(win)
        local bo = vim.bo[buf]
        out[#out + 1] = { buf == live, vim.wo[win].diff, bo.buftype, bo.buflisted, bo.modifiable, bo.filetype }
      end
    end
    return out
  ]])
  equal(got, {
    { true, true, '', true, true, 'text' },
    { false, true, 'acwrite', false, true, '' },
    { false, false, 'nofile', false, false, '' },
  })
  equal(c.lua([[return vim.api.nvim_buf_get_lines(vim.fn.winbufnr(2), 0, -1, false)]]), NEW)
  equal(c.lua([[return vim.fn.winnr()]]), 3)
end)

for name, keys in pairs({
  ['q'] = 'q',
  [':q in the panel'] = ':q<CR>',
  ['ZQ'] = 'ZQ',
  [':tabclose'] = ':tabclose<CR>',
  [':q in the live window'] = '<C-w>t:q<CR>',
  [':q in the proposal'] = '<C-w>t<C-w>l:q<CR>',
  [':only in the live window'] = '<C-w>t:only<CR>',
  [':only in the panel'] = ':only<CR>',
  [':bdelete of the proposal'] = '<C-w>t<C-w>l:bdelete<CR>',
  [':bwipeout of the panel'] = ':bwipeout<CR>',
  ['<C-w>c in the live window'] = '<C-w>t<C-w>c',
  [':tabonly elsewhere'] = 'gt:tabonly<CR>',
}) do
  T['closing it by ' .. name .. ' leaves the question pending and every option as it was'] = ui.with_child(
    function(c)
      diff(c)
      c.input(keys)
      is_clean(c, name)
    end
  )
  T['closing it by ' .. name .. ' leaves a hidden file its options'] = ui.with_child(function(c)
    diff(c, false, true)
    c.input(keys)
    is_clean(c, name, true)
  end)
end

T['opened from the prompt it goes back there and nothing of the prompt sticks to the file'] = ui.with_child(
  function(c)
    diff(c, true)
    c.input('q')
    c.eventually([[return vim.api.nvim_get_current_win() == origin]])
    is_clean(c, 'from the prompt')
  end
)

T['a digit in the panel answers, closes the tab and goes back'] = ui.with_child(function(c)
  diff(c)
  c.input('2')
  equal(c.lua([[return sent_named('answer')]]), { { question = 7, option = 'no' } })
  c.eventually([[return vim.api.nvim_get_current_win() == home and #vim.api.nvim_list_tabpages() == 1]])
end)

T['nothing can be answered before both sides are there'] = ui.with_child(function(c)
  c.lua([[require('bosun').new(); ask(7, { 'a.txt' }); require('bosun.diff').open(7, 0)]])
  c.input('1')
  equal(c.lua([[return #sent_named('answer')]]), 0)
end)

T['it goes with its question, and not while someone works on their own text in it'] = ui.with_child(
  function(c)
    diff(c)
    c.input('<C-w>tAx')
    c.lua([[withdraw(7)]])
    equal(c.lua([[return vim.api.nvim_get_current_tabpage() == tab]]), true)
    equal(c.mode(), 'i')
    c.input('yz<Esc>')
    c.lua('vim.wait(50)')
    -- The next keys are meant for the text that is under the cursor.
    c.input('Aw<Esc>')
    equal(c.lua([[return vim.api.nvim_buf_get_lines(live, 0, -1, false)[2] ]]), 'twoxyzw')
    equal(c.lua([[return vim.api.nvim_get_current_tabpage() == tab]]), true)
    c.input('<C-w>b')
    c.eventually([[return vim.api.nvim_get_current_win() == home]])
  end
)

T['unsaved text of a buffer that is wiped when hidden stays when the diff goes'] = ui.with_child(function(c)
  diff(c)
  c.lua([[
    vim.bo[live].bufhidden = 'wipe'
    vim.api.nvim_buf_set_lines(live, 0, 1, false, { 'not saved' })
    vim.bo[live].modified = true
    vim.api.nvim_win_call(home, function() vim.cmd('hide enew') end)
    require('bosun.diff').hide()
  ]])
  c.eventually([[return #vim.api.nvim_list_tabpages() == 1]])
  equal(c.lua([[return vim.api.nvim_buf_is_loaded(live)]]), true)
  equal(c.lua([[return vim.api.nvim_buf_get_lines(live, 0, 1, false)[1] ]]), 'not saved')
end)

T['someone in another tab is left there when the question goes'] = ui.with_child(function(c)
  diff(c)
  c.input(':tabnew<CR>')
  c.lua([[_G.there = vim.api.nvim_get_current_win(); withdraw(7)]])
  c.eventually([[return not vim.api.nvim_tabpage_is_valid(tab)]])
  equal(c.lua([[return vim.api.nvim_get_current_win() == there]]), true)
end)

T['windows that the person opened in the tab stay'] = ui.with_child(function(c)
  diff(c)
  c.input(':topleft new<CR>')
  c.lua([[_G.guest = vim.api.nvim_get_current_win(); require('bosun.diff').hide()]])
  equal(
    c.lua([[return { vim.api.nvim_get_current_win() == guest, #vim.api.nvim_tabpage_list_wins(0) }]]),
    { true, 1 }
  )
end)

T['a file that is not open is shown from the text that came'] = ui.with_child(function(c)
  c.lua([[
    require('bosun').new()
    ask(7, { 'src/%{x}.lua' })
    require('bosun.diff').open(7, 0)
    local recv = require('bosun.diff').recv
    local at = { question = 7, index = 0 }
    local function with(t) return vim.tbl_extend('force', t, at) end
    local totals = { count = 1, old_total = 2, new_total = 3 }
    local about = { path = 'src/%{x}.lua', note = 'the fragment was not found' }
    recv('diff', with(vim.tbl_extend('error', totals, about)))
    recv('diff_lines', with({ side = 'old', start = 0, lines = { 'a', 'b' } }))
    recv('diff_lines', with({ side = 'new', start = 0, lines = { 'a' } }))
    recv('diff_lines', with({ side = 'new', start = 1, lines = { 'c', 'nul\nhere' } }))
    recv('diff_done', with({}))
  ]])
  local got = c.lua([[return {
    vim.api.nvim_buf_get_lines(vim.fn.winbufnr(1), 0, -1, false),
    vim.api.nvim_buf_get_lines(vim.fn.winbufnr(2), 0, -1, false),
    vim.wo[vim.fn.win_getid(1)].diff, vim.bo[vim.fn.winbufnr(2)].syntax, vim.bo[vim.fn.winbufnr(2)].filetype,
  }]])
  equal(got, { { 'a', 'b' }, { 'a', 'c', 'nul\0here' }, true, 'lua', '' })
  assert(c.lua([[return vim.wo[vim.fn.win_getid(2)].winbar]]):find('%%%%{x}'), 'the path is escaped')
  c.input(':wall<CR>')
  c.input('q')
  equal(c.lua([[return { vim.v.errmsg, #vim.api.nvim_list_tabpages() }]]), { '', 1 })
end)

T['without files there is no diff and no tab'] = ui.with_child(function(c)
  c.lua(
    [[require('bosun').new(); ask(7); require('bosun.diff').open(7, 0); require('bosun.diff').open(99, 0)]]
  )
  equal(c.lua([[return { #vim.api.nvim_list_tabpages(), #sent_named('show_diff') }]]), { 1, 0 })
end)

-- What was sent as an answer, without the tab.
local function answers(c)
  return c.lua([[return { answer = sent_named('answer'), edited = sent_named('answer_edited') }]])
end

T['`do` drops a change of the proposal, the rest can be edited, and `:w` accepts what is shown'] = ui.with_child(
  function(c)
    diff(c)
    c.input('<C-w>t<C-w>l')
    c.input('ggjdo')
    c.input('Gosix<Esc>')
    equal(
      c.lua([[return vim.api.nvim_buf_get_lines(0, 0, -1, false)]]),
      { 'one', 'two', 'three', 'four', 'five', 'six' }
    )
    equal(c.lua([[return vim.api.nvim_buf_get_lines(live, 0, -1, false)]]), OLD, 'nothing lands before')
    equal(answers(c), { answer = {}, edited = {} })
    c.input(':w<CR>')
    c.eventually([[return not vim.api.nvim_tabpage_is_valid(tab)]], 'the tab goes')
    equal(answers(c), {
      answer = {},
      edited = {
        {
          question = 7,
          files = {
            {
              index = 0,
              from = NEW,
              from_eol = true,
              to = { 'one', 'two', 'three', 'four', 'five', 'six' },
              to_eol = true,
            },
          },
        },
      },
    })
  end
)

T['`:w` of a proposal that nobody edited allows it once'] = ui.with_child(function(c)
  diff(c)
  c.input('<C-w>t<C-w>l:w<CR>')
  c.eventually([[return not vim.api.nvim_tabpage_is_valid(tab)]], 'the tab goes')
  equal(answers(c), { answer = { { question = 7, option = 'yes' } }, edited = {} })
end)

T['a digit that allows once takes the edits along, and no other yes does'] = ui.with_child(function(c)
  diff(c)
  c.lua(
    [[table.insert(require('bosun.state').questions[1].options, { id = 'all', name = 'All', kind = 'allow_always' })]]
  )
  c.input('<C-w>t<C-w>lggcwUNO<Esc>')
  c.input('<C-w>j3')
  equal(answers(c), { answer = {}, edited = {} }, 'always')
  c.input('1')
  c.eventually([[return #sent_named('answer_edited') == 1]], 'an answer')
  equal(answers(c).edited[1].files[1].to[1], 'UNO')
end)

T['a rejection needs no word about the edits'] = ui.with_child(function(c)
  diff(c)
  c.input('<C-w>t<C-w>lggcwUNO<Esc><C-w>j2')
  equal(answers(c), { answer = { { question = 7, option = 'no' } }, edited = {} })
end)

T['edits stay when the tab is hidden, and `u` and `:e` take them back'] = ui.with_child(function(c)
  diff(c)
  c.input('<C-w>t<C-w>lggcwUNO<Esc>q')
  c.eventually([[return not vim.api.nvim_tabpage_is_valid(tab)]], 'the tab goes')
  equal(answers(c), { answer = {}, edited = {} })
  c.lua(
    [[require('bosun.diff').open(7, 0); tab = vim.api.nvim_get_current_tabpage(); feed_diff(7, live, ...)]],
    NEW
  )
  c.input('<C-w>t<C-w>l')
  equal(c.lua([[return vim.fn.getline(1)]]), 'UNO')
  c.input(':e<CR>')
  equal(c.lua([[return vim.fn.getline(1)]]), 'one')
end)

T['of several files each is accepted as it is shown, and the last one answers'] = ui.with_child(function(c)
  diff(c)
  c.lua([[require('bosun.state').questions[1].files = { 'a', 'b' }]])
  c.lua([[feed_diff(7, live, ..., { count = 2 })]], NEW)
  c.input('<C-w>t<C-w>lggcwUNO<Esc>:w<CR>')
  equal(answers(c), { answer = {}, edited = {} })
  equal(c.eventually([[local s = sent_named('show_diff') return s[#s].index == 1 and s[#s].index]]), 1)
  c.lua([[feed_diff(7, nil, { 'b' }, { count = 2, index = 1 })]])
  c.input('<C-w>t<C-w>l:w<CR>')
  c.eventually([[return #sent_named('answer_edited') == 1]], 'an answer')
  equal(#answers(c).edited[1].files, 1, 'only what was edited is sent')
end)

T['a part of a file cannot be edited, and `:w` says so'] = ui.with_child(function(c)
  diff(c)
  c.lua([[require('bosun.diff').hide(); require('bosun.diff').open(7, 0)]])
  c.lua([[feed_diff(7, nil, ..., { editable = false })]], NEW)
  c.input('<C-w>t<C-w>l:w<CR>')
  equal(answers(c), { answer = {}, edited = {} })
  equal(c.lua([[return vim.bo.modifiable]]), false)
end)

T['a question that goes while its proposal is edited leaves the text there and answers nothing'] = ui.with_child(
  function(c)
    diff(c)
    c.input('<C-w>t<C-w>lggcwUNO<Esc>')
    c.lua([[withdraw(7)]])
    equal(c.lua([[return vim.fn.getline(1)]]), 'UNO')
    c.input(':w<CR>')
    equal(answers(c), { answer = {}, edited = {} })
    c.input('q')
    c.eventually([[return not vim.api.nvim_tabpage_is_valid(tab)]], 'the tab goes')
  end
)

T['`R` asks why and tells the agent; without a word nothing is answered'] = ui.with_child(function(c)
  diff(c)
  c.input('R<Esc>')
  equal(answers(c), { answer = {}, edited = {} })
  c.input('Ruse the other file<CR>')
  equal(answers(c).answer, { { question = 7, option = 'reject_once', why = 'use the other file' } })
end)

T['`:wall`, auto-saving and `:qa` do not take a proposal for a file'] = ui.with_child(function(c)
  diff(c)
  c.input('<C-w>t<C-w>lggcwUNO<Esc>')
  c.input(':wall<CR>')
  c.input(':silent! update<CR>')
  equal(answers(c), { answer = {}, edited = {} })
  equal(
    c.lua([[return { vim.bo.buflisted, vim.bo.swapfile, vim.bo.modified, vim.bo.filetype }]]),
    { false, false, false, '' }
  )
  c.lua([[vim.bo[live].modified = false]])
  -- It may be gone before it can answer.
  pcall(c.input, ':qa<CR>')
  vim.wait(3000, function() return c.code ~= nil end, 10)
  equal(c.code, 0, 'it quits')
end)

return ui.main(T)
