-- The diffs of a question: a tab of our own with the live text, the proposal and a panel that answers.
--
-- Owns that tab. It is opened only by a person, at once (so that nothing takes the focus later), and filled as the text
-- arrives. Where the proposal is the whole file the person may make something else of it, and writing it accepts what
-- is shown. Any other way of closing the tab only hides it and leaves the question pending. Never computes a diff:
-- 'diff' mode of the editor does. A question about a merge is shown by `bosun.merge`. Called by the inbox (`recv`), by
-- `bosun.questions` (`on_questions`) and by keys.
local M = {}

local api, fn = vim.api, vim.fn
local display = require('bosun.display')
local footer = require('bosun.footer')
local hunks = require('bosun.hunks')
local proposals = require('bosun.proposals')
local result = require('bosun.result')
local sides = require('bosun.sides')

-- The open tab, nil when there is none: what `bosun.sides` says, and { question, index, count, loaded, rows, note,
-- path, editable, incoming, eol, gone }. Roles: `left`, `right` and `panel` of windows; `old`, `new` and `panel` of
-- buffers. When the file is open its own buffer is the left side.
--   loaded    the text of both sides is complete
--   editable  the person may make something else of the proposal; `incoming` are its lines as far as they have come
--   gone      the question is not asked any more, and the person is at work in the tab
local view = nil

local keys = {
  { '1-9 <CR>', 'in the panel: answer with that option' },
  { ':w ZZ', 'in the proposal: accept it as it is shown, edits and all' },
  { 'do', 'in the proposal: drop this change' },
  { 'u :e', 'in the proposal: undo, start again' },
  { ']c [c', 'next, previous change' },
  { ']f [f', 'next, previous file of the request' },
  { 'R', 'reject, and say why' },
  { 'q', 'hide; the question and your edits stay' },
  { '<C-c>', 'cancel the turn' },
}

local function questions() return require('bosun.questions') end

-- Remembers what the person has made of the proposal.
local function keep(v)
  if not (v.loaded and v.editable) or v.gone then return end
  local from = result.start(v.bufs.new)
  if not from then return end
  proposals.keep(v.question, v.index, from, result.edited(v.bufs.new) and result.text(v.bufs.new) or nil)
end

--- Hides the diff. The question stays as it is, and so does what was made of the proposal.
function M.hide()
  local v = view
  if not v then return end
  keep(v)
  view = nil
  result.forget(v.bufs.new)
  sides.close(v)
  questions().refresh()
end

local function draw_panel(v)
  local place = v.count > 1 and (' · file %d of %d (]f)'):format(v.index + 1, v.count) or ''
  footer.draw(v, { v.note }, place .. (v.loaded and '' or ' · loading…'))
end

local function draw_bars(v)
  local path = display.bar(v.path or '', 80)
  local side = v.live and '%#BosunBar# now (live text): ' or '%#BosunBar# now: '
  if api.nvim_win_is_valid(v.wins.left) then display.winbar(v.wins.left, side .. '%<' .. path) end
  if api.nvim_win_is_valid(v.wins.right) then
    local note = v.note and ' · ' .. display.bar(v.note, 60) or ''
    local head = v.gone and 'no longer asked: ' or 'proposed: '
    local hint = v.editable and '%=%#BosunBarHint#:w accepts · do drops · g? keys ' or ''
    display.winbar(v.wins.right, '%#BosunBarQuestion# ' .. head .. path .. '%<' .. note .. hint)
  end
end

local function allow(v)
  local ok, why = proposals.allow(v.question)
  if not ok then return display.notify(why, 'warn') end
  v.loaded = false
  vim.schedule(function()
    if view == v then M.hide() end
  end)
end

local function answer(number)
  local v = view
  if not v then return end
  if not v.loaded then return display.notify('the diff is not complete yet') end
  keep(v)
  local q = questions().get(v.question)
  local option = q and questions().options(q)[number]
  if option and proposals.edited(v.question) and option.kind:find('^allow') then
    if option.kind ~= 'allow_once' then
      return display.notify('you edited the proposal: allow it once, with `:w`, or undo your edits', 'warn')
    end
    return allow(v)
  end
  questions().answer(v.question, number)
