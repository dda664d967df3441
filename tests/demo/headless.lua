-- The demo session without a person: real Neovim, plugin, sidecar and demo agent, through the public API only.
-- Changes a line without saving, asks for an edit of that line, answers the question, and checks what came of it.
-- Prints an account of the session. Ends Neovim with an error if anything is not as it should be, or takes too long.

local bosun = require('bosun')

local LIMIT_MS = 60000
local prompt = 'replace morning with evening in greet.py'
local before = 'GREETING = "Good morning"'
local after = 'GREETING = "Good evening"'
local line = 5

local function say(format, ...)
  io.stdout:write(format:format(...), '\n')
  io.stdout:flush()
end

local failed = 0
local function check(ok, what, detail)
  say('  %s  %s', ok and 'ok    ' or 'FAILED', what)
  if not ok then
    failed = failed + 1
    if detail then say('          %s', vim.inspect(detail)) end
  end
end

local function disk() return table.concat(vim.fn.readfile('greet.py', 'b'), '\n') end

local function text(buf) return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\n') .. '\n' end

local session
local function give_up(why)
  say('FAILED: %s', why)
  local ok, transcript = pcall(function() return session and bosun.transcript(session) end)
  if ok and transcript then say('%s', transcript) end
  say('%s', vim.fn.execute('messages'))
  vim.cmd('cquit 1')
end

local function wait(what, condition)
  if not vim.wait(LIMIT_MS, condition, 10) then give_up('waited too long for ' .. what) end
end

local function play()
  local ended, changed
  vim.api.nvim_create_autocmd('User', {
    pattern = 'BosunTurnEnd',
    callback = function(event) ended = event.data end,
  })
  vim.api.nvim_create_autocmd('User', {
    pattern = 'BosunFileWritten',
    callback = function(event) changed = event.data end,
  })

  say('Bosun demo, played without a terminal, in Neovim %s', tostring(vim.version()))
  vim.cmd.edit('greet.py')
  local buf = vim.api.nvim_get_current_buf()
  local win = vim.api.nvim_get_current_win()
  local old = vim.api.nvim_buf_get_lines(buf, line - 1, line, true)[1]
  local old_disk = disk()
  vim.api.nvim_win_set_cursor(win, { line, 0 })
  vim.cmd('normal! cc' .. before)
  local mine = text(buf)
  local step = vim.fn.undotree().seq_cur
  say('\n1. greet.py is open. Line %d is changed and not saved:\n     %s\n  -> %s', line, old, before)
  check(vim.bo[buf].modified and disk() == old_disk, 'the file on disk still has the old line')

  session = bosun.new({ agent = 'demo', cwd = vim.fn.getcwd() })
  bosun.open({ session = session })
  say('\n2. A session with the demo agent (%s) is asked: %s', session, prompt)
  local sent, why = bosun.prompt(prompt, { session = session })
  check(sent, 'the prompt was taken', why)

  local questions, seen = {}, {}
  wait('the end of the turn', function()
    local question = bosun.pending()[1]
    if question and not seen[question.id] then
      seen[question.id] = true
      questions[#questions + 1] = question
      say('\n3. The agent asks: %s', question.title)
      for _, file in ipairs(question.files or {}) do
        say('     change in %s', type(file) == 'table' and (file.path or vim.inspect(file)) or file)
      end
      for number, option in ipairs(question.options) do
        say('     [%d] %s (%s)', number, option.name, option.kind)
      end
      check(text(buf) == mine and disk() == old_disk, 'nothing was changed before the answer')
      say('   Answered: allow_once')
      bosun.answer(question.id, 'allow_once')
    end
    return ended ~= nil
  end)

  say('\n4. The turn has ended (%s). The transcript:\n', ended.stop_reason)
  for entry in vim.gsplit(bosun.transcript(session), '\n', { plain = true }) do
    say('     | %s', entry)
  end

  say('\n5. What came of it')
  local now = text(buf)
  local expected = mine:gsub('morning', 'evening')
  check(ended.stop_reason == 'end_turn', 'the turn ended by itself', ended)
  check(#questions == 1, 'one question was asked and answered', #questions)
  check(#bosun.pending() == 0, 'no question is left')
  check(now == expected, 'the agent read the unsaved line and changed it: ' .. after, now)
  check(disk() == expected, 'the file on disk has exactly these bytes', disk())
  check(not vim.bo[buf].modified, 'the buffer is saved')
  check(changed ~= nil, 'BosunFileWritten was sent')
  check(
    vim.fn.undotree(buf).seq_cur == step + 1,
    'the edit is one undo step',
    vim.fn.undotree(buf).seq_cur - step
  )
  vim.api.nvim_win_call(vim.fn.win_findbuf(buf)[1], function() vim.cmd('silent undo') end)
  check(text(buf) == mine, '`u` gives the unsaved text back', text(buf))
  check(vim.v.errmsg == '', 'no error was raised in the editor', vim.v.errmsg)

  if failed > 0 then give_up(failed .. ' of the checks') end
  say('\nThe demo worked.')
  vim.cmd('qall!')
end

vim.defer_fn(function() give_up('the demo took longer than a minute') end, LIMIT_MS + 5000)
local ok, err = xpcall(play, debug.traceback)
if not ok then give_up(err) end
