-- Questions: the guard of the digits, the note, the panel.
-- Run: nvim --clean --headless --cmd 'set rtp^=.' -c 'luafile tests/lua/ui_questions.lua'
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local ui = dofile(here .. '/support/ui.lua')
local T, equal = {}, ui.equal

-- A transcript of 40 lines that ends with a question, options in its last two lines.
local function asked(c)
  c.lua([[
    require('bosun.chat').open()
    fill(40)
    ask(7)
    patch(40, 40, { '? question 7', '    1. not an option', '  1. Allow', '  2. Reject' },
      { { id = 7, first = 40, last = 44 } })
    vim.wait(20)
  ]])
end

local function answers(c)
  return c.lua([[return vim.tbl_map(function(a) return a.option end, sent_named('answer'))]])
end

-- Where the note is: nil, or its anchor and first line.
local note = [[
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    local conf = vim.api.nvim_win_get_config(win)
    if conf.relative ~= '' and not conf.focusable then
      local buf = vim.api.nvim_win_get_buf(win)
      return vim.api.nvim_buf_get_lines(buf, 0, 1, false)[1]
    end
  end
]]

T['a digit in the prompt is a count until the question has been there a while'] = ui.with_child(function(c)
  asked(c)
  c.input('1<Esc>')
  equal(answers(c), {})
  vim.wait(750)
  c.input('2')
  equal(answers(c), { 'no' })
end)

T['a digit in the prompt is a count while something is written there'] = ui.with_child(function(c)
  asked(c)
  c.input('ix<Esc>')
  vim.wait(750)
  c.input('1<Esc>')
  equal(answers(c), {})
end)

T['a digit that began as a count stays one'] = ui.with_child(function(c)
  asked(c)
  c.lua([[vim.wait(750)]])
  c.input('31<Esc>')
  equal(answers(c), {})
  c.input('1')
  equal(answers(c), { 'yes' })
end)

T['the next question does not take the digit that was meant for the one before'] = ui.with_child(function(c)
  asked(c)
  c.lua([[ask(8)]])
  vim.wait(750)
  c.input('11<Esc>')
  equal(answers(c), { 'yes' })
  vim.wait(750)
  c.input('2')
  equal(answers(c), { 'yes', 'no' })
end)

T['digits in the transcript answer only inside the question that they see'] = ui.with_child(function(c)
  asked(c)
  c.lua([[vim.api.nvim_set_current_win(role('transcript')); vim.api.nvim_win_set_cursor(0, { 42, 0 })]])
  c.input('1<Esc>')
  equal(answers(c), {}, 'too soon')
  vim.wait(750)
  c.lua([[vim.api.nvim_win_set_cursor(0, { 20, 0 })]])
  c.input('1j')
  equal(answers(c), {}, 'outside')
  equal(c.lua([[return vim.api.nvim_win_get_cursor(0)[1] ]]), 21, 'the count moved')
  c.lua([[vim.api.nvim_win_set_cursor(0, { 42, 0 })]])
  c.input('2')
  equal(answers(c), { 'no' })
end)