end

-- The person accepts the proposal as it is shown.
local function accept(v)
  if view ~= v or v.gone then
    return display.notify('this is no longer asked: nothing was written', 'warn')
  end
  if not v.loaded then return display.notify('the diff is not complete yet') end
  if not v.editable then
    return display.notify('choose an option in the panel: this is only a part of the file')
  end
  keep(v)
  local next_one = proposals.accept(v.question, v.index, v.count)
  if next_one then
    display.notify(
      ('file %d of %d is accepted as shown; next is file %d'):format(v.index + 1, v.count, next_one + 1)
    )
    return vim.schedule(function()
      if view == v then M.open(v.question, next_one) end
    end)
  end
  allow(v)
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

local function map_keys(v, buf)
  local function map(lhs, rhs, desc)
    vim.keymap.set('n', lhs, rhs, { buffer = buf, nowait = true, silent = true, desc = desc })
  end
  map('q', M.hide, 'Hide the diff, leave the question pending')
  map(']f', function() step(1) end, 'Next file')
  map('[f', function() step(-1) end, 'Previous file')
  map('g?', function() display.keys('Diff', keys) end, 'Show these keys')
  map('<C-c>', function() footer.cancel(v) end, 'Cancel the turn')
  map('R', function() questions().refuse(v.question) end, 'Reject, and say why')
end

local function map_proposal(v, buf)
  local function map(lhs, rhs, desc)
    vim.keymap.set('n', lhs, rhs, { buffer = buf, nowait = true, silent = true, desc = desc })
  end
  local function now() return v.live or v.bufs.old end
  map('do', function()
    if v.loaded and v.editable then hunks.move('diffget ' .. now()) end
  end, 'Drop this change')
  map('dp', function() display.notify('`:w` accepts what is shown; nothing lands before') end, 'Say how')
end

-- The sides start again with fresh scratch buffers; the left one is replaced when the file is open.
local function fresh_sides(v)
  local old, new = v.bufs.old, v.bufs.new
  local name = ('bosun://question/%d/%d/'):format(v.question, v.index)
  v.bufs.old = sides.scratch()
  -- A buffer that is named twice leaves one of its first name behind.
  local q = questions().get(v.question)
  local file = fn.fnamemodify(display.line(q and q.files[v.index + 1] or 'file'), ':t')
  v.bufs.new = result.create(name .. file, function() accept(v) end)
  v.live, v.loaded, v.note, v.path, v.name = nil, false, nil, nil, name
  v.editable, v.incoming, v.filled = false, nil, nil
  for _, buf in ipairs({ v.bufs.old, v.bufs.new }) do
    sides.fill(buf, 0, -1, { 'loading…' })
    map_keys(v, buf)
  end
  map_proposal(v, v.bufs.new)
  return old, new
end

local function open_tab(v)
  vim.cmd('tab sbuffer ' .. v.bufs.panel)
  v.tab, v.wins.panel = api.nvim_get_current_tabpage(), api.nvim_get_current_win()
  v.wins.right = sides.window(v.bufs.new, { split = 'above', win = v.wins.panel })
  v.wins.left = sides.window(v.bufs.old, { split = 'left', win = v.wins.right })
  footer.dress(v.wins.panel)
end

-- The open tab goes on to another diff.
local function switch(v, id, index, count)
  keep(v)
  sides.give_back(v)
  v.question, v.index, v.count = id, index, count
  local old, new = fresh_sides(v)
  if api.nvim_win_is_valid(v.wins.right) then api.nvim_win_set_buf(v.wins.right, v.bufs.new) end
  if api.nvim_win_is_valid(v.wins.left) then api.nvim_win_set_buf(v.wins.left, v.bufs.old) end
  result.forget(new)
  for _, buf in ipairs({ old, new }) do
    if api.nvim_buf_is_valid(buf) then pcall(api.nvim_buf_delete, buf, { force = true }) end
  end
  api.nvim_set_current_win(v.wins.panel)
