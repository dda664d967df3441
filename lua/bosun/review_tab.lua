-- The review tab: one file after the other, its base on the left and the live text on the right, compared by 'diff'.
--
-- Owns that tab. It is opened only by a person, at once, and filled as the texts arrive; any way of closing it only
-- hides it. Never computes a diff and never gives a verdict by being closed. `bosun.sides` lends the window on the
-- right to the person's own buffer, and takes the tab away without a trace. Called by the public API, `bosun.review`,
-- the inbox and keys.
local M = {}

local api, fn = vim.api, vim.fn
local display = require('bosun.display')
local sides = require('bosun.sides')

-- The open tab, nil when there is none: what `bosun.sides` says, and { paths, index, path, asked, again, loaded, shown,
-- take_keys }. Roles of windows: `left`, `right`; of buffers: `base`, `now`. When the file is open its own buffer is on
-- the right.
--   asked    texts were asked for and have not come; `again`: they are old by now
--   loaded   what is shown is compared
local view = nil

local keys = {
  { ']f [f', 'next, previous file' },
  { ']c [c', 'next, previous change' },
  { 'do', 'on the right: take the lines of the base, which rejects the change' },
  { 'dp', 'on the right: keep the change' },
  { 'do', 'on the left: keep the change' },
  { 'dp', 'on the left: put the lines of the base, which rejects the change' },
  { 'q', 'close; nothing is decided by that' },
}

-- Between two times that the texts of a file are asked for while it changes, in milliseconds.
local RENEW_MS = 100

local function review() return require('bosun.review') end

local function take_keys(v)
  if v.take_keys then v.take_keys() end
  v.take_keys = nil
end

--- Closes the tab. What waits for a review stays as it is.
function M.hide()
  local v = view
  if not v then return end
  view = nil
  take_keys(v)
  sides.close(v)
end

local function draw_bars(v)
  local file = review().file(v.path)
  local path = display.bar(display.path(v.path), 80)
  local count = file and #file.hunks or 0
  local state = not v.loaded and 'loading…'
    or count == 0 and 'nothing left to review here'
    or ('%d %s'):format(count, count == 1 and 'hunk' or 'hunks')
  if api.nvim_win_is_valid(v.wins.left) then
    display.winbar(v.wins.left, '%#BosunBar# before the agent: %<' .. path)
  end
  if api.nvim_win_is_valid(v.wins.right) then
    display.winbar(
      v.wins.right,
      ('%%#BosunBar# %s · file %d of %d · %%#BosunBarQuestion#%s%%#BosunBar# %%<· %s%%=%%#BosunBarHint# %s '):format(
        v.live and 'now' or 'now (read only)',
        v.index,
        #v.paths,
        state,
        path,
        v.live and 'do rejects · dp keeps · ]f · q' or 'dp keeps · ]f · q'
      )
    )
  end
end

local function ask(v)
  if v.asked then
    v.again = true
    return
  end
  v.asked, v.again = true, false
  local ok, err = review().ask_texts(v.path)
  if not ok then
    v.asked = false
    display.notify(err, 'warn')
  end
end

-- The hunk that stands at the cursor of a side. The line of the base is looked for on the live side: 'diff' mode keeps
-- both at the same place.
local function keep_here(v)
  local file = review().file(v.path)
  if not file or not v.loaded then return display.notify('nothing left to review here') end
  local right = v.wins.right
  if not api.nvim_win_is_valid(right) then return end
  local line = api.nvim_win_get_cursor(right)[1] - 1
  local found = nil
  if api.nvim_get_current_win() == v.wins.left then
    -- Removed lines stand only on the left.
    local text = api.nvim_get_current_line()
    for _, place in ipairs(review().placed(file)) do
      local near = place.first - 1 <= line and line <= math.max(place.last, place.first + 1)
      if near and (not found or vim.tbl_contains(place.hunk.removed, text)) then found = place end
    end
  else
    for _, place in ipairs(review().placed(file)) do
      local last = math.max(place.last, place.first + 1)
      if place.first <= line and line < last then found = found or place end
    end
    for _, place in ipairs(review().placed(file)) do
      if place.first == place.last and place.first == line + 1 then found = found or place end
    end
  end
  if not found then return display.notify('there is no hunk at the cursor') end
  local ok, err = review().verdict('keep', { scope = 'hunk', path = v.path, id = found.hunk.id })
  if not ok then display.notify(err, 'warn') end
