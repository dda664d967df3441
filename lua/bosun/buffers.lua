-- Which buffers hold files, what they are like, and their lines in slices.
--
-- Owns what the sidecar was told of each buffer, and the set of our own buffers, which it is never told of. Never
-- edits. Nothing is sent before there is a session; then all loaded file buffers are announced, and each change of
-- their facts.
local M = {}

local api = vim.api

-- Bytes of lines in one slice.
local SLICE = 64 * 1024
-- Between two slices of buffers that nobody waits for, in milliseconds.
local IDLE = 15

-- Our own buffers, by number.
local ours = {}
-- What was said last, by buffer: the facts joined.
local told = {}
-- Slices that can wait: { buf, start }.
local later = {}
local ticking = false
-- Buffers that the sidecar mirrors, each with its own 'autoread' as it was: { value }, or {} where it had none.
local mirrored = {}
local started = false

local function notify(name, message) return require('bosun.rpc').notify(name, message) end
local function stamps() return require('bosun.stamps') end

--- Marks a buffer as ours: it is never announced, mirrored or edited for an agent.
function M.own(buf)
  ours[buf] = true
  M.closed(buf)
  api.nvim_create_autocmd('BufWipeout', {
    buffer = buf,
    once = true,
    callback = function() ours[buf] = nil end,
  })
end

--- Whether a buffer is ours.
function M.is_own(buf) return ours[buf] == true end

local function is_file(buf)
  return api.nvim_buf_is_loaded(buf)
    and not ours[buf]
    and vim.bo[buf].buftype == ''
    and vim.startswith(api.nvim_buf_get_name(buf), '/')
end

local function facts(buf)
  local o = vim.bo[buf]
  stamps().recognise(buf)
  local stamp = stamps().get(buf) or {}
  return {
    sec = stamp.sec,
    nsec = stamp.nsec,
    size = stamp.size,
    buf = buf,
    name = api.nvim_buf_get_name(buf),
    modified = o.modified,
    visible = #vim.fn.win_findbuf(buf) > 0,
    fileformat = o.fileformat,
    fileencoding = o.fileencoding,
    bomb = o.bomb,
    eol = stamps().eol(buf),
    buftype = o.buftype,
  }
end

local function joined(f)
  return table.concat({
    f.name,
    tostring(f.modified),
    tostring(f.visible),
    f.fileformat,
    f.fileencoding,
    tostring(f.bomb),
    tostring(f.eol),
    tostring(f.sec),
    tostring(f.nsec),
    tostring(f.size),
  }, '\0')
end

--- The buffer is no file buffer any more.
function M.closed(buf)
  if not told[buf] then return end
  told[buf] = nil
  notify('buf_closed', { buf = buf })
end

--- Announces a buffer if its facts changed, or anyway with `force`.
function M.announce(buf, force)
  if not started or not api.nvim_buf_is_valid(buf) then return end
  if not is_file(buf) then return M.closed(buf) end
  local f = facts(buf)
  local now = joined(f)
  if told[buf] == now and not force then return end
  told[buf] = now
  f.tick = api.nvim_buf_get_changedtick(buf)
  f.lines = api.nvim_buf_line_count(buf)
  f.bytes = api.nvim_buf_get_offset(buf, f.lines)
  notify('buf_meta', f)
end

--- Announces every change that no autocommand told of. Cheap: called before each prompt.
function M.refresh()
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if api.nvim_buf_is_loaded(buf) or told[buf] then M.announce(buf) end
  end
end

--- Whether the buffer holds no line at all: zero bytes on disk, while one empty line is a newline. Both look like
--- one empty line, and no offset tells them apart; the count of bytes does. That of the whole text leaves out a newline
--- that would not be saved, that up to the cursor does not.
function M.is_empty(buf)
  if api.nvim_buf_line_count(buf) > 1 or api.nvim_buf_get_lines(buf, 0, 1, true)[1] ~= '' then
    return false
  end
  local count = api.nvim_buf_call(buf, vim.fn.wordcount)
  return count.bytes == 0 and (count.cursor_bytes or 0) == 0
end

-- End of the slice that begins at `start`: as many lines as fit, at least one.
local function slice_end(buf, start, total)
  local base = api.nvim_buf_get_offset(buf, start)
  local low, high = math.min(start + 1, total), total
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if api.nvim_buf_get_offset(buf, middle) - base <= SLICE then
      low = middle
    else
      high = middle - 1
    end
  end
  return low
end

local function send_slice(buf, start)
  if not api.nvim_buf_is_valid(buf) or not is_file(buf) then
    told[buf] = nil
    return notify('buf_closed', { buf = buf })
  end
  local total = api.nvim_buf_line_count(buf)
  start = math.min(start, total)
  notify('slice', {
    buf = buf,
    tick = api.nvim_buf_get_changedtick(buf),
    start = start,
    total = total,
    lines = api.nvim_buf_get_lines(buf, start, slice_end(buf, start, total), true),
    empty = M.is_empty(buf),
  })
