-- The panel below texts side by side: what a question asks, and the digits that answer it.
--
-- Owns no state: it draws into the view of its caller (`bosun.sides`): question, rows, bufs.panel, wins.panel. Never
-- answers by itself. Called by `bosun.diff` and `bosun.merge`.
local M = {}

local api, fn = vim.api, vim.fn
local display = require('bosun.display')
local sides = require('bosun.sides')
local ns = api.nvim_create_namespace('bosun.footer')

local function questions() return require('bosun.questions') end

--- What the window of a panel is like.
function M.dress(win)
  local options = {
    number = false,
    relativenumber = false,
    signcolumn = 'no',
    foldcolumn = '0',
    cursorline = true,
    winfixheight = true,
    winfixbuf = true,
    wrap = true,
  }
  for name, value in pairs(options) do
    display.win_option(win, name, value)
  end
end

--- Draws the options and the text of the view's question. `notes` are further lines, `state` goes into the bar behind
--- the title. Without the question nothing changes.
function M.draw(v, notes, state)
  local q = questions().get(v.question)
  if not q or not api.nvim_buf_is_valid(v.bufs.panel) then return end
  local lines, rows = {}, {}
  local options = questions().options(q)
  for i, option in ipairs(options) do
    lines[#lines + 1] = ('  %d  %s'):format(i, display.line(option.name))
    rows[#lines] = i
  end
  for _, list in ipairs({ notes, q.body }) do
    for _, line in ipairs(display.lines(list)) do
      lines[#lines + 1] = '     ' .. line
    end
  end
  sides.fill(v.bufs.panel, 0, -1, lines)
  v.rows = rows
  api.nvim_buf_clear_namespace(v.bufs.panel, ns, 0, -1)
  for row = 1, #lines do
    local group = rows[row] and 'BosunOption' or 'BosunMeta'
    api.nvim_buf_set_extmark(v.bufs.panel, ns, row - 1, 0, { end_col = #lines[row], hl_group = group })
  end
  if not api.nvim_win_is_valid(v.wins.panel) then return end
  local extra = math.min(#lines - #options, 4)
  local height = math.min(#options + 1 + extra, 10, math.max(1, math.floor(vim.o.lines / 3)))
  pcall(api.nvim_win_set_height, v.wins.panel, height)
  display.winbar(
    v.wins.panel,
    '%#BosunBarQuestion# '
      .. display.bar(q.title, 70)
      .. '%#BosunBar#'
      .. state
      .. '%<%=%#BosunBarHint#1-9 answers · q hides · g? keys '
  )
end

--- Maps the keys that answer. `answer` gets the number of an option, 0 where there is none.
function M.map(v, answer)
  local function map(lhs, rhs, desc)
    vim.keymap.set('n', lhs, rhs, { buffer = v.bufs.panel, nowait = true, silent = true, desc = desc })
  end
  for i = 1, 9 do
    map(tostring(i), function() answer(i) end, 'Answer with option ' .. i)
  end
  map('<CR>', function() answer(v.rows[fn.line('.')] or 0) end, 'Answer with the option under the cursor')
end

--- Cancels the turn of the view's question.
function M.cancel(v)
  local q = questions().get(v.question)
  if q then require('bosun.chat').cancel(q.session) end
end

return M
