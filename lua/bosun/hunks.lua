-- The keys of a merge: how lines go from the sides into its result, and how the cursor finds the conflicts.
--
-- Owns no state: it works on the view of its caller. With more than two texts side by side the keys that 'diff' mode
-- has do not know which text is meant. Called by `bosun.merge` and `bosun.diff`.
local M = {}

local api, fn = vim.api, vim.fn
local display = require('bosun.display')
local footer = require('bosun.footer')
local result = require('bosun.result')

local keys = {
  { ':w ZZ', 'answer with the text of the result' },
  { 'do d3o', 'in the result: take the lines of the other side' },
  { 'd2o d1o', 'in the result: take your lines, the lines of the base' },
  { 'dp', 'in the other windows: put these lines into the result' },
  { ']c [c', 'next, previous change' },
  { ']x [x', 'in the result: next, previous conflict' },
  { 'u :e', 'in the result: undo, start again' },
  { '1-9 <CR>', 'in the panel: answer with that option' },
  { 'q', 'hide; the question and the result stay' },
  { '<C-c>', 'in the panel: cancel the turn' },
}

local function buf_of(v, role) return role == 'yours' and v.live or v.bufs[role] end

--- Takes our key away from the person's buffer again.
function M.take_keys(v)
  local lent = v.lent_keys
  if not lent then return end
  v.lent_keys = nil
  if not api.nvim_buf_is_valid(lent.buf) then return end
  pcall(vim.keymap.del, 'n', 'dp', { buffer = lent.buf })
  if lent.before then api.nvim_buf_call(lent.buf, function() fn.mapset('n', false, lent.before) end) end
end

--- Takes or puts the change at the cursor, by a command of 'diff' mode. The whole of it: where lines are matched one by
--- one, 'diff' mode would move only the piece under the cursor.
function M.move(command)
  local before = vim.o.diffopt
  local plain = before:gsub(',?linematch:%d+', ''):gsub('^,', '')
  if plain ~= before then
    vim.o.diffopt = plain
    vim.cmd('diffupdate')
  end
  local ok, err = pcall(vim.cmd, command)
  if plain ~= before then vim.o.diffopt = before end
  if not ok then display.notify(tostring(err), 'warn') end
end

local function put(v)
  if v.loaded and api.nvim_buf_is_loaded(v.bufs.result) then M.move('diffput ' .. v.bufs.result) end
end

--- Gives the person's own buffer our key, while the cursor is in our window on it.
function M.lend_keys(v)
  if v.lent_keys or not v.live or api.nvim_get_current_win() ~= v.wins.yours then return end
  if api.nvim_win_get_buf(v.wins.yours) ~= v.live then return end
  local before = fn.maparg('dp', 'n', false, true)
  v.lent_keys = { buf = v.live, before = before.buffer == 1 and before or nil }
  vim.keymap.set('n', 'dp', function() put(v) end, { buffer = v.live, desc = 'Put into the result' })
end

-- Takes the hunk at the cursor from a side.
local function get(v, role)
  if v.loaded then M.move('diffget ' .. buf_of(v, role)) end
end

local function to_conflict(v, by)
  local line = fn.line('.') - 1
  local best
  for _, span in ipairs(result.conflicts(v.bufs.result)) do
    if by > 0 and span[1] > line and not best then best = span[1] end
    if by < 0 and span[1] < line then best = span[1] end
  end
  if not best then return display.notify('no more conflicts that way') end
  vim.cmd('normal! ' .. (best + 1) .. 'Gzv')
end

--- Maps the keys of the buffer of that role.
function M.map(v, role)
  local buf = v.bufs[role]
  local function map(lhs, rhs, desc)
    vim.keymap.set('n', lhs, rhs, { buffer = buf, nowait = true, silent = true, desc = desc })
  end
  map('g?', function() display.keys('Merge', keys) end, 'Show these keys')
  if role == 'panel' then
    map('<C-c>', function() footer.cancel(v) end, 'Cancel the turn')
  elseif role ~= 'result' then
    map('dp', function() put(v) end, 'Put into the result')
  else
    for lhs, from in pairs({ ['do'] = 'theirs', d1o = 'base', d2o = 'yours', d3o = 'theirs' }) do
      map(lhs, function() get(v, from) end, 'Take the lines of ' .. from)
    end
    map(
      'dp',
      function() display.notify('`dp` puts lines into the result from the other windows') end,
      'Say how'
    )
    map(']x', function() to_conflict(v, 1) end, 'Next conflict')
    map('[x', function() to_conflict(v, -1) end, 'Previous conflict')
  end
end

return M
