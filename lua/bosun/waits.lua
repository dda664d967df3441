-- Says that a change waits for what a person has begun: once a wait, and not if it is over before anybody could read.
--
-- Owns which buffers a change waits for, and what was said of that. It never waits itself and never edits. Called by
-- `edit`.
local M = {}

local uv = vim.uv

-- How long a change waits unsaid, in milliseconds.
local QUIET = 150
-- What is tried again is so soon; longer ago, and it was another wait. In milliseconds.
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

--- A change of the buffer waits for the end of `mode`, which may be the same wait as before.
function M.begin(buf, mode)
  local wait = waits[buf]
  if wait and uv.now() - wait.at < SAME then
    wait.at = uv.now()
    return
  end
  wait = { mode = mode, at = uv.now() }
  waits[buf] = wait
  vim.defer_fn(function()
    if waits[buf] ~= wait or not vim.api.nvim_buf_is_valid(buf) then return end
    local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ':~:.')
    require('bosun.notice').say('info', ('the change of %s waits until %s'):format(name, ending(mode)))
  end, QUIET)
end

--- It does not wait (any more).
function M.over(buf) waits[buf] = nil end

return M
