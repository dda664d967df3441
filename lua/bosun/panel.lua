-- The panel of questions: a float that the person asked for, in which digits and <CR> answer.
--
-- Owns its window and buffer, and where the person came from. It opens only on request, so it may take the focus; every
-- way of leaving it but an answer leaves the question pending. Called by `bosun.questions`.
local M = {}

local api, fn, uv = vim.api, vim.fn, vim.uv
local display = require('bosun.display')
local ns = api.nvim_create_namespace('bosun.panel')

-- { win, buf, question, shown, since, origin, insert, rows }.
--   question, shown  what the panel is about, and what it has drawn
--   since            0 when the person chose the question, else when it came under their fingers by itself
--   origin, insert   the window and mode to go back to
--   rows             line (one-based) to number of option
local panel = nil

local keys = {
  { '1-9', 'answer with that option' },
  { '<CR>', 'answer with the option under the cursor' },
  { 'gd', 'show the change as a diff' },
  { 'R', 'reject, and say why' },
  { '<Tab> ]]', 'next question' },
  { '<S-Tab> [[', 'previous question' },
  { 'q <Esc>', 'leave; the question stays' },
  { '<C-c>', 'cancel the turn' },
}

local function questions() return require('bosun.questions') end

function M.is_open() return panel ~= nil and api.nvim_win_is_valid(panel.win) end

local function leave(stay)
  local p = panel
  if not p then return end
  panel = nil
  local inside = api.nvim_get_current_win() == p.win
  if inside and not stay and api.nvim_win_is_valid(p.origin) then
    api.nvim_set_current_win(p.origin)
    if p.insert then vim.cmd.startinsert() end
  end
  if api.nvim_win_is_valid(p.win) then pcall(api.nvim_win_close, p.win, true) end
  questions().refresh()
end

local function index_of(list, id)
  for i, q in ipairs(list) do
    if q.id == id then return i end
  end
end

