-- The diffs of a question: a tab of our own with the live text, the proposal and a panel that answers.
--
-- Owns that tab. It is opened only by a person, at once (so that nothing takes the focus later), and filled as the text
-- arrives. Any way of closing it only hides it and leaves the question pending; the live buffer's windows, present and
-- future, keep their options. Never computes a diff: 'diff' mode of the editor does. Called by the inbox (`recv`), by
-- `bosun.questions` (`on_questions`) and by keys.
local M = {}

local api, fn = vim.api, vim.fn
local display = require('bosun.display')
local ns = api.nvim_create_namespace('bosun.diff')

-- The open tab, nil when there is none: { question, index, count, tab, wins = { left, right, panel },
-- bufs = { old, new, panel }, live, saved, origin, loaded, rows, note, path }.
--   live    the buffer of the file, when it is open: it is the left side itself
--   saved   options of the left window as they were before 'diff'
--   loaded  the text of both sides is complete
local view = nil

-- Larger texts are shown without syntax: it is slow where it matters least.
local MAX_SYNTAX_LINES = 20000

-- Window options that `:diffthis` and this file set.
local touched = {
  'diff',
  'scrollbind',
  'cursorbind',
  'foldmethod',
  'foldcolumn',
  'foldenable',
  'foldlevel',
  'wrap',
  'winbar',
  'winfixheight',
}

local keys = {
  { '1-9', 'answer with that option' },
  { '<CR>', 'answer with the option under the cursor' },
  { ']f [f', 'next, previous file of the request' },
  { 'q', 'hide; the question stays' },
  { '<C-c>', 'cancel the turn' },
}

local function questions() return require('bosun.questions') end

local function scratch(name)
  local buf = api.nvim_create_buf(false, true)
  require('bosun.buffers').own(buf)
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].swapfile = false
  vim.bo[buf].undolevels = -1
  vim.bo[buf].modifiable = false
  if name and not pcall(api.nvim_buf_set_name, buf, name) then
    pcall(api.nvim_buf_set_name, buf, name .. '#' .. buf)
  end
  return buf
end

local function fill(buf, first, last, lines)
  vim.bo[buf].modifiable = true
  api.nvim_buf_set_lines(buf, first, last, false, lines)
  vim.bo[buf].modifiable = false
  vim.bo[buf].modified = false
end

local function save_options(win)
  local out = {}
  for _, name in ipairs(touched) do
    local ok, value = pcall(api.nvim_get_option_value, name, { scope = 'local', win = win })
    if ok and api.nvim_get_option_info2(name, {}).scope == 'win' then out[name] = value end
  end
  return out
end

-- Before the window goes: what it shows would otherwise hand its options on to the next window of that buffer.
local function restore_left(v)
  local win = v.wins.left
  if not v.saved or not api.nvim_win_is_valid(win) then return end
  local saved = v.saved
  v.saved = nil
  pcall(api.nvim_win_call, win, function() vim.cmd('diffoff') end)
  for name, value in pairs(saved) do
    pcall(api.nvim_set_option_value, name, value, { scope = 'local', win = win })
  end
end

local function ours(v, win) return win == v.wins.left or win == v.wins.right or win == v.wins.panel end

-- Whether the tab holds windows that the person opened there.
local function has_guests(v)
  for _, win in ipairs(api.nvim_tabpage_list_wins(v.tab)) do
    if not ours(v, win) and api.nvim_win_get_config(win).relative == '' then return true end
  end
  return false
end

local function go_back(v)
  if api.nvim_win_is_valid(v.origin) then
    api.nvim_set_current_win(v.origin)
  elseif v.origin_tab and api.nvim_tabpage_is_valid(v.origin_tab) then
    api.nvim_set_current_tabpage(v.origin_tab)
  end
end

local function close_windows(v)
  for _, role in ipairs({ 'panel', 'right', 'left' }) do
    local win = v.wins[role]
    if win and api.nvim_win_is_valid(win) and not pcall(api.nvim_win_close, win, true) then
      -- The last window of the last tab: it stays, as an ordinary one.
      if role ~= 'left' or not v.live then api.nvim_win_call(win, function() vim.cmd('enew') end) end
      display.win_option(win, 'winbar', '')
    end
  end
end

-- Closing the last window of a buffer that does not stay when it is hidden would throw its unsaved text away: it stays
-- this once. Returns what makes it go by its own rule again.
local function keep_unsaved(v)
  local buf = v.live
  local loses = buf
    and api.nvim_buf_is_loaded(buf)
    and vim.bo[buf].modified
    and vim.bo[buf].bufhidden:find('^[wud]')
  if not loses then
    return function() end
  end
  local rule = vim.bo[buf].bufhidden
  vim.bo[buf].bufhidden = 'hide'
  return function()
    if api.nvim_buf_is_valid(buf) then vim.bo[buf].bufhidden = rule end
  end