end

--- Opens the diff number `index` (zero-based) of a question and goes to its panel. `opts.origin`: the window to go back
--- to when it is not the current one.
function M.open(id, index, opts)
  local q = questions().get(id)
  if not q then return display.notify('there is no such question') end
  if q.merge then return require('bosun.merge').open(id, opts) end
  if not q.files or #q.files == 0 then return display.notify('no diff to show') end
  local obstacle = sides.obstacle()
  if obstacle then return display.notify(obstacle, 'warn') end
  index = math.max(0, math.min(tonumber(index) or 0, #q.files - 1))
  if view and not (api.nvim_tabpage_is_valid(view.tab) and api.nvim_win_is_valid(view.wins.panel)) then
    M.hide()
  end
  if view then
    switch(view, id, index, #q.files)
  else
    local v = sides.begin(opts and opts.origin)
    v.question, v.index, v.count, v.rows = id, index, #q.files, {}
    fresh_sides(v)
    v.bufs.panel = sides.scratch(('bosun://question/%d'):format(id))
    map_keys(v, v.bufs.panel)
    footer.map(v, answer)
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
  sides.fill(v.bufs.new, 0, -1, {})
  v.editable, v.eol, v.incoming = msg.editable == true, msg.eol ~= false, {}
  if live and api.nvim_buf_is_loaded(live) and api.nvim_win_is_valid(v.wins.left) then
    sides.lend(v, 'left', live)
    v.syntax = vim.bo[live].filetype
  else
    pcall(api.nvim_buf_set_name, v.bufs.old, v.name .. 'now/' .. base)
    sides.fill(v.bufs.old, 0, -1, {})
    v.syntax = vim.filetype.match({ filename = base })
  end
  v.filled = {}
  draw_bars(v)
  draw_panel(v)
end

local function slice(v, msg)
  if msg.side == 'old' and v.live then return end
  if msg.side == 'new' and v.editable then
    vim.list_extend(v.incoming or {}, sides.received(msg.lines))
    return
  end
  local buf = msg.side == 'old' and v.bufs.old or v.bufs.new
  if not api.nvim_buf_is_valid(buf) then return end
  local first = v.filled and v.filled[buf] and msg.start or 0
  if v.filled then v.filled[buf] = true end
  sides.fill(buf, first, -1, sides.received(msg.lines))
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
  if v.editable then
    local from = { lines = v.incoming, eol = v.eol, conflicts = {} }
    result.fill(v.bufs.new, from, proposals.get(v.question, v.index))
    v.incoming = nil
  end
  sides.syntax({ v.bufs.new, not v.live and v.bufs.old or nil }, v.syntax)
  sides.compare({ left, right })
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
  if win == v.wins.right then
    local new = v.bufs.new
    if result.edited(new) or result.touched_within(new, questions().GUARD_MS) then return true end
  end
  return api.nvim_get_mode().mode ~= 'n' or (win ~= v.wins.panel and win ~= v.wins.right)
end

--- The question of the open diff may be gone: then the tab goes too, as soon as that does not pull a window away from
--- under someone who works in it.
function M.on_questions()
  if not view then return end
  if questions().get(view.question) then return draw_panel(view) end
  if at_work(view) then
    local v = view
    v.gone = true
    draw_bars(v)
    vim.defer_fn(function()
      if view == v then M.on_questions() end
    end, questions().GUARD_MS)
  else
    M.hide()
  end
end

local group = api.nvim_create_augroup('bosun.diff', {})

local function go_when_free()
  if view and sides.astray(view) then return M.hide() end
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
    if not v or not sides.owns(v, win) then return end
    if v.lent and win == v.lent.win then sides.give_back(v) end
    vim.schedule(function()
      if view == v then M.hide() end
    end)
  end,
})

return M
