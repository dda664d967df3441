-- How hunks look in a buffer: signs, what was removed as virtual lines, and the words that changed.
--
-- Owns the extmarks, and by them where each hunk is after later edits. A buffer that no window shows is drawn when one
-- does. Where a window compares texts by 'diff', virtual lines would push its lines apart: there only signs are drawn.
-- Called by `bosun.review`.
local M = {}

local api = vim.api

--- Removed lines of one hunk that are shown.
M.MAX_REMOVED = 40
--- Of one removed line, bytes that are shown.
M.MAX_BYTES = 500
-- Changes of a buffer that are remembered, to place hunks of a text that is a little older than the buffer's.
local MAX_CHANGES = 256

local ns = api.nvim_create_namespace('bosun.review')
-- Where each hunk is; apart from what is drawn.
local anchors = api.nvim_create_namespace('bosun.review.places')

-- By buffer: { file, drawn, quiet, floor, changes }.
--   drawn    by id of a hunk: { marks, place, key }
--   floor    the tick from which on every change is in `changes`
--   changes  { tick, first, last, new_last }
local bufs = {}

local function at_work(buf, state)
  state.changes = {}
  state.floor = api.nvim_buf_get_changedtick(buf)
  api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, tick, first, last, new_last)
      if bufs[buf] ~= state then return true end
      if last == new_last then return end
      local changes = state.changes
      changes[#changes + 1] = { tick or 0, first, last, new_last }
      if #changes > MAX_CHANGES then
        state.floor = changes[1][1]
        table.remove(changes, 1)
      end
    end,
    on_reload = function()
      state.changes, state.floor = {}, api.nvim_buf_get_changedtick(buf)
    end,
    on_detach = function()
      if bufs[buf] == state then bufs[buf] = nil end
    end,
  })
end

-- A line of the text at `tick` in the text of now; `is_end` when it is the first one behind a hunk: lines that come in
-- right there are not the hunk's.
local function shifted(state, tick, line, is_end)
  if tick < state.floor then return line end
  for _, change in ipairs(state.changes) do
    if change[1] > tick then
      local behind = is_end and line == change[2] and line == change[3]
      if line >= change[3] and not behind then
        line = line + change[4] - change[3]
      elseif line > change[2] then
        line = math.min(line, change[4])
      end
    end
  end
  return line
end

-- The lines of what is drawn.
local function where(buf, entry)
  local at = api.nvim_buf_get_extmark_by_id(buf, anchors, entry.place, { details = true })
  if not at[1] then return nil end
  local first = at[1] + (entry.below and 1 or 0)
  return first, entry.empty and first or math.max(at[3].end_row, first)
end

--- The lines where a hunk is now: first and last, end exclusive.
function M.place(buf, hunk)
  local state = bufs[buf]
  local drawn = state and state.drawn[hunk.id]
  if drawn and not state.dirty and api.nvim_buf_is_loaded(buf) then
    local first, last = where(buf, drawn)
    if first then return first, last end
  end
  if not state then return hunk.first, hunk.last end
  local tick = state.file.tick
  return shifted(state, tick, hunk.first), shifted(state, tick, hunk.last, hunk.last > hunk.first)
end

