-- The chat column, transcript and prompt.
-- Run: nvim --clean --headless --cmd 'set rtp^=.' -c 'luafile tests/lua/ui_chat.lua'
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local ui = dofile(here .. '/support/ui.lua')
local T, equal = {}, ui.equal

local function open(c)
  c.lua([[vim.cmd('enew'); require('bosun.chat').open(); _G.tbuf = require('bosun.transcript').buf('s1')]])
end

T['a reading window keeps its view and a following one goes on'] = ui.with_child(function(c)
  open(c)
  c.lua([[
    fill(500)
    _G.reader, _G.follower = role('transcript'), nil
    vim.api.nvim_set_current_win(reader)
    vim.cmd('tab sbuffer ' .. tbuf)
    follower = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_cursor(follower, { 500, 0 })
    vim.cmd('tabprevious')
    vim.api.nvim_set_current_win(reader)
    vim.api.nvim_win_set_cursor(reader, { 50, 0 })
    vim.cmd('normal! zt')
  ]])
  c.input('Vjj')
  c.lua([[
    for i = 1, 200 do patch(499 + i, 499 + i, { 'chunk ' .. i }) end
  ]])
  local got = c.lua([==[return {
    top = vim.fn.line('w0', reader), cursor = vim.fn.line('.', reader), start = vim.fn.line('v'),
    follower = vim.api.nvim_win_get_cursor(follower)[1], count = vim.api.nvim_buf_line_count(tbuf),
    mode = vim.fn.mode(),
  }]==])
  equal(got, { top = 50, cursor = 52, start = 50, follower = 700, count = 700, mode = 'V' })
  c.input('<Esc>G')
  c.lua([[patch(700, 700, { 'more' })]])
  equal(c.lua('return vim.api.nvim_win_get_cursor(reader)[1]'), 701, 'following is taken up again')
end)

T['a card that grows above a reading window shifts neither text nor cursor'] = ui.with_child(function(c)
  open(c)
  c.lua([[
    fill(300)
    _G.reader = role('transcript')
    vim.api.nvim_set_current_win(reader)
    vim.api.nvim_win_set_cursor(reader, { 150, 3 })
    vim.cmd('normal! zt')
    patch(10, 12, { 'a', 'b', 'c', 'd', 'e' })
  ]])
  local got = c.lua([[return { vim.fn.line('w0', reader), vim.api.nvim_win_get_cursor(reader),
    vim.api.nvim_buf_get_lines(tbuf, 152, 153, false)[1] }]])
  equal(got, { 153, { 153, 3 }, 'line 150' })
end)

T['a patch that replaces what is being read keeps the top line'] = ui.with_child(function(c)
  open(c)
  c.lua([[
    fill(300)
    _G.reader = role('transcript')
    vim.api.nvim_win_set_cursor(reader, { 150, 0 })
    vim.api.nvim_win_call(reader, function() vim.cmd('normal! zt') end)
    local lines = {}
    for i = 1, 220 do lines[i] = 'new ' .. i end
    patch(100, 300, lines)
  ]])
  equal(c.lua([[return { vim.fn.line('w0', reader), vim.api.nvim_win_get_cursor(reader)[1] }]]), { 150, 150 })
end)