end

--- Hides the diff. The question stays as it is.
function M.hide()
  local v = view
  if not v then return end
  view = nil
  restore_left(v)
  local as_before = keep_unsaved(v)
  if api.nvim_tabpage_is_valid(v.tab) then
    local here = api.nvim_get_current_tabpage() == v.tab
    if has_guests(v) or #api.nvim_list_tabpages() == 1 then
      close_windows(v)
    else
      if here then go_back(v) end
      if api.nvim_get_current_tabpage() == v.tab then
        close_windows(v)
      else
        local number = api.nvim_tabpage_get_number(v.tab)
        if not pcall(vim.cmd, 'tabclose! ' .. number) then close_windows(v) end
      end
    end
  end
  as_before()
  for _, buf in pairs(v.bufs) do
    if api.nvim_buf_is_valid(buf) then pcall(api.nvim_buf_delete, buf, { force = true }) end
  end
  questions().refresh()
end

local function draw_panel(v)
  local q = questions().get(v.question)
  if not q then return end
  local lines, rows = {}, {}
  for i, option in ipairs(questions().options(q)) do
    lines[#lines + 1] = ('  %d  %s'):format(i, display.line(option.name))
    rows[#lines] = i
  end
  if v.note then
    for _, line in ipairs(display.lines({ v.note })) do
      lines[#lines + 1] = '     ' .. line
    end
  end
  for _, line in ipairs(display.lines(q.body)) do
    lines[#lines + 1] = '     ' .. line
  end
  fill(v.bufs.panel, 0, -1, lines)
  v.rows = rows
  api.nvim_buf_clear_namespace(v.bufs.panel, ns, 0, -1)
  for row = 1, #lines do
    local group = rows[row] and 'BosunOption' or 'BosunMeta'
    api.nvim_buf_set_extmark(v.bufs.panel, ns, row - 1, 0, { end_col = #lines[row], hl_group = group })
  end
  if not api.nvim_win_is_valid(v.wins.panel) then return end
  local extra = math.min(#lines - #questions().options(q), 4)
  local height = math.min(#questions().options(q) + 1 + extra, 10, math.max(1, math.floor(vim.o.lines / 3)))
  pcall(api.nvim_win_set_height, v.wins.panel, height)
  local place = v.count > 1 and (' · file %d of %d (]f)'):format(v.index + 1, v.count) or ''
  local state = v.loaded and '' or ' · loading…'
  display.winbar(
    v.wins.panel,
    '%#BosunBarQuestion# '
      .. display.bar(q.title, 70)
      .. '%#BosunBar#'
      .. place
      .. state
      .. '%<%=%#BosunBarHint#1-9 answers · q hides · g? keys '
  )
end

local function draw_bars(v)
  local path = display.bar(v.path or '', 80)
  local side = v.live and '%#BosunBar# now (live text): ' or '%#BosunBar# now: '
  if api.nvim_win_is_valid(v.wins.left) then display.winbar(v.wins.left, side .. '%<' .. path) end
  if api.nvim_win_is_valid(v.wins.right) then
    local note = v.note and ' · ' .. display.bar(v.note, 60) or ''
    display.winbar(v.wins.right, '%#BosunBarQuestion# proposed: ' .. path .. '%<' .. note)
  end
end

local function answer(number)
  local v = view
  if not v then return end
  if not v.loaded then return display.notify('the diff is not complete yet') end
  questions().answer(v.question, number)
end

local function step(by)
  local v = view
  if not v then return end
  local to = v.index + by
  if to < 0 or to >= v.count then
    return display.notify(by > 0 and 'this is the last file' or 'this is the first file')
  end
  M.open(v.question, to)
end

local function map_keys(v, buf, answers)
  local function map(lhs, rhs, desc)
    vim.keymap.set('n', lhs, rhs, { buffer = buf, nowait = true, silent = true, desc = desc })
  end
  map('q', M.hide, 'Hide the diff, leave the question pending')
  map(']f', function() step(1) end, 'Next file')
  map('[f', function() step(-1) end, 'Previous file')
  map('g?', function() display.keys('Diff', keys) end, 'Show these keys')
  map('<C-c>', function()
    local q = questions().get(v.question)
    if q then require('bosun.chat').cancel(q.session) end
  end, 'Cancel the turn')
  if not answers then return end
  for i = 1, 9 do
    map(tostring(i), function() answer(i) end, 'Answer with option ' .. i)
  end
  map('<CR>', function() answer(v.rows[fn.line('.')] or 0) end, 'Answer with the option under the cursor')
end

-- The sides start again with fresh scratch buffers; the left one is replaced when the file is open.
local function fresh_sides(v)
  local old, new = v.bufs.old, v.bufs.new
  local name = ('bosun://question/%d/%d/'):format(v.question, v.index)
  v.bufs.old, v.bufs.new = scratch(), scratch()
  v.live, v.loaded, v.note, v.path, v.name = nil, false, nil, nil, name
  fill(v.bufs.old, 0, -1, { 'loading…' })
  fill(v.bufs.new, 0, -1, { 'loading…' })
  map_keys(v, v.bufs.old, false)
  map_keys(v, v.bufs.new, false)
  return old, new
end

local function window(buf, where)
  local win = api.nvim_open_win(buf, false, where)
  for name, value in pairs({ winfixbuf = false, winfixheight = false, winfixwidth = false, winbar = '' }) do
    display.win_option(win, name, value)
  end
  return win
end

local function open_tab(v)
  vim.cmd('tab sbuffer ' .. v.bufs.panel)
  v.tab, v.wins.panel = api.nvim_get_current_tabpage(), api.nvim_get_current_win()
  local plain =
    { number = false, relativenumber = false, signcolumn = 'no', foldcolumn = '0', cursorline = true }
  v.wins.right = window(v.bufs.new, { split = 'above', win = v.wins.panel })
  v.wins.left = window(v.bufs.old, { split = 'left', win = v.wins.right })
  for name, value in pairs(plain) do
    display.win_option(v.wins.panel, name, value)
  end
  display.win_option(v.wins.panel, 'winfixheight', true)
  display.win_option(v.wins.panel, 'winfixbuf', true)
  display.win_option(v.wins.panel, 'wrap', true)
end

--- Opens the diff number `index` (zero-based) of a question and goes to its panel. `opts.origin`: the window to go back
--- to when it is not the current one.
function M.open(id, index, opts)
  local q = questions().get(id)
  if not q then return display.notify('there is no such question') end
  if not q.files or #q.files == 0 then return display.notify('no diff to show') end
  if fn.getcmdwintype() ~= '' then return display.notify('leave the command-line window first', 'warn') end
  index = math.max(0, math.min(tonumber(index) or 0, #q.files - 1))
  if view and not (api.nvim_tabpage_is_valid(view.tab) and api.nvim_win_is_valid(view.wins.panel)) then
    M.hide()
  end
  if view then
    local v = view
    restore_left(v)
    v.question, v.index, v.count = id, index, #q.files
    local old, new = fresh_sides(v)
    v.switching = true
    if api.nvim_win_is_valid(v.wins.right) then api.nvim_win_set_buf(v.wins.right, v.bufs.new) end
    if api.nvim_win_is_valid(v.wins.left) then api.nvim_win_set_buf(v.wins.left, v.bufs.old) end
    v.switching = nil
    for _, buf in ipairs({ old, new }) do
      if api.nvim_buf_is_valid(buf) then pcall(api.nvim_buf_delete, buf, { force = true }) end
    end
    api.nvim_set_current_win(v.wins.panel)
  else
    local origin = opts and opts.origin or api.nvim_get_current_win()
    if not api.nvim_win_is_valid(origin) then origin = api.nvim_get_current_win() end
    local v = { question = id, index = index, count = #q.files, wins = {}, bufs = {}, rows = {} }
    v.origin, v.origin_tab = origin, api.nvim_get_current_tabpage()
    if fn.mode():find('^[iR]') then vim.cmd.stopinsert() end
    fresh_sides(v)
    v.bufs.panel = scratch(('bosun://question/%d'):format(id))
    map_keys(v, v.bufs.panel, true)
    local ok, err = pcall(open_tab, v)
    view = v
    if not ok then
      v.tab = v.tab or api.nvim_get_current_tabpage()
      if v.tab == v.origin_tab then
        view = nil
      else
        M.hide()
      end
      return display.notify('the diff cannot be shown here: ' .. tostring(err), 'warn')
    end
  end
  view.path = display.line(q.files[index + 1])
  draw_bars(view)
  draw_panel(view)
  require('bosun.rpc').notify('show_diff', { question = id, index = index })
  questions().refresh()
end

local function start(v, msg)
  v.count = math.max(tonumber(msg.count) or v.count, 1)
  v.path = display.line(msg.path or v.path)
  v.note = msg.note ~= vim.NIL and msg.note ~= '' and msg.note or nil
  local live = msg.buf ~= vim.NIL and msg.buf or nil
  local base = fn.fnamemodify(v.path, ':t')
  pcall(api.nvim_buf_set_name, v.bufs.new, v.name .. base)
  fill(v.bufs.new, 0, -1, {})
  local syntax
  if live and api.nvim_buf_is_loaded(live) and api.nvim_win_is_valid(v.wins.left) then
    v.live = live
    api.nvim_win_set_buf(v.wins.left, live)
    v.saved = save_options(v.wins.left)
    syntax = vim.bo[live].filetype
  else
    pcall(api.nvim_buf_set_name, v.bufs.old, v.name .. 'now/' .. base)
    fill(v.bufs.old, 0, -1, {})
    syntax = vim.filetype.match({ filename = base }) or ''
  end
  v.syntax = syntax:match('^[%w_-]+') or ''
  v.filled = {}
  draw_bars(v)
  draw_panel(v)
end

local function slice(v, msg)
  if msg.side == 'old' and v.live then return end
  local buf = msg.side == 'old' and v.bufs.old or v.bufs.new
  if not api.nvim_buf_is_valid(buf) then return end
  local first = v.filled and v.filled[buf] and msg.start or 0
  if v.filled then v.filled[buf] = true end
  local lines = {}
  for i, line in ipairs(msg.lines) do
    -- A NUL comes as a line break within a line, as the editor gives it; it takes it back as a NUL.
    lines[i] = line:gsub('\n', '\0')
  end
  fill(buf, first, -1, lines)
end

-- Goes to the first change on both sides.
local function first_change(win)
  api.nvim_win_call(win, function()
    vim.cmd('silent! normal! gg')
    if fn.diff_hlID(1, 1) == 0 and fn.diff_filler(1) == 0 then vim.cmd('silent! normal! ]c') end
  end)
end

local function done(v)
  local left, right = v.wins.left, v.wins.right
  if not (api.nvim_win_is_valid(left) and api.nvim_win_is_valid(right)) then return M.hide() end
  if v.syntax ~= '' then
    for _, buf in ipairs({ v.bufs.new, not v.live and v.bufs.old or nil }) do
      if api.nvim_buf_line_count(buf) <= MAX_SYNTAX_LINES then vim.bo[buf].syntax = v.syntax end
    end
  end
  for _, win in ipairs({ left, right }) do
    api.nvim_win_call(win, function() vim.cmd('diffthis') end)
  end
  v.loaded = true
  first_change(right)
  draw_bars(v)
  draw_panel(v)
end

--- Whether this tab is the one that shows a diff of that question.
function M.shows(id) return view ~= nil and view.question == id and api.nvim_get_current_tabpage() == view.tab end

--- The sidecar's answer to `show_diff`: `diff`, then `diff_lines`, then `diff_done`.
function M.recv(name, msg)
  local v = view
  if not v or msg.question ~= v.question or msg.index ~= v.index then return end
  if name == 'diff' then
    start(v, msg)
  elseif name == 'diff_lines' then
    slice(v, msg)
  elseif name == 'diff_done' then
    done(v)
  end
end

-- Whether the person is at work in the tab: in a mode that would be cut short, or in a window that shows their own
-- text. The next key they press is meant for that.
local function at_work(v)
  if api.nvim_get_current_tabpage() ~= v.tab then return false end
  local win = api.nvim_get_current_win()
  return api.nvim_get_mode().mode ~= 'n' or (win ~= v.wins.panel and win ~= v.wins.right)
end

--- The question of the open diff may be gone: then the tab goes too, as soon as that does not pull a window away from
--- under someone who works in it.
function M.on_questions()
  if not view then return end
  if questions().get(view.question) then return draw_panel(view) end
  if at_work(view) then
    view.gone = true
  else
    M.hide()
  end
end

local group = api.nvim_create_augroup('bosun.diff', {})

local function go_when_free()
  if view and view.gone then M.on_questions() end
end

api.nvim_create_autocmd('ModeChanged', {
  group = group,
  pattern = '*:n',
  callback = vim.schedule_wrap(go_when_free),
})

api.nvim_create_autocmd(
  { 'WinEnter', 'TabEnter' },
  { group = group, callback = vim.schedule_wrap(go_when_free) }
)

api.nvim_create_autocmd('WinClosed', {
  group = group,
  callback = function(args)
    local v, win = view, tonumber(args.match)
    if not v or not ours(v, win) then return end
    if win == v.wins.left then restore_left(v) end
    vim.schedule(function()
      if view == v then M.hide() end
    end)
  end,
})

return M
