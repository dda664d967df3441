-- A text that answers: the result of a merge, or a proposal, in a buffer of ours that a person edits and whose `:w`
-- answers.
--
-- Owns the rules of that buffer: only a write of the whole text under its own name answers, nothing else does, and it
-- never counts as modified, so that it holds up no way of quitting. Never writes a file and never decides. Called by
-- `bosun.merge` and `bosun.diff`.
local M = {}

local api, fn, uv = vim.api, vim.fn, vim.uv
local display = require('bosun.display')
local ns = api.nvim_create_namespace('bosun.result')
local signs = api.nvim_create_namespace('bosun.result.signs')

-- By buffer: { answer, start, last, touched, attached }.
--   answer   called with the lines and the end of line when the person writes
--   start    what it was filled with: { lines, eol, conflicts }
--   last     the text as it was when the buffer was unloaded
--   touched  when the text or the cursor last moved, in `uv.now()` milliseconds
local results = {}

-- Names of the command that writes only what is modified, and quits.
local EXIT = { x = true, xi = true, xit = true, exi = true, exit = true }

local function calm(buf)
  if api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified then vim.bo[buf].modified = false end
end

local function calm_all()
  for buf in pairs(results) do
    calm(buf)
  end
end

local function touch(r)
  uv.update_time()
  r.touched = uv.now()
end