end

local function tick()
  local next_one = table.remove(later, 1)
  if not next_one then
    ticking = false
    return
  end
  local ok, err = pcall(send_slice, next_one.buf, next_one.start)
  if not ok then require('bosun.inbox').fail('slice', err) end
  vim.defer_fn(tick, IDLE)
end

--- The sidecar asks for lines from `start`; `later` when nobody waits for them. It mirrors the buffer from then on.
function M.slice(message)
  if mirrored[message.buf] == nil and api.nvim_buf_is_valid(message.buf) then M.follow(message.buf) end
  if not message.later then return send_slice(message.buf, message.start) end
  later[#later + 1] = { buf = message.buf, start = message.start }
  if not ticking then
    ticking = true
    vim.defer_fn(tick, IDLE)
  end
end

--- The sidecar looks after the file of this buffer: what changes on disk it merges into the buffer, so Neovim neither
--- loads the file by itself nor asks.
function M.follow(buf)
  if not mirrored[buf] then mirrored[buf] = { vim.bo[buf].autoread } end
  vim.bo[buf].autoread = false
end

--- It does not (any more).
function M.unfollow(buf)
  local was = mirrored[buf]
  mirrored[buf] = nil
  if was and api.nvim_buf_is_loaded(buf) then vim.bo[buf].autoread = was[1] end
end

--- The text of that tick is not what is on disk. Undoing a change that came from the disk brings back a text that
--- Neovim takes for saved.
function M.unsaved(message)
  local buf = message.buf
  if api.nvim_buf_is_loaded(buf) and api.nvim_buf_get_changedtick(buf) == message.tick then
    vim.bo[buf].modified = true
  end
end

--- Loads the file of an unmodified buffer as Neovim would open it: it holds what is no text in the encoding that the
--- buffer has, or was not there when the buffer was made. The undo history stays ('undoreload'). What was loaded from
--- that very file stays as it is.
function M.reload(buf)
  if not api.nvim_buf_is_loaded(buf) or vim.bo[buf].modified then return end
  local stamp = stamps().get(buf)
  if stamp and stamps().is(buf, stamp) then return end
  local moments = require('bosun.moments')
  local mode = moments.in_the_way(buf)
  if mode then
    return moments.when_over(buf, mode, vim.schedule_wrap(function() M.reload(buf) end))
  end
  api.nvim_buf_call(buf, function()
    local view = vim.fn.winsaveview()
    vim.cmd('silent! keepalt keepjumps edit')
    vim.fn.winrestview(view)
  end)
end

-- Neovim noticed that a file changed.
local function on_changed(args)
  if not mirrored[args.buf] then
    -- Without an autocommand Neovim would ask, if nobody else's says what to do.
    local others = #api.nvim_get_autocmds({ event = 'FileChangedShell' }) > 1
    if not others then vim.v.fcs_choice = 'ask' end
    return
  end
  if vim.v.fcs_reason == 'deleted' then
    local name = vim.fn.fnamemodify(api.nvim_buf_get_name(args.buf), ':~:.')
    require('bosun.notice').say('warn', ('%s is gone from the disk; its buffer stays'):format(name))
  end
  vim.v.fcs_choice = ''
  stamps().noticed(args.buf)
  notify('disk_changed', { buf = args.buf })
end

local OPTIONS = { 'fileformat', 'fileencoding', 'bomb', 'binary', 'endofline', 'fixendofline', 'buftype' }

local function watch()
  local group = api.nvim_create_augroup('bosun.buffers', {})
  local function on(events, callback, pattern)
    api.nvim_create_autocmd(events, { group = group, pattern = pattern, callback = callback })
  end
  on(
    { 'BufReadPost', 'BufNewFile', 'BufFilePost', 'BufWritePost' },
    function(args) M.announce(args.buf, true) end
  )
  on({ 'BufModifiedSet', 'BufEnter', 'BufWinEnter' }, function(args) M.announce(args.buf) end)
  -- For an option of another buffer Neovim makes that one current meanwhile.
  on('OptionSet', function() M.announce(api.nvim_get_current_buf()) end, OPTIONS)
  on('FileChangedShell', on_changed)
  on({ 'BufUnload', 'BufDelete', 'BufWipeout' }, function(args)
    -- Also before `:edit` loads it anew.
    M.unfollow(args.buf)
    M.closed(args.buf)
  end)
end

--- A sidecar is there: all file buffers are announced, and from now on each change.
function M.start()
  if started then return end
  stamps().watch()
  started, told, later = true, {}, {}
  watch()
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if is_file(buf) then M.announce(buf, true) end
  end
end

--- The sidecar is gone.
function M.stop()
  started, told, later = false, {}, {}
  for _, buf in ipairs(vim.tbl_keys(mirrored)) do
    M.unfollow(buf)
  end
  api.nvim_create_augroup('bosun.buffers', { clear = true })
end

return M