-- The text of a removed line in chunks, its changed words apart.
local function chunks(text, spans)
  local out, from = {}, 0
  local cut = #text > M.MAX_BYTES
  if cut then text = text:sub(1, M.MAX_BYTES + vim.str_utf_end(text, M.MAX_BYTES)) end
  local function add(to, group)
    to = math.min(to, #text)
    if to > from then out[#out + 1] = { (text:sub(from + 1, to):gsub('%c', { ['\n'] = '^@' })), group } end
    from = math.max(from, to)
  end
  for _, span in ipairs(spans or {}) do
    add(span[1], 'BosunHunkRemoved')
    add(span[2], 'BosunHunkRemovedWord')
  end
  add(#text, 'BosunHunkRemoved')
  if cut then out[#out + 1] = { '…', 'BosunHunkMore' } end
  if #out == 0 then out[1] = { ' ', 'BosunHunkRemoved' } end
  return out
end

local function removed_lines(hunk)
  local spans, lines = {}, {}
  for _, word in ipairs(hunk.removed_words or {}) do
    spans[word[1]] = spans[word[1]] or {}
    table.insert(spans[word[1]], { word[2], word[3] })
  end
  -- One line that says how many more there are takes no more room than the one line that it would hide.
  local shown = #hunk.removed > M.MAX_REMOVED and M.MAX_REMOVED - 1 or #hunk.removed
  for i = 1, shown do
    lines[i] = chunks(hunk.removed[i], spans[i - 1])
  end
  if shown < #hunk.removed then
    lines[#lines + 1] = { { ('… %d more lines'):format(#hunk.removed - shown), 'BosunHunkMore' } }
  end
  return lines
end

-- How the hunk is drawn: sign, its group and that of its lines.
local function looks(hunk, first, last)
  if first == last then
    return first == 0 and '▔' or '▁',
      hunk.author == 'unknown' and 'BosunSignUnknown' or 'BosunSignRemoved',
      nil
  end
  if hunk.author == 'unknown' then return '┆', 'BosunSignUnknown', 'BosunHunkUnknown' end
  if #hunk.removed == 0 then return '┃', 'BosunSignAdded', 'BosunHunkAdded' end
  return '┃', 'BosunSignChanged', 'BosunHunkChanged'
end

local function draw_hunk(buf, state, hunk, first, last)
  local total = api.nvim_buf_line_count(buf)
  first, last = math.max(0, math.min(first, total)), math.max(0, math.min(last, total))
  if last < first then last = first end
  local row = math.min(first, total - 1)
  local entry = { marks = {}, empty = first == last, below = row < first }
  entry.place = api.nvim_buf_set_extmark(buf, anchors, row, 0, {
    end_row = math.max(math.min(last, total), row),
    end_col = 0,
    strict = false,
    right_gravity = first ~= last,
    end_right_gravity = false,
  })
  local function mark(line, col, opts)
    opts.strict = false
    opts.hl_mode = 'combine'
    entry.marks[#entry.marks + 1] = api.nvim_buf_set_extmark(buf, ns, line, col, opts)
  end
  local sign, sign_group, line_group = looks(hunk, first, last)
  local at = first == last and math.max(first - 1, 0) or row
  mark(at, 0, {
    end_row = math.max(last - 1, at),
    sign_text = sign,
    sign_hl_group = sign_group,
    line_hl_group = not state.quiet and line_group or nil,
    priority = 9,
  })
  if state.quiet then return entry end
  for _, word in ipairs(hunk.live_words or {}) do
    local line = word[1] - hunk.first + first
    mark(line, word[2], { end_row = line, end_col = word[3], hl_group = 'BosunHunkWord', priority = 190 })
  end
  if #hunk.removed > 0 then
    mark(row, 0, { virt_lines = removed_lines(hunk), virt_lines_above = row == first })
  end
  if hunk.author == 'unknown' then
    mark(at, 0, { virt_text = { { 'changed during a turn, author unknown', 'BosunHunkMore' } } })
  end
  return entry
end

local function erase(buf, entry)
  for _, id in ipairs(entry.marks) do
    api.nvim_buf_del_extmark(buf, ns, id)
  end
  api.nvim_buf_del_extmark(buf, anchors, entry.place)
end

-- What was removed above the first line is out of sight until the window shows its filler lines.
local function show_top(buf, state)
  if state.quiet then return end
  local above = 0
  for _, hunk in ipairs(state.file.hunks) do
    if hunk.first == 0 and #hunk.removed > 0 then above = math.min(#hunk.removed, M.MAX_REMOVED) end
  end
  if above == 0 then return end
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    api.nvim_win_call(win, function()
      local view = vim.fn.winsaveview()
      local room = api.nvim_win_get_height(win) - view.lnum
      if view.topline == 1 and view.topfill == 0 and room > 0 then
        vim.fn.winrestview({ topline = 1, topfill = math.min(above, room) })
      end
    end)
  end
end

local function draw(buf, state)
  local quiet = false
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    quiet = quiet or vim.wo[win].diff
  end
  local restyle = quiet ~= state.quiet
  -- Before anything is erased: what is drawn already has moved with the text.
  local places, alive, fresh = {}, {}, false
  for i, hunk in ipairs(state.file.hunks) do
    places[i] = { M.place(buf, hunk) }
    alive[hunk.id] = true
  end
  state.quiet = quiet
  for id, entry in pairs(state.drawn) do
    if restyle or not alive[id] then
      erase(buf, entry)
      state.drawn[id] = nil
    end
  end
  for i, hunk in ipairs(state.file.hunks) do
    local first, last = places[i][1], places[i][2]
    local key = ('%d %d %s'):format(#hunk.removed, #(hunk.live_words or {}), hunk.author)
    local old = state.drawn[hunk.id]
    if old then
      local was_first, was_last = where(buf, old)
      if old.key ~= key or was_first ~= first or was_last ~= last then
        erase(buf, old)
        old = nil
      end
    end
    if not old then
      local entry = draw_hunk(buf, state, hunk, first, last)
      entry.key = key
      state.drawn[hunk.id], fresh = entry, true
    end
  end
  if fresh then show_top(buf, state) end
  state.dirty = false
end

--- The hunks of a buffer are these; `file` is nil when there are none (any more).
function M.show(buf, file)
  if not api.nvim_buf_is_loaded(buf) then
    bufs[buf] = nil
    return
  end
  local state = bufs[buf]
  if not file or not state then
    -- Also what a text that was loaded anew has left of its marks.
    bufs[buf] = nil
    api.nvim_buf_clear_namespace(buf, ns, 0, -1)
    api.nvim_buf_clear_namespace(buf, anchors, 0, -1)
  end
  if not file then return end
  if not state then
    state = { drawn = {}, quiet = false }
    bufs[buf] = state
    at_work(buf, state)
  end
  state.file, state.dirty = file, true
  M.refresh(buf)
end

--- Draws what is to be drawn, if a window shows the buffer. `again`: also what is drawn already.
function M.refresh(buf, again)
  local state = bufs[buf]
  if not state or not (state.dirty or again) or not api.nvim_buf_is_loaded(buf) then return end
  if #vim.fn.win_findbuf(buf) == 0 then return end
  draw(buf, state)
end

local group = api.nvim_create_augroup('bosun.marks', {})

api.nvim_create_autocmd('BufWinEnter', {
  group = group,
  callback = function(args) M.refresh(args.buf) end,
})

-- Another window may have begun or ended to compare the text.
local function again()
  for buf in pairs(bufs) do
    M.refresh(buf, true)
  end
end

api.nvim_create_autocmd('OptionSet', { group = group, pattern = 'diff', callback = vim.schedule_wrap(again) })
api.nvim_create_autocmd('WinClosed', { group = group, callback = vim.schedule_wrap(again) })

return M