local function render(q, position, count)
  local lines, rows, marks = {}, {}, {}
  local function add(text, group)
    lines[#lines + 1] = text
    if group then marks[#marks + 1] = { #lines - 1, #text, group } end
  end
  for _, line in ipairs(display.lines({ q.title or '' })) do
    add(line, 'BosunQuestion')
  end
  add('')
  for i, option in ipairs(questions().options(q)) do
    add(('  %d  %s'):format(i, display.line(option.name)), 'BosunOption')
    rows[#lines] = i
  end
  local body = display.lines(q.body)
  if #body > 0 then add('') end
  for _, line in ipairs(body) do
    add(line)
  end
  if q.files and #q.files > 0 then
    add('')
    for i, file in ipairs(q.files) do
      local prefix = i > 1 and '          ' or q.merge and 'gd merges: ' or 'gd shows: '
      add(prefix .. display.line(file), 'BosunMeta')
    end
  end
  vim.bo[panel.buf].modifiable = true
  api.nvim_buf_set_lines(panel.buf, 0, -1, false, lines)
  vim.bo[panel.buf].modifiable = false
  api.nvim_buf_clear_namespace(panel.buf, ns, 0, -1)
  for _, m in ipairs(marks) do
    api.nvim_buf_set_extmark(panel.buf, ns, m[1], 0, { end_col = m[2], hl_group = m[3] })
  end
  panel.rows = rows

  local width = math.max(20, math.min(90, vim.o.columns - 4))
  local height = 0
  for _, line in ipairs(lines) do
    height = height + math.max(1, math.ceil(fn.strdisplaywidth(line:sub(1, 4096)) / width))
  end
  height = math.max(1, math.min(height, vim.o.lines - vim.o.cmdheight - 4))
  local place = count > 1 and (' %d of %d '):format(position, count) or ' '
  return {
    relative = 'editor',
    row = math.max(0, vim.o.lines - vim.o.cmdheight - height - 4),
    col = math.max(0, math.floor((vim.o.columns - width) / 2) - 1),
    width = math.min(width, math.max(1, vim.o.columns - 2)),
    height = height,
    style = 'minimal',
    border = vim.o.lines > 6 and 'rounded' or 'none',
    zindex = 50,
    title = { { (' %s asks%s'):format(display.line(questions().asker(q), 30), place), 'BosunBarQuestion' } },
    footer = { { ' 1-9 answers · gd diff · q leaves it pending · g? keys ', 'BosunMeta' } },
  }
end

local function show(id, by_itself)
  local list = questions().pending()
  local position = index_of(list, id)
  if not position then return leave() end
  uv.update_time()
  panel.question, panel.shown = id, id
  panel.since = by_itself and uv.now() or 0
  local conf = render(list[position], position, #list)
  if conf.border == 'none' then
    conf.title, conf.footer = nil, nil
  end
  if panel.win then
    api.nvim_win_set_config(panel.win, conf)
  else
    panel.win = api.nvim_open_win(panel.buf, true, conf)
    display.win_option(panel.win, 'wrap', true)
    display.win_option(panel.win, 'linebreak', true)
    display.win_option(panel.win, 'winfixbuf', true)
  end
  api.nvim_win_set_cursor(panel.win, { 1, 0 })
end

local function step(by)
  local list = questions().pending()
  if #list == 0 then return leave() end
  local at = index_of(list, panel.question) or 1
  show(list[(at - 1 + by) % #list + 1].id, false)
end

local function answer(number)
  if not panel then return end
  uv.update_time()
  if uv.now() - panel.since < questions().GUARD_MS then
    return display.notify('this question has only just come up: read it, then answer')
  end
  local list = questions().pending()
  local at = index_of(list, panel.question)
  local q = at and list[at]
  if not q or not questions().options(q)[number] then return end
  local nxt = list[at + 1] or list[1]
  -- Told beforehand which one follows, so that the change of the list does not choose another.
  panel.question = nxt.id ~= q.id and nxt.id or nil
  questions().answer(q.id, number)
end

local function map(lhs, rhs, desc)
  vim.keymap.set('n', lhs, rhs, { buffer = panel.buf, nowait = true, silent = true, desc = desc })
end

local function create_buf()
  local buf = api.nvim_create_buf(false, true)
  require('bosun.buffers').own(buf)
  vim.bo[buf].bufhidden = 'wipe'
  return buf
end

local function maps()
  for i = 1, 9 do
    map(tostring(i), function() answer(i) end, 'Answer with option ' .. i)
  end
  map('<CR>', function() answer(panel.rows[fn.line('.')] or 0) end, 'Answer with the option under the cursor')
  map('R', function()
    local id = panel and panel.question
    if not id then return end
    leave()
    questions().refuse(id)
  end, 'Reject, and say why')
  map('gd', function()
    local id, origin = panel.question, panel.origin
    leave(true)
    require('bosun.diff').open(id, 0, { origin = origin })
  end, 'Show the diff')
  for _, key in ipairs({ '<Tab>', ']]' }) do
    map(key, function() step(1) end, 'Next question')
  end
  for _, key in ipairs({ '<S-Tab>', '[[' }) do
    map(key, function() step(-1) end, 'Previous question')
  end
  for _, key in ipairs({ 'q', '<Esc>' }) do
    map(key, function() leave() end, 'Leave the question pending')
  end
  map('<C-c>', function()
    local q = questions().get(panel.question)
    if q then require('bosun.chat').cancel(q.session) end
  end, 'Cancel the turn')
  map('g?', function() display.keys('Questions', keys) end, 'Show these keys')
end

--- Opens the panel on the oldest question, or on `id`, and goes there.
function M.open(id)
  local list = questions().pending()
  if #list == 0 then return display.notify('no question is waiting') end
  if fn.getcmdwintype() ~= '' then return display.notify('leave the command-line window first', 'warn') end
  local insert = fn.mode():find('^[iR]') ~= nil
  if insert then vim.cmd.stopinsert() end
  if M.is_open() and api.nvim_win_get_tabpage(panel.win) ~= api.nvim_get_current_tabpage() then
    leave(true)
  end
  if M.is_open() then
    api.nvim_set_current_win(panel.win)
    return show(id or panel.question or list[1].id, false)
  end
  panel = { buf = create_buf(), origin = api.nvim_get_current_win(), insert = insert, since = 0, rows = {} }
  maps()
  local buf = panel.buf
  api.nvim_create_autocmd('BufWipeout', {
    buffer = buf,
    once = true,
    callback = function()
      if panel and panel.buf == buf then
        panel = nil
        questions().refresh()
      end
    end,
  })
  local ok, err = pcall(show, id or list[1].id, false)
  if not ok then
    panel = nil
    pcall(api.nvim_buf_delete, buf, { force = true })
    display.notify('the question cannot be shown here: ' .. tostring(err), 'warn')
  end
  questions().refresh()
end

--- The list has changed: stays on the question, or goes on to the next, or ends.
function M.on_questions()
  if not panel then return end
  if not M.is_open() then
    panel = nil
    return
  end
  local list = questions().pending()
  if #list == 0 then return leave() end
  local shown = panel.shown == panel.question and panel.question
  if shown and index_of(list, shown) then
    -- The same question; only its place in the list may be another.
    local since = panel.since
    local cursor = api.nvim_win_get_cursor(panel.win)
    show(shown, true)
    panel.since = since
    pcall(api.nvim_win_set_cursor, panel.win, cursor)
  else
    local follow = panel.question and index_of(list, panel.question) and panel.question or list[1].id
    show(follow, true)
  end
end

return M
