-- Says that a change waits for what a person has begun: once a wait, and not if it is over before anybody could read.
--
-- Owns which buffers a change waits for, and the words at the cursor. It never waits itself and never edits. Called by
-- `edit`.
local M = {}

local api, uv = vim.api, vim.uv

local ns = api.nvim_create_namespace('bosun.waits')

-- How long a change waits unsaid, in milliseconds.
local QUIET = 150
-- What is tried again and again is tried again within this time, in milliseconds.
local SAME = 1000

-- By buffer: { mode, at }. `at`: when it was waited for last, in milliseconds.
local waits = {}

local function ending(mode)
  if mode:find('^no') then return 'your command is finished' end
  if mode:find('^[vV\22]') then return 'you leave visual mode' end
  if mode:find('^[sS\19]') then return 'you leave select mode' end
  if mode:find('^[iR]v?[cx]$') then return 'the completion is over' end
  if mode:find('^R') then return 'you leave replace mode' end
  if mode:find('^insert') then return 'you leave insert mode' end
  if mode:find('^command') then return 'the command-line window is closed' end
  if mode == 'autocommand' then return 'an autocommand has ended' end
  return 'the editor allows it'
end

-- In a message, and at the end of the cursor's line: 'showmode' draws over messages in most of these modes.
local function say(buf, mode)
  local name = vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ':~:.')
  local text = ('the change of %s waits until %s'):format(name, ending(mode))
  require('bosun.notice').say('info', text)
  if api.nvim_get_current_buf() ~= buf then return end
  local line = api.nvim_win_get_cursor(0)[1] - 1
  pcall(api.nvim_buf_set_extmark, buf, ns, line, 0, { virt_text = { { ' ' .. text, 'BosunNoticeInfo' } } })
end

-- What is tried again and again ends without a word when it is taken back.
local function forget(buf, wait)
  local again = wait.mode == 'autocommand' or wait.mode == 'textlock'
  if waits[buf] ~= wait or not again then return end
  if uv.now() - wait.at >= SAME then return M.over(buf) end
  vim.defer_fn(function() forget(buf, wait) end, SAME)
end

--- A change of the buffer waits for the end of `mode`, which may be the same wait as before.
function M.begin(buf, mode)
  local wait = waits[buf]
  if wait and wait.mode == mode then
    wait.at = uv.now()
    return
  end
  M.over(buf)
  wait = { mode = mode, at = uv.now() }
  waits[buf] = wait
  vim.defer_fn(function()
    if waits[buf] == wait and api.nvim_buf_is_valid(buf) then say(buf, mode) end
    forget(buf, wait)
  end, QUIET)
end

--- It does not wait (any more).
function M.over(buf)
  if not waits[buf] then return end
  waits[buf] = nil
  if api.nvim_buf_is_valid(buf) then api.nvim_buf_clear_namespace(buf, ns, 0, -1) end
end

return M
