-- What stands above the transcript, the prompt and a terminal.
--
-- Owns no state. Builds 'winbar' from fixed strings and escaped text; no text of an agent is ever evaluated. Called by
-- the chat whenever sessions, questions or the context change, and by the views of terminals.
local M = {}

local display = require('bosun.display')

local words = {
  starting = 'starting…',
  idle = 'idle',
  running = 'working…',
  waiting = 'waits for you',
  cancelling = 'cancelling…',
  dead = 'ended',
}

-- 12345 as `12k`: the order of magnitude is what matters.
local function short(number)
  if number >= 1e6 then return ('%.1fM'):format(number / 1e6) end
  if number >= 1e3 then return ('%dk'):format(math.floor(number / 1e3 + 0.5)) end
  return tostring(number)
end

local function usage_of(s)
  local usage, parts = s.usage, {}
  local used = usage and tonumber(usage.used)
  local size = usage and tonumber(usage.size)
  if used and size and size > 0 then
    parts[1] = ('%s/%s'):format(short(used), short(size))
  elseif used then
    parts[1] = short(used)
  end
  if s.cost and s.cost ~= '' then parts[#parts + 1] = display.bar(s.cost, 16) end
  return table.concat(parts, ' ')
end

--- Above a transcript: agent · title · state, and what was used on the right. The title is what gives way in a narrow
--- window.
function M.transcript(s, win)
  if not s then return '%#BosunBar# Bosun ' end
  local parts = { '%#BosunBar# ', display.bar(s.agent, 24) }
  if s.mode and s.mode ~= '' then parts[#parts + 1] = ' (' .. display.bar(s.mode, 16) .. ')' end
  local state = words[s.state] or s.state or ''
  local usage = usage_of(s)
  if s.title and s.title ~= '' then
    local taken = vim.fn.strdisplaywidth(s.agent .. state .. usage) + 10
    local room = vim.api.nvim_win_get_width(win) - taken
    parts[#parts + 1] = '%< · ' .. display.bar(s.title, math.max(8, math.min(60, room)))
  end
  parts[#parts + 1] = '%#BosunBarState# · ' .. display.bar(state) .. ' '
  if usage ~= '' then parts[#parts + 1] = '%=%#BosunBarHint#' .. usage .. ' ' end
  return table.concat(parts)
end

--- Above a prompt: the question and how it is answered from here, else what will go along; then the queue and the keys.
--- In a narrow window the names give way, not the options and the keys.
function M.prompt(s, win)
  if not s then return '%#BosunBar# no session ' end
  local questions = require('bosun.questions')
  local parts = {}
  local width = vim.api.nvim_win_get_width(win)
  local q = questions.head(s.id)
  if q then
    local count = #questions.pending(s.id)
    local place = count > 1 and ('1/%d '):format(count) or ''
    -- A digit answers this question, whatever else stands in the transcript: its name stands here.
    local how = display.bar(questions.summary(q, 60))
    if not require('bosun.prompt').is_empty(s.id) then
      how = 'with an empty prompt: ' .. how
    elseif vim.api.nvim_get_current_win() == win and vim.fn.mode():find('^i') then
      how = '<Esc>, then ' .. how
    end
    if q.files and #q.files > 0 then how = how .. '  gd diff' end
    parts[1] = '%#BosunBarQuestion# ' .. place .. how .. ' %<· ' .. display.bar(q.title, 30) .. ' '
  else
    local without = require('bosun.prompt').without_context(s.id)
    local labels = require('bosun.context').labels()
    local hint = '%#BosunBarHint#'
    local narrow = width < 40
    if #labels == 0 then
      parts[1] = hint .. ' no context '
    elseif without then
      parts[1] = hint .. ' no context (<C-x> on) '
    else
      parts[1] = (narrow and '%#BosunBar# @ %<' or '%#BosunBar# context: %<')
        .. display.bar(table.concat(labels, ', '), 48)
        .. hint
        .. (narrow and ' ' or ' (<C-x> off) ')
    end
  end
  local queued = type(s.queue) == 'table' and #s.queue or 0
  if queued > 0 then parts[#parts + 1] = ('%%#BosunBar#· %d queued '):format(queued) end
  if width >= 60 then parts[#parts + 1] = '%=%#BosunBarHint#g? keys ' end
  return table.concat(parts)
end

--- Seconds as a person reads them: `7s`, `2m05s`, `1h02m`.
function M.duration(seconds)
  seconds = math.floor(seconds)
  if seconds < 60 then return seconds .. 's' end
  if seconds < 3600 then return ('%dm%02ds'):format(math.floor(seconds / 60), seconds % 60) end
  return ('%dh%02dm'):format(math.floor(seconds / 3600), math.floor(seconds / 60) % 60)
end

--- How a command ended; nil while it runs.
function M.ended(terminal)
  if terminal.state == 'running' then return nil end
  if terminal.signal and terminal.signal ~= '' then
    return 'ended by ' .. display.line(terminal.signal, 12)
  end
  if terminal.code then return ('exit %d'):format(terminal.code) end
  return 'ended'
end

--- Above a terminal: command · state and time, and on the right what can be done. `now`: `seconds` it ran; `gone`, when
--- the sidecar does not know it any more; `typing`, when keys go to the program. The command gives way in a narrow
--- window.
function M.terminal(terminal, win, now)
  local ended = M.ended(terminal) or (now.gone and 'ended with its session')
  local state = (ended and ended .. ' after ' or 'running ') .. M.duration(now.seconds)
  local hint = 'q hide'
  if now.typing then
    hint = (ended and 'ended: ' or '') .. '<C-\\><C-n> ends typing'
  elseif not ended and not terminal.agent_only then
    hint = 'i type  <C-c> stop  q hide'
  end
  local width = vim.api.nvim_win_get_width(win)
  if width < 50 and not now.typing then hint = '' end
  local failed = ended and not now.gone and terminal.code ~= 0
  local room = math.max(8, width - vim.fn.strdisplaywidth(state .. hint) - 8)
  return table.concat({
    '%#BosunBar# ',
    display.bar(terminal.command, room),
    failed and '%#BosunToolFailed#' or '%#BosunBarState#',
    ' · ',
    display.bar(state),
    ' %<%=%#BosunBarHint#',
    display.bar(hint),
    ' ',
  })
end

return M