T['<CR> answers on the line of an option, and a numbered line of an agent is none'] = ui.with_child(
  function(c)
    asked(c)
    vim.wait(750)
    c.lua([[vim.api.nvim_set_current_win(role('transcript')); vim.api.nvim_win_set_cursor(0, { 42, 0 })]])
    c.input('<CR>')
    equal(answers(c), {})
    equal(#c.lua([[return sent_named('view_toggle')]]), 1)
    c.lua([[vim.api.nvim_win_set_cursor(0, { 44, 0 })]])
    c.input('<CR>')
    equal(answers(c), { 'no' })
  end
)

T['a question is answered once, however often the key comes'] = ui.with_child(function(c)
  asked(c)
  vim.wait(750)
  c.lua([[
    local questions = require('bosun.questions')
    _G.results = { questions.answer(7, 1), questions.answer(7, 2) }
  ]])
  equal(c.lua('return results'), { true, false })
  equal(answers(c), { 'yes' })
end)

T['the note appears wherever the person is, and goes with the question'] = ui.with_child(function(c)
  c.lua([[require('bosun').new(); ask(7)]])
  equal(c.eventually(note), 'fake: question 7')
  c.input(':tabnew<CR>')
  equal(c.eventually(note), 'fake: question 7', 'in another tab')
  c.input(':some command')
  c.lua([[ask(8)]])
  vim.wait(50)
  equal(c.mode(), 'c')
  c.input('<Esc>')
  c.lua([[withdraw(7)]])
  c.eventually([[
    for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      local line = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, 1, false)[1]
      if line == 'fake: question 8' then return true end
    end]])
  c.lua([[withdraw(8)]])
  c.eventually([[return #vim.api.nvim_list_wins() == 2]])
end)

T['small screens, the command-line window and terminals bring no error'] = ui.with_child(function(c)
  c.lua([[require('bosun').new(); vim.v.errmsg = '']])
  for _, lines in ipairs({ 3, 4, 6, 24 }) do
    c.lua([[vim.o.lines = ...; ask(vim.o.lines)]], lines)
    vim.wait(60)
    c.lua([[require('bosun.questions').focus()]])
    c.input('q')
    c.lua([[withdraw(vim.o.lines)]])
  end
  c.input('q:')
  c.lua(
    [[ask(7); require('bosun.questions').focus(); require('bosun.chat').open(); require('bosun.diff').open(7, 0)]]
  )
  vim.wait(100)
  equal(c.lua([[return vim.fn.getcmdwintype()]]), ':')
  c.input(':q<CR>')
  vim.wait(60)
  c.eventually(note, 'a note after the command-line window')
  c.lua([[vim.cmd('terminal sh')]])
  c.input('i')
  c.lua([[ask(9)]])
  vim.wait(60)
  equal(c.mode(), 't')
  equal(c.lua([[return vim.v.errmsg]]), '')
end)

T['the panel answers, goes on to the next question, and returns to where one was'] = ui.with_child(function(c)
  c.lua(
    [[require('bosun').new(); vim.cmd('split'); _G.home = vim.api.nvim_get_current_win(); ask(7); ask(8)]]
  )
  c.lua([[require('bosun.questions').focus()]])
  c.input('1')
  equal(answers(c), { 'yes' })
  c.input('1')
  equal(answers(c), { 'yes' }, 'the next question came under the finger by itself')
  vim.wait(750)
  c.input('2')
  equal(answers(c), { 'yes', 'no' })
  equal(c.lua([[return vim.api.nvim_get_current_win() == home]]), true)
end)

T['leaving the panel leaves the question pending'] = ui.with_child(function(c)
  c.lua([[require('bosun').new(); _G.home = vim.api.nvim_get_current_win(); ask(7)]])
  for _, key in ipairs({ 'q', '<Esc>', ':q<CR>', 'ZQ', ':bwipeout<CR>' }) do
    c.lua([[require('bosun.questions').focus()]])
    equal(c.lua([[return vim.api.nvim_get_current_win() == home]]), false, key)
    c.input(key)
    c.eventually([[return vim.api.nvim_get_current_win() == home]], key)
    equal(c.lua([[return #require('bosun.questions').pending()]]), 1, key)
  end
  equal(answers(c), {})
  equal(c.lua([[return #sent_named('cancel')]]), 0)
end)

T['a question without options can only be cancelled'] = ui.with_child(function(c)
  c.lua([[require('bosun').new(); ask(7); package.loaded['bosun.state'].questions[1].options = {}]])
  c.lua([[require('bosun.questions').focus()]])
  c.input('2')
  equal(answers(c), {})
  c.input('1')
  equal(answers(c), { 'cancelled' })
end)

return ui.main(T)
