-- What goes along with a prompt: the file that the person was in, and what they had selected there.
--
-- Owns the memory of the last file window and of the last selection. Never reads a file and never sends anything: the
-- prompt asks `collect()` when it is sent, the prompt's winbar asks `labels()` to show the same beforehand.
local M = {}

local api, fn = vim.api, vim.fn
local display = require('bosun.display')

-- More than this is no selection but a file, and the agent can read files by itself.
local MAX_TEXT = 256 * 1024

-- { win, buf } of the file window the person was last in.
local last = nil
-- { buf, tick, from, to, kind } of a selection that was made just before the person came to the chat.
-- Dropped when the text changes, when the cursor moves away from it, and when it was sent.
local selection = nil

local function is_file(buf)
  if not api.nvim_buf_is_loaded(buf) or vim.bo[buf].buftype ~= '' then return false end
  local name = api.nvim_buf_get_name(buf)
  return not name:find('^%a[%w+.-]*://') and fn.isdirectory(name) == 0
end

-- What `last` remembers was a file; it may have become something else, or be gone.
local function still_there()
  return last and api.nvim_buf_is_loaded(last.buf) and vim.bo[last.buf].buftype == ''
end

local function remember(win)
  local buf = api.nvim_win_get_buf(win)
  if api.nvim_win_get_config(win).relative == '' and is_file(buf) then last = { win = win, buf = buf } end
end

local function remember_selection(kind)
  local buf = api.nvim_get_current_buf()
  if not is_file(buf) then return end
  selection = {
    buf = buf,
    tick = api.nvim_buf_get_changedtick(buf),
    from = api.nvim_buf_get_mark(buf, '<'),
    to = api.nvim_buf_get_mark(buf, '>'),
    kind = kind,
  }
  if selection.from[1] == 0 or selection.to[1] == 0 then selection = nil end
end

--- Takes in where the person is now: called by whatever leads from a file to the chat. `range` holds the first and last
--- line of a command's range (one-based), which counts as a selection.
function M.enter(range)
  if fn.mode():find('[vV\22]') then
    -- Leaving visual mode writes '< and '>, and the autocommand below takes them from there.
    api.nvim_feedkeys(api.nvim_replace_termcodes('<Esc>', true, false, true), 'nx', false)
  end
  remember(api.nvim_get_current_win())
  local buf = api.nvim_get_current_buf()
  if range and is_file(buf) then
    selection = {
      buf = buf,
      tick = api.nvim_buf_get_changedtick(buf),
      from = { range[1], 0 },
      to = { range[2], 0 },
      kind = 'V',
    }
  end
end

--- The window that the person came from, if it is still there.
function M.window()
  if last and api.nvim_win_is_valid(last.win) then return last.win end
end

local function selected(buf)
  local s = selection
  if not s or s.buf ~= buf or not api.nvim_buf_is_loaded(buf) then return nil end
  if api.nvim_buf_get_changedtick(buf) ~= s.tick then
    selection = nil
    return nil
  end
  return s
end

local function line_of(buf)
  if last and api.nvim_win_is_valid(last.win) and api.nvim_win_get_buf(last.win) == buf then
    return api.nvim_win_get_cursor(last.win)[1] - 1
  end
  return math.max(0, api.nvim_buf_get_mark(buf, '"')[1] - 1)
end

local function wanted(what) return require('bosun.config').get().context[what] end

--- The list that is sent: zero-based lines, `last` exclusive. Empty when there is nothing, or when it is switched off.
function M.collect()
  if not still_there() then return {} end
  local buf, out = last.buf, {}
  local path = api.nvim_buf_get_name(buf)
  local s = wanted('selection') and selected(buf)
  if s then
    local line = api.nvim_buf_get_lines(buf, s.to[1] - 1, s.to[1], false)[1] or ''
    local to = { buf, s.to[1], math.min(s.to[2], #line) + 1, 0 }
    local ok, text = pcall(fn.getregion, { buf, s.from[1], s.from[2] + 1, 0 }, to, { type = s.kind })
    text = ok and table.concat(text, '\n') or ''
    if text ~= '' and #text <= MAX_TEXT then
      out[#out + 1] =
        { kind = 'selection', buf = buf, path = path, first = s.from[1] - 1, last = s.to[1], text = text }
    end
  end
  -- A selection names its file.
  if #out == 0 and path ~= '' and wanted('file') then
    out[1] = { kind = 'file', buf = buf, path = path, line = line_of(buf) }
  end
  return out
end

--- The same in words, such as `src/a.rs:3-9`. A selection stands for its file.
function M.labels()
  if not still_there() then return {} end
  local path = api.nvim_buf_get_name(last.buf)
  local name = path == '' and '[No Name]' or display.path(path)
  local s = wanted('selection') and selected(last.buf)
  if s then
    if s.from[1] == s.to[1] then return { ('%s:%d'):format(name, s.from[1]) } end
    return { ('%s:%d-%d'):format(name, s.from[1], s.to[1]) }
  end
  if path ~= '' and wanted('file') then return { name } end
  return {}
end

--- A selection goes along once: the agent has it now, and the person has not selected it again.
function M.sent() selection = nil end

local group = api.nvim_create_augroup('bosun.context', {})

api.nvim_create_autocmd({ 'WinEnter', 'BufEnter' }, {
  group = group,
  callback = function() remember(api.nvim_get_current_win()) end,
})

api.nvim_create_autocmd('ModeChanged', {
  group = group,
  pattern = '[vV\22]*:*',
  callback = function()
    local kind = vim.v.event.old_mode:sub(1, 1)
    if not vim.v.event.new_mode:find('^[vV\22]') then remember_selection(kind) end
  end,
})

api.nvim_create_autocmd({ 'CursorMoved', 'InsertEnter' }, {
  group = group,
  callback = function(args)
    local s = selection
    if not s or s.buf ~= args.buf then return end
    -- Commands on a selection leave the cursor at either end of it; anywhere else the person has moved on.
    local line = api.nvim_win_get_cursor(0)[1]
    if args.event == 'InsertEnter' or (line ~= s.from[1] and line ~= s.to[1]) then selection = nil end
  end,
})

remember(api.nvim_get_current_win())
if not last then
  local previous = fn.win_getid(fn.winnr('#'))
  if previous ~= 0 then remember(previous) end
end

return M
