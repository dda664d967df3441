-- The terminals of all sessions: which there are, how they are listed, chosen and stopped.
--
-- Owns no state but when the sidecar told of them; the list is in `bosun.state`. Views of single ones are in
-- `bosun.terminal`. Called by the inbox (`on_terminals`, `show`), `:Bosun terminals`, the public API and the views.
local M = {}

local display = require('bosun.display')

local function state() return require('bosun.state') end

-- When the list came, in milliseconds of the event loop.
local told = 0

--- What the sidecar last said of a terminal, or nil: { id, session, command, cwd, state = 'running' | 'exited', code,
--- signal, seconds, bytes, agent_only }.
function M.get(id)
  for _, terminal in ipairs(state().terminals or {}) do
    if terminal.id == id then return terminal end
  end
end

--- Those whose command runs, in order of their start.
function M.running()
  return vim.tbl_filter(function(t) return t.state == 'running' end, state().terminals or {})
end

--- How long the command ran, or has run by now, in seconds.
function M.seconds(terminal)
  local seconds = tonumber(terminal.seconds) or 0
  if terminal.state ~= 'running' or not M.get(terminal.id) then return seconds end
  return seconds + (vim.uv.now() - told) / 1000
end

--- The state table has changed.
function M.on_terminals()
  told = vim.uv.now()
  require('bosun.terminal').on_terminals()
end

-- The terminal that a word of a command names.
local function named(word)
  for _, terminal in ipairs(state().terminals or {}) do
    if tostring(terminal.id) == word then return terminal end
  end
end

--- Stops the command of a terminal; how it ended is seen in its view, and its agent is told.
function M.stop(id)
  local terminal = M.get(id)
  if not terminal or terminal.state ~= 'running' then return display.notify('the command has ended') end
  if terminal.agent_only then
    return display.notify('the agent runs this command by itself: only it can stop it')
  end
  if not require('bosun.rpc').notify('terminal_stop', { terminal = id }) then
    display.notify('the sidecar is not running', 'warn')
  end
end

-- One line for a person to choose by.
local function line(terminal)
  local how = require('bosun.winbar').ended(terminal) or 'running'
  return ('%s  %s  %s  %s'):format(
    terminal.id,
    how,
    require('bosun.winbar').duration(M.seconds(terminal)),
    display.line(terminal.command, math.max(20, vim.o.columns - 40))
  )
end

local function choose(list, prompt, callback)
  vim.ui.select(list, { prompt = prompt, format_item = line }, function(choice)
    if choice then callback(choice.id) end
  end)
end

-- Running ones first, and of each kind the newest.
local function listed()
  local out = {}
  for _, wanted in ipairs({ true, false }) do
    local all = state().terminals or {}
    for i = #all, 1, -1 do
      if (all[i].state == 'running') == wanted then out[#out + 1] = all[i] end
    end
  end
  return out
end

local function stop_some(word, all)
  local running = vim.tbl_filter(function(t) return not t.agent_only end, M.running())
  if word then
    local terminal = named(word)
    if not terminal then return display.notify(('there is no terminal %s'):format(word), 'error') end
    return M.stop(terminal.id)
  end
  if #running == 0 then return display.notify('no command runs') end
  if all then
    for _, terminal in ipairs(running) do
      M.stop(terminal.id)
    end
    return
  end
  local here = require('bosun.terminal').id_of(vim.api.nvim_get_current_buf())
  if here then return M.stop(here) end
  if #running == 1 then return M.stop(running[1].id) end
  choose(running, 'Stop', M.stop)
end

--- `:Bosun terminals [id]` and `:Bosun terminals stop [id]`; `bang` stops all that run.
function M.command(words, bang)
  if words[1] == 'stop' then return stop_some(words[2], bang) end
  if words[1] then
    local terminal = named(words[1])
    if not terminal then return display.notify(('there is no terminal %s'):format(words[1]), 'error') end
    return require('bosun.terminal').open(terminal.id)
  end
  local list = listed()
  if #list == 0 then return display.notify('there is no terminal') end
  choose(list, 'Terminal', require('bosun.terminal').open)
end

--- Completion of the words after `:Bosun terminals`.
function M.complete(words)
  if #words > 1 or (words[1] and words[1] ~= 'stop') then return {} end
  local out = words[1] and {} or { 'stop' }
  for _, terminal in ipairs(words[1] and M.running() or state().terminals or {}) do
    out[#out + 1] = tostring(terminal.id)
  end
  return out
end

--- A key in a transcript asked for a terminal. The answer comes a moment later: who has gone on meanwhile stays there.
function M.show(id)
  if not M.get(id) then return display.notify('this terminal is gone: its session has ended') end
  local waits = vim.w.bosun == 'transcript' and vim.api.nvim_get_mode().mode == 'n'
  require('bosun.terminal').open(id, waits)
end

return M