local function mark(buf, conflicts)
  api.nvim_buf_clear_namespace(buf, ns, 0, -1)
  api.nvim_buf_clear_namespace(buf, signs, 0, -1)
  local count = api.nvim_buf_line_count(buf)
  for i, span in ipairs(conflicts) do
    local first = math.max(0, math.min(span[1], count - 1))
    local text = ('conflict %d of %d'):format(i, #conflicts)
    if span[2] <= span[1] then text = text .. ': you deleted these lines' end
    local last = math.max(first, math.min(span[2], count))
    -- What takes the place of the lines is in the conflict, too.
    api.nvim_buf_set_extmark(buf, ns, first, 0, {
      end_row = last,
      end_col = 0,
      strict = false,
      right_gravity = false,
      end_right_gravity = true,
      virt_text = { { '  ' .. text, 'BosunQuestion' } },
    })
    -- A sign of a mark with an end would stand on the line behind it as well.
    for row = first, math.max(first, last - 1) do
      local sign = { sign_text = '!', sign_hl_group = 'BosunQuestion', right_gravity = false, strict = false }
      api.nvim_buf_set_extmark(buf, signs, row, 0, sign)
    end
  end
end

--- Where the conflicts are now: pairs of lines, zero-based, end exclusive, in order.
function M.conflicts(buf)
  local out = {}
  for _, m in ipairs(api.nvim_buf_get_extmarks(buf, ns, 0, -1, { details = true })) do
    out[#out + 1] = { m[2], m[4].end_row or m[2] }
  end
  return out
end

local function attach(buf, r)
  if r.attached then return end
  r.attached = api.nvim_buf_attach(buf, false, {
    on_lines = function()
      if results[buf] ~= r then return true end
      touch(r)
      vim.schedule(function() calm(buf) end)
    end,
    on_detach = function() r.attached = false end,
  })
end

-- Sets the text as the state that `u` cannot go behind.
local function set(buf, r)
  vim.bo[buf].modifiable = true
  vim.bo[buf].undolevels = -1
  api.nvim_buf_set_lines(buf, 0, -1, false, r.start.lines)
  vim.bo[buf].undolevels = api.nvim_get_option_value('undolevels', { scope = 'global' })
  vim.bo[buf].endofline = r.start.eol
  vim.bo[buf].modified = false
  mark(buf, r.start.conflicts)
  r.last = nil
  attach(buf, r)
end

local function text_of(buf)
  local empty = require('bosun.buffers').is_empty(buf)
  return {
    lines = empty and {} or api.nvim_buf_get_lines(buf, 0, -1, false),
    eol = vim.bo[buf].endofline,
    conflicts = M.conflicts(buf),
  }
end

--- The text as it stands, or as it stood when the buffer was unloaded: { lines, eol, conflicts }; nil when it never had
--- one.
function M.text(buf)
  local r = results[buf]
  if not r or not r.start then return nil end
  if r.last or not api.nvim_buf_is_loaded(buf) then return r.last end
  return text_of(buf)
end

--- Whether a person has changed it.
function M.edited(buf)
  if not results[buf] or not results[buf].start then return false end
  local text = M.text(buf)
  if not text then return false end
  local start = results[buf].start
  return text.eol ~= start.eol or not vim.deep_equal(text.lines, start.lines)
end

--- Whether the text or the cursor moved within the last `ms` milliseconds.
function M.touched_within(buf, ms)
  local r = results[buf]
  uv.update_time()
  return r ~= nil and r.touched ~= nil and uv.now() - r.touched < ms
end

--- Fills it: { lines, eol, conflicts }. `kept`: a text of the person's that takes the place of that one, as a change
--- that `u` takes back.
function M.fill(buf, start, kept)
  local r = results[buf]
  r.start = start
  set(buf, r)
  if not kept then return end
  api.nvim_buf_set_lines(buf, 0, -1, false, kept.lines)
  vim.bo[buf].endofline = kept.eol
  vim.bo[buf].modified = false
  mark(buf, kept.conflicts)
end

--- What it was filled with: { lines, eol, conflicts }; nil before.
function M.start(buf) return results[buf] and results[buf].start end

--- What `:e` starts again from, while the text stays.
function M.renew(buf, start) results[buf].start = start end

local function refuse(why)
  return function(args)
    calm(args.buf)
    display.notify(why, 'warn')
  end
end

local function written(args)
  local buf = args.buf
  calm(buf)
  local r = results[buf]
  if not r then return end
  local name = api.nvim_buf_get_name(buf)
  if args.file ~= name and args.match ~= name then
    return display.notify('this is written under its own name only: `:w` answers', 'warn')
  end
  local text = text_of(buf)
  r.answer(text.lines, text.eol)
end

--- A result with that name, empty, not to be edited before it is filled. `answer` gets its lines and whether the last
--- one ends in a newline when the person writes it.
function M.create(name, answer)
  local buf = api.nvim_create_buf(false, true)
  require('bosun.buffers').own(buf)
  local r = { answer = answer }
  results[buf] = r
  require('bosun.sides').name(buf, name)
  for option, value in pairs({
    buftype = 'acwrite',
    bufhidden = 'hide',
    buflisted = false,
    swapfile = false,
    undofile = false,
    fixendofline = false,
    modeline = false,
    modifiable = false,
  }) do
    vim.bo[buf][option] = value
  end
  local function on(event, callback) api.nvim_create_autocmd(event, { buffer = buf, callback = callback }) end
  on('BufWriteCmd', written)
  on('FileWriteCmd', refuse('only the whole text answers: `:w` without a range'))
  on('FileAppendCmd', refuse('this cannot be appended to a file'))
  on('BufReadCmd', function()
    if not r.start then return end
    local syntax = vim.bo[buf].syntax
    set(buf, r)
    vim.bo[buf].syntax = syntax
  end)
  on('BufUnload', function()
    if r.start then r.last = text_of(buf) end
  end)
  on('CursorMoved', function() touch(r) end)
  -- `:x` writes what is modified, and this never is.
  vim.keymap.set('n', 'ZZ', '<Cmd>wq<CR>', { buffer = buf, desc = 'Answer with this text' })
  return buf
end

--- Forgets it. Whoever calls deletes the buffer.
function M.forget(buf) results[buf] = nil end

local group = api.nvim_create_augroup('bosun.result', {})

-- Before any command is carried out that a person typed: none may find a result modified, but the one that is meant
-- to write it.
api.nvim_create_autocmd('CmdlineLeave', {
  group = group,
  pattern = ':',
  callback = function()
    if vim.v.event.abort or not next(results) then return end
    calm_all()
    local command = fn.getcmdline():match('^[%s:]*(%a+)%f[%A]')
    local buf = api.nvim_get_current_buf()
    if results[buf] and EXIT[command or ''] then vim.bo[buf].modified = true end
  end,
})

api.nvim_create_autocmd('QuitPre', { group = group, callback = calm_all })

return M