end

local show

-- To the next file (1) or the one before (-1) that still has hunks.
local function step(v, by)
  local to = v.index + by
  while v.paths[to] and not review().file(v.paths[to]) do
    to = to + by
  end
  if not v.paths[to] then
    return display.notify(by > 0 and 'this is the last file' or 'this is the first file')
  end
  show(v, to)
end

local function key_table(v)
  return {
    q = { M.hide, 'Close the review' },
    [']f'] = { function() step(v, 1) end, 'Next file' },
    ['[f'] = { function() step(v, -1) end, 'Previous file' },
    ['g?'] = { function() display.keys('Review', keys) end, 'Show these keys' },
    dp = { function() keep_here(v) end, 'Keep this change' },
  }
end

local function lend_keys(v)
  local here = v.live
    and api.nvim_get_current_win() == v.wins.right
    and api.nvim_win_get_buf(v.wins.right) == v.live
  if not here then return take_keys(v) end
  if not v.take_keys then v.take_keys = require('bosun.lent_keys').lend(v.live, key_table(v)) end
end

-- Keys of a scratch buffer of ours.
local function map(v, buf, left)
  for lhs, key in pairs(key_table(v)) do
    if not (left and lhs == 'dp') then
      vim.keymap.set('n', lhs, key[1], { buffer = buf, nowait = true, silent = true, desc = key[2] })
    end
  end
  if left then
    vim.keymap.set('n', 'do', function() keep_here(v) end, { buffer = buf, desc = 'Keep this change' })
  end
end

local function scratch(v, name)
  local buf = sides.scratch(('bosun://review/%s/%s'):format(name, v.path:gsub('^/+', '')))
  sides.fill(buf, 0, -1, { 'loading…' })
  map(v, buf, name == 'base')
  return buf
end

-- Shows the file with that number; its texts are asked for.
function show(v, index)
  take_keys(v)
  sides.give_back(v)
  local old = { v.bufs.base, v.bufs.now }
  v.index, v.path, v.live, v.loaded, v.asked = index, v.paths[index], nil, false, false
  v.bufs.base, v.bufs.now = scratch(v, 'base'), scratch(v, 'now')
  if v.tab then
    for role, buf in pairs({ left = v.bufs.base, right = v.bufs.now }) do
      if api.nvim_win_is_valid(v.wins[role]) then
        api.nvim_win_call(v.wins[role], function() vim.cmd('diffoff') end)
        api.nvim_win_set_buf(v.wins[role], buf)
      end
    end
    for _, buf in ipairs(old) do
      if api.nvim_buf_is_valid(buf) then pcall(api.nvim_buf_delete, buf, { force = true }) end
    end
    draw_bars(v)
  end
  ask(v)
end

local function open_tab(v)
  vim.cmd('tab sbuffer ' .. v.bufs.now)
  v.tab, v.wins.right = api.nvim_get_current_tabpage(), api.nvim_get_current_win()
  sides.plain(v.wins.right)
  v.wins.left = sides.window(v.bufs.base, { split = 'left', win = v.wins.right })
  display.win_option(v.wins.left, 'winfixbuf', false)
end

local function whole(v)
  return api.nvim_tabpage_is_valid(v.tab)
    and not sides.astray(v)
    and api.nvim_win_is_valid(v.wins.left)
    and api.nvim_win_is_valid(v.wins.right)
end

