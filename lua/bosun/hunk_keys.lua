-- The keys of hunks in a person's own buffers: the way from one to the next, verdicts at the cursor, and a text object.
--
-- Owns no state. Called by the <Plug> maps and by the review tab.
local M = {}

local api, fn = vim.api, vim.fn
local notice = require('bosun.notice')

local function review() return require('bosun.review') end

local function places()
  local file = review().of(api.nvim_get_current_buf())
  return file and review().placed(file) or {}
end

-- The line that a hunk is reached at, one-based: one that only took lines out has none of its own.
local function line_of(place) return math.min(place.first + 1, api.nvim_buf_line_count(0)) end

local function none()
  local counts = review().counts()
  if counts.hunks > 0 then
    notice.say('info', ('no hunk here; %d in other files (:Bosun review)'):format(counts.hunks))
  else
    notice.say('info', 'nothing waits for a review')
  end
end

--- To the next hunk (`by` 1) or the one before (-1), `count` times, around the end as 'wrapscan' says.
function M.jump(by, count)
  local list = places()
  if #list == 0 then return none() end
  local line = api.nvim_win_get_cursor(0)[1]
  for _ = 1, count do
    local best = nil
    for _, place in ipairs(list) do
      local at = line_of(place)
      if by > 0 and at > line and not best then best = at end
      if by < 0 and at < line then best = at end
    end
    if not best and vim.o.wrapscan then best = line_of(by > 0 and list[1] or list[#list]) end
    if not best then
      notice.say('info', by > 0 and 'this is the last hunk' or 'this is the first hunk')
      break
    end
    line = best
  end
  if line == api.nvim_win_get_cursor(0)[1] then return end
  vim.cmd("normal! m'")
  api.nvim_win_set_cursor(0, { line, 0 })
  vim.cmd('normal! ^')
  if api.nvim_get_mode().mode == 'n' then vim.cmd('silent! normal! zv') end
end

-- The selected lines, and out of visual mode.
local function selection()
  if not api.nvim_get_mode().mode:find('^[vV\22]') then return nil end
  local from, to = fn.line('v'), fn.line('.')
  vim.cmd('normal! \27')
  return { math.min(from, to), math.max(from, to) }
end

--- Keeps or rejects the hunk at the cursor, or those in the selection.
function M.verdict(verdict)
  local ok, err = review().verdict(verdict, { range = selection() })
  if not ok then notice.say('warn', err) end
end

--- Selects the lines of the hunk at the cursor.
function M.select()
  local place = review().at(api.nvim_get_current_buf(), api.nvim_win_get_cursor(0)[1] - 1)
  if not place then return notice.say('info', 'there is no hunk at the cursor') end
  if place.first == place.last then return notice.say('info', 'this hunk only took lines out') end
  if api.nvim_get_mode().mode:find('^[vV\22]') then vim.cmd('normal! \27') end
  vim.cmd(('normal! %dGV%dG'):format(place.first + 1, place.last))
end

--- What a <Plug> map of hunks does, by its name.
M.plugs = {
  ['next-hunk'] = function() M.jump(1, vim.v.count1) end,
  ['prev-hunk'] = function() M.jump(-1, vim.v.count1) end,
  keep = function() M.verdict('keep') end,
  reject = function() M.verdict('reject') end,
  ['review-undo'] = function()
    local ok, err = review().undo()
    if not ok then notice.say('warn', err) end
  end,
  hunk = function() M.select() end,
}

return M