T['lines above a selection wait until it is done'] = ui.with_child(function(c)
  open(c)
  c.lua([[
    fill(300)
    vim.api.nvim_set_current_win(role('transcript'))
    vim.api.nvim_win_set_cursor(0, { 150, 0 })
  ]])
  c.input('Vjj')
  c.lua([[_G.acks = #sent_named('view_ack'); patch(10, 11, { 'a', 'b', 'c' })]])
  equal(c.lua([[return { vim.api.nvim_buf_line_count(tbuf), #sent_named('view_ack') - acks }]]), { 300, 0 })
  c.input('y')
  c.eventually([[return vim.api.nvim_buf_line_count(tbuf) == 302 and #sent_named('view_ack') == acks + 1]])
  equal(c.lua([[return vim.fn.getreg('"')]]), 'line 150\nline 151\nline 152\n', 'what was selected')
end)

T['each patch is acknowledged once with its version'] = ui.with_child(function(c)
  open(c)
  c.lua([[fill(3); patch(3, 3, { 'x' })]])
  equal(c.lua([[return vim.tbl_map(function(a) return a.version end, sent_named('view_ack'))]]), { 1, 2 })
  equal(
    c.lua([[return { vim.bo[tbuf].modifiable, vim.bo[tbuf].modified, vim.bo[tbuf].buflisted }]]),
    { false, false, false }
  )
end)

T['patches and questions move neither focus nor mode while someone types'] = ui.with_child(function(c)
  open(c)
  c.lua([[vim.cmd('wincmd h'); _G.code = vim.api.nvim_get_current_win()]])
  c.input('i')
  for i, part in ipairs({ 'you ', 'said ', 'yes<CR>', '1', '2<CR>' }) do
    c.input(part)
    c.lua(
      [[local i = ...; if i == 1 then fill(5) else patch(3 + i, 3 + i, { 'more' }) end; ask(i, { 'a.txt' })]],
      i
    )
  end
  vim.wait(300)
  equal(c.mode(), 'i')
  equal(
    c.lua([[return { vim.api.nvim_get_current_win() == code, vim.api.nvim_buf_get_lines(0, 0, -1, false),
      #sent_named('answer') }]]),
    { true, { 'you said yes', '12', '' }, 0 }
  )
end)

T['opening and hiding leaves the windows of the person as they were'] = ui.with_child(function(c)
  c.lua([[
    vim.o.columns, vim.o.lines = 120, 40
    vim.cmd('vsplit | split | resize 7')
    _G.before = { vim.fn.winlayout(), vim.fn.winrestcmd(), vim.api.nvim_get_current_win() }
    require('bosun.chat').open()
    require('bosun.chat').toggle()
    _G.after = { vim.fn.winlayout(), vim.fn.winrestcmd(), vim.api.nvim_get_current_win() }
  ]])
  equal(c.lua('return after'), c.lua('return before'))
end)

T['q in the prompt hides both windows, and opening shows the same session and draft'] = ui.with_child(
  function(c)
    open(c)
    c.input('ihalf a thought<Esc>')
    c.input(':q<CR>')
    c.eventually([[return role('transcript') == nil and role('prompt') == nil]])
    c.lua([[require('bosun.chat').open()]])
    equal(
      c.lua([[return { vim.api.nvim_get_current_line(), require('bosun.chat').shown() }]]),
      { 'half a thought', 's1' }
    )
  end
)

T['the last windows are hidden without an error'] = ui.with_child(function(c)
  open(c)
  c.lua([[vim.cmd('wincmd h'); vim.cmd('close'); require('bosun.chat').close()]])
  equal(
    c.lua([[return { #vim.api.nvim_list_wins(), vim.w.bosun == nil, vim.wo.winbar, vim.wo.winfixbuf }]]),
    { 1, true, '', false }
  )
end)

T['a prompt is sent by each of its keys and never when empty'] = ui.with_child(function(c)
  open(c)
  c.input('<CR>')
  c.input('ione<Esc><CR>')
  c.input('itwo<C-s>')
  c.input('<Esc>ithree<CR>lines<Esc>:w<CR>')
  equal(
    c.lua([[return vim.tbl_map(function(p) return p.text end, sent_named('prompt'))]]),
    { 'one', 'two', 'three\nlines' }
  )
  equal(c.lua([[return { vim.api.nvim_buf_get_lines(0, 0, -1, false), vim.bo.modified }]]), { { '' }, false })
  c.input('<Up><Up>')
  equal(c.lua([[return vim.api.nvim_get_current_line()]]), 'two', 'history')
end)

T[':wqa leaves Neovim and does not send what is half typed'] = ui.with_child(function(c)
  open(c)
  local log = vim.fn.tempname()
  c.lua(
    [[
    local log = ...
    vim.cmd('wincmd h | bwipeout! | wincmd p')
    local rpc = package.loaded['bosun.rpc']
    rpc.notify = function(name) vim.fn.writefile({ name }, log, 'a') end
    vim.fn.writefile({ 'began' }, log)
    vim.api.nvim_set_current_win(role('prompt'))
  ]],
    log
  )
  -- In one go, so that no idle moment comes between the text and the command.
  pcall(c.input, 'ihalf a thought<Esc>yyp:wqa<CR>')
  vim.wait(2000, function() return c.code ~= nil end, 10)
  equal(c.code, 0, 'exit code')
  local names = vim.fn.readfile(log)
  assert(not vim.tbl_contains(names, 'prompt'), vim.inspect(names))
  equal(names[1], 'began')
end)

T[':wall, :update and undo neither send the prompt nor leave it modified'] = ui.with_child(function(c)
  open(c)
  c.input('ihalf<Esc>oanother<Esc>uuu<C-r><C-r>:wall<CR>:update<CR>')
  equal(
    c.lua([[return { vim.bo.modified, #sent_named('prompt'), vim.api.nvim_get_current_line() ~= '' }]]),
    { false, 0, true }
  )
end)

T['hiding gives sizes back whatever floats came and went, and never a larger command line'] = ui.with_child(
  function(c)
    c.lua([[
    local buf = vim.api.nvim_create_buf(false, true)
    _G.float = vim.api.nvim_open_win(buf, false, { relative = 'editor', row = 1, col = 1, width = 20, height = 3 })
    _G.before = { vim.api.nvim_win_get_width(0), vim.api.nvim_win_get_height(0), vim.o.cmdheight }
    require('bosun.chat').open()
    vim.api.nvim_set_current_win(role('transcript'))
    vim.api.nvim_win_close(_G.float, true)
    require('bosun.chat').hide()
    _G.after = { vim.api.nvim_win_get_width(0), vim.api.nvim_win_get_height(0), vim.o.cmdheight }
  ]])
    equal(c.lua('return after'), c.lua('return before'))
  end
)

T['text and bars of an agent are never evaluated'] = ui.with_child(function(c)
  open(c)
  c.lua([==[
    local s = package.loaded['bosun.state'].sessions[1]
    s.title, s.agent = "%{execute('let g:owned=1')}\27[2K\r%#Error#", '%!x'
    package.loaded['bosun.state'].questions = {}
    ask(1)
    package.loaded['bosun.state'].questions[1].title = "%{execute('let g:owned=1')}"
    package.loaded['bosun.state'].questions[1].options[1].name = "a\nb %{execute('let g:owned=1')}"
    require('bosun.questions').on_questions()
    vim.cmd('redraw!')
    local bar = vim.wo[role('transcript')].winbar
    _G.shown = vim.api.nvim_eval_statusline(bar, { use_winbar = true, maxwidth = 200 }).str
  ]==])
  assert(c.lua('return shown'):find('%%{execute', 1), c.lua('return shown'))
  equal(c.lua('return vim.g.owned == nil'), true)
end)

T['a deleted transcript is opened anew, and the draft survives'] = ui.with_child(function(c)
  open(c)
  c.input('idraft<Esc>')
  c.lua([[vim.cmd('silent! %bdelete!'); vim.wait(50)]])
  c.lua([[require('bosun.chat').open()]])
  equal(
    c.lua([[return { vim.api.nvim_get_current_line(), #sent_named('view_open'), #sent_named('view_close') }]]),
    { 'draft', 2, 1 }
  )
end)

T['context goes along with the prompt, and can be left out'] = ui.with_child(function(c)
  local file = vim.fn.tempname() .. '.txt'
  vim.fn.writefile({ 'one', 'two', 'three' }, file)
  c.lua([[require('bosun.context'); vim.cmd.edit(...)]], file)
  c.input('jVj:<C-u>lua require("bosun.chat").open()<CR>ihey<C-s><Esc>')
  c.input('<C-x>iagain<C-s><Esc>iand again<C-s>')
  local got = c.lua([[return vim.tbl_map(function(p)
    return vim.tbl_map(function(x) return { x.kind, x.line or { x.first, x.last, x.text } } end, p.context)
  end, sent_named('prompt'))]])
  -- The selection stands for its file, and goes along once.
  equal(got, { { { 'selection', { 1, 3, 'two\nthree' } } }, {}, { { 'file', 1 } } })
end)

T['a prompt that is not taken stays, and one that comes back is put above what was typed since'] = ui.with_child(
  function(c)
    open(c)
    c.lua([[_G.refusal = 'no sidecar']])
    c.input('ifirst<C-s>')
    equal(c.lua([[return { vim.api.nvim_get_current_line(), said[1] }]]), { 'first', 'not sent: no sidecar' })
    c.lua([[_G.refusal = nil]])
    c.input('<C-s>second')
    c.lua(
      [[require('bosun.chat').prompt_returned({ session = 's1', text = 'first', why = 'the agent ended' })]]
    )
    c.input('!')
    equal(c.lua([[return vim.api.nvim_buf_get_lines(0, 0, -1, false)]]), { 'first', '', 'second!' })
    equal(c.mode(), 'i')
  end
)

T['what a lost sidecar left stays above what the next one sends'] = ui.with_child(function(c)
  open(c)
  c.lua([[
    fill(3)
    require('bosun.chat').create('s1')
    patch(0, 0, { 'again' })
    patch(1, 1, { '? q' }, { { id = 7, first = 1, last = 2 } })
    vim.api.nvim_win_set_cursor(role('transcript'), { 5, 0 })
    vim.api.nvim_set_current_win(role('transcript'))
  ]])
  c.input('<Tab>')
  local lines = { 'line 1', 'line 2', 'line 3', 'again', '? q' }
  equal(c.lua([[return vim.api.nvim_buf_get_lines(tbuf, 0, -1, false)]]), lines)
  equal(c.lua([[return sent_named('view_toggle')[1].line]]), 1)
end)

T['marks are highlights of the group with that number, known or not'] = ui.with_child(function(c)
  open(c)
  c.lua([[patch(0, 1, { 'you', 'more' }, {}, { 0, 0, 3, 1, 1, 1, 4, 3, 1, 0, 2, 9 })]])
  local marks = c.lua([[
    local out = {}
    for _, m in ipairs(vim.api.nvim_buf_get_extmarks(tbuf, -1, 0, -1, { details = true })) do
      out[#out + 1] = { m[2], m[3], m[4].end_col, m[4].hl_group }
    end
    return out
  ]])
  equal(marks, { { 0, 0, 3, 'BosunUser' }, { 1, 0, 2, 'Normal' }, { 1, 1, 4, 'BosunOfTomorrow' } })
  c.lua([[require('bosun.highlight').apply(require('bosun.rpc').welcome.groups)]])
  equal(c.lua([[return vim.api.nvim_get_hl(0, { name = 'BosunOfTomorrow' }).link]]), 'Normal')
end)

T['the prompts of a transcript are found by their keys'] = ui.with_child(function(c)
  open(c)
  c.lua([[
    patch(0, 1, { 'you', 'two', 'x', 'you', 'x' }, {}, { 0, 0, 3, 1, 1, 0, 3, 1, 3, 0, 3, 1 })
    vim.api.nvim_set_current_win(role('transcript'))
  ]])
  local seen = {}
  for i, key in ipairs({ '[[', '[[', ']]', '[[' }) do
    c.input(key)
    seen[i] = c.lua([[return vim.fn.line('.')]])
  end
  equal(seen, { 4, 1, 4, 1 })
end)

return ui.main(T)