--- Opens the review at a file: `path`, else that of the current buffer, else the first one. True, or nil and why not.
function M.open(path)
  local paths = review().paths()
  if #paths == 0 then return nil, 'nothing waits for a review' end
  local obstacle = sides.obstacle()
  if obstacle then return nil, obstacle end
  local here = review().of(api.nvim_get_current_buf())
  path = path or (here and here.path) or nil
  local index = 1
  for i, name in ipairs(paths) do
    if name == path then index = i end
  end
  if path and paths[index] ~= path then return nil, 'nothing in this file waits for a review' end
  if view and whole(view) then
    api.nvim_set_current_win(view.wins.right)
    view.paths = paths
    if view.path ~= paths[index] then show(view, index) end
    return true
  end
  M.hide()
  local v = sides.begin()
  v.paths = paths
  show(v, index)
  local ok, err = pcall(open_tab, v)
  view = v
  if not ok then
    local tab = api.nvim_get_current_tabpage()
    v.tab = v.tab or (tab ~= v.origin_tab and tab) or -1
    M.hide()
    return nil, 'the review cannot be shown here: ' .. tostring(err)
  end
  draw_bars(v)
  return true
end

-- Puts lines into a scratch buffer, and only where they differ: the windows stay where they are.
local function renew(buf, lines)
  local old = api.nvim_buf_get_lines(buf, 0, -1, false)
  local head, most = 0, math.min(#old, #lines)
  while head < most and old[head + 1] == lines[head + 1] do
    head = head + 1
  end
  local tail = 0
  while tail < most - head and old[#old - tail] == lines[#lines - tail] do
    tail = tail + 1
  end
  if head == #old and #old == #lines then return end
  sides.fill(buf, head, #old - tail, vim.list_slice(lines, head + 1, #lines - tail))
end

-- To the first change, with both windows at the same place.
local function first_change(win)
  api.nvim_win_call(win, function()
    vim.cmd('silent! normal! gg')
    if fn.diff_hlID(1, 1) == 0 and fn.diff_filler(1) == 0 then vim.cmd('silent! normal! ]c') end
  end)
end

--- The texts that were asked for.
function M.recv(message)
  local v = view
  if not v or message.path ~= v.path then return end
  v.asked = false
  if not whole(v) then return M.hide() end
  local live = message.buf ~= vim.NIL and message.buf or nil
  if live and not api.nvim_buf_is_loaded(live) then live = nil end
  if live ~= v.live then
    take_keys(v)
    sides.give_back(v)
    v.live, v.loaded = nil, false
    if live then
      sides.lend(v, 'right', live)
    else
      api.nvim_win_set_buf(v.wins.right, v.bufs.now)
    end
  end
  if not live and message.live and message.live ~= vim.NIL then
    renew(v.bufs.now, sides.received(message.live))
  end
  renew(v.bufs.base, sides.received(message.base))
  if not v.loaded then
    local syntax = live and vim.bo[live].filetype
      or vim.filetype.match({ filename = fn.fnamemodify(v.path, ':t') })
    sides.syntax({ v.bufs.base, not live and v.bufs.now or nil }, syntax)
    sides.compare({ v.wins.left, v.wins.right })
    first_change(v.wins.right)
    v.loaded = true
  else
    pcall(vim.cmd, 'diffupdate')
  end
  lend_keys(v)
  draw_bars(v)
  if v.again then
    v.asked = true
    vim.defer_fn(function()
      v.asked = false
      if view == v then ask(v) end
    end, RENEW_MS)
  end
end

--- The hunks of a file have changed.
function M.on_file(path)
  local v = view
  if not v then return end
  if path == v.path then ask(v) end
  draw_bars(v)
end

--- Whether a buffer stands in the review tab.
function M.shows(buf) return view ~= nil and view.live == buf end

local group = api.nvim_create_augroup('bosun.review_tab', {})

api.nvim_create_autocmd({ 'WinEnter', 'WinLeave', 'TabEnter', 'TabLeave', 'BufEnter' }, {
  group = group,
  callback = function(args)
    local v = view
    if not v then return end
    if args.event:find('Leave') then return take_keys(v) end
    lend_keys(v)
    vim.schedule(function()
      if view == v and sides.astray(v) then M.hide() end
    end)
  end,
})

api.nvim_create_autocmd('WinClosed', {
  group = group,
  callback = function(args)
    local v, win = view, tonumber(args.match)
    if not v or not sides.owns(v, win) then return end
    if v.lent and win == v.lent.win then sides.give_back(v) end
    take_keys(v)
    vim.schedule(function()
      if view == v then M.hide() end
    end)
  end,
})

return M
