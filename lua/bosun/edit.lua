-- The atomic edit: compare tick and mode, change the text as one undo step, save. One call, nothing comes between.
--
-- Owns the waiting for a mode that stands in the way. Never forces: a tick that moved, a file that changed on disk,
-- a buffer that may not be changed are answers, not questions to the person. Called by `inbox`; the outcome goes
-- back as a notification from within the same call, so that it keeps its order with the events of the buffer.
local M = {}

local api = vim.api

local function notify(name, message) require('bosun.rpc').notify(name, message) end

local moments = require('bosun.moments')
local write = require('bosun.write')

-- Buffers that wait for a mode to end.
local waiting = {}

-- An autocommand of this buffer that waits (a formatter before a save, say) has seen the text as it is now, and what it
-- is about to do is meant for that. One that waits for longer than this waits for us.
local PATIENCE = 10000
-- By buffer: { when it was first found so, when last }, in milliseconds.
local since = {}

local function in_autocommand(buf)
  local inside = vim.fn.state('x') ~= '' and tonumber(vim.fn.expand('<abuf>')) == buf
  if not inside then
    since[buf] = nil
    return false
  end
  local now = vim.uv.now()
  local wait = since[buf]
  -- It is tried again and again; a gap means another autocommand.
  if not wait or now - wait[2] > 10 * moments.RETRY then wait = { now } end
  wait[2] = now
  since[buf] = wait
  return now - wait[1] < PATIENCE
end

local function safe(buf)
  waiting[buf] = nil
  notify('safe', { buf = buf })
end

-- Sends `safe` once the mode has ended.
local function wait_for_mode(buf, mode)
  require('bosun.waits').begin(buf, mode)
  if waiting[buf] then return end
  waiting[buf] = true
  moments.when_over(buf, mode, function()
    if mode ~= 'autocommand' then require('bosun.waits').over(buf) end
    safe(buf)
  end)
end

-- Ends the undo step of this buffer: what comes next is a step of its own, also what is typed on in insert mode.
local function close_undo_step(buf)
  api.nvim_buf_call(buf, function() vim.cmd('noautocmd let &l:undolevels = &l:undolevels') end)
end

-- Why the edits cannot be meant for this text, or nil.
local function misfit(buf, edits)
  local total = api.nvim_buf_line_count(buf)
  local line, col = 0, 0
  for _, e in ipairs(edits) do
    local ordered = e.sl > line or (e.sl == line and e.sc >= col)
    if not ordered or e.el < e.sl or e.el > total or (e.el == e.sl and e.ec < e.sc) then
      return 'out of order'
    end
    if not e.whole then
      local last = e.el < total and #api.nvim_buf_get_lines(buf, e.el, e.el + 1, true)[1]
      local first = e.sl < total and #api.nvim_buf_get_lines(buf, e.sl, e.sl + 1, true)[1]
      if not last or not first or e.sc > first or e.ec > last then return 'beyond the end of a line' end
    end
    line, col = e.el, e.ec
  end
end

-- Last to first, so that each finds its place.
local function change(buf, edits)
  for i = #edits, 1, -1 do
    local e = edits[i]
    if e.whole then
      api.nvim_buf_set_lines(buf, e.sl, e.el, true, e.lines)
    else
      api.nvim_buf_set_text(buf, e.sl, e.sc, e.el, e.ec, e.lines)
    end
  end
end

-- The last change and the change list are the person's; positions in them still follow the text. Only an Ex command
-- can say so.
local function change_keeping_jumps(buf, message)
  local ok, err
  M.running = function()
    ok, err = pcall(change, buf, message.through)
    if ok and #message.through > 0 then close_undo_step(buf) end
    if ok then
      ok, err = pcall(change, buf, message.edits)
    end
    if ok and message.empty and not require('bosun.buffers').is_empty(buf) then
      ok, err = pcall(api.nvim_buf_set_lines, buf, 0, -1, true, {})
    end
  end
  local mods = { keepjumps = true, silent = true }
  local ran, why = pcall(
    api.nvim_cmd,
    { cmd = 'lua', args = { "require('bosun.edit').running()" }, mods = mods },
    {}
  )
  M.running = nil
  if not ran then return false, why end
  return ok, err
end

-- 'endofline' as asked for, and no newline added by 'fixendofline' at this save.
local function with_eol(buf, eol, save)
  local o = vim.bo[buf]
  local fix = o.fixendofline
  if o.endofline ~= eol then o.endofline = eol end
  if not eol and fix then o.fixendofline = false end
  local why = save()
  if not eol and fix and api.nvim_buf_is_valid(buf) then vim.bo[buf].fixendofline = true end
  return why
end

-- What stands in the way of a save, or nil: the file on disk is not the one that may be written over.
local function disk_state(buf, message)
  local stamps = require('bosun.stamps')
  if message.disk then return not stamps.is(buf, message.disk) and 'changed' or nil end
  local state = message.save and stamps.check(buf) or 'same'
  if state == 'gone' and message.recreate then return nil end
  if state == 'changed' or state == 'created' or state == 'gone' then return state end
end

-- What cannot be written in the file's encoding: the first character of the new lines that it has no bytes for.
local function unencodable(buf, edits)
  local encoding = vim.bo[buf].fileencoding
  if encoding == '' or encoding == 'utf-8' or encoding:find('^utf%-16') then return nil end
  for _, e in ipairs(edits) do
    for _, line in ipairs(e.lines) do
      -- A NUL ends a text for iconv.
      local text = line:gsub('%z', ' ')
      local there = vim.iconv(text, 'utf-8', encoding)
      if not there or vim.iconv(there, encoding, 'utf-8') ~= text then
        for _, char in ipairs(vim.fn.split(text, '\\zs')) do
          local one = vim.iconv(char, 'utf-8', encoding)
          if not one or vim.iconv(one, encoding, 'utf-8') ~= char then return char, encoding end
        end
        return text, encoding
      end
    end
  end
end

-- The buffer is like the file of that stamp.
local function be_clean(buf, form)
  local o = vim.bo[buf]
  if o.fileformat ~= form.fileformat then o.fileformat = form.fileformat end
  if o.bomb ~= form.bomb then o.bomb = form.bomb end
  o.modified = false
end

-- Why the buffer must not be edited at all, or nil.
local function refusal(buf, saves, follows)
  local o = vim.bo[buf]
  if require('bosun.buffers').is_own(buf) or o.buftype ~= '' then return 'the buffer is not a file' end
  -- What changed on disk changes in a buffer for reading too.
  if not o.modifiable and not follows then return "the buffer is not modifiable ('modifiable' is off)" end
  if saves and o.readonly then return "the buffer is read-only ('readonly' is set)" end
end

-- The outcome, as the sidecar gets it.
local function outcome(message)
  local buf = message.buf
  if not api.nvim_buf_is_valid(buf) or not api.nvim_buf_is_loaded(buf) then
    return { kind = 'failed', message = 'the buffer is not loaded' }
  end
  local follows = message.disk and not message.save
  local why = refusal(buf, message.save, follows)
  if why then return { kind = 'failed', message = why } end
  local tick = api.nvim_buf_get_changedtick(buf)
  if tick ~= message.tick then return { kind = 'stale', tick = tick } end
  local mode = in_autocommand(buf) and 'autocommand' or moments.in_the_way(buf)
  if mode then
    wait_for_mode(buf, mode)
    return { kind = 'busy', mode = mode }
  end
  local disk = disk_state(buf, message)
  if disk then return { kind = 'disk', gone = disk == 'gone' } end
  why = misfit(buf, #message.through > 0 and message.through or message.edits)
  if why then return { kind = 'failed', message = 'the edits do not fit the text: ' .. why } end
  local char, encoding = unencodable(buf, message.edits)
  if char then
    local text =
      "its encoding %s has no %s; write it without that character, or let a person change 'fileencoding'"
    return { kind = 'failed', message = text:format(encoding, vim.inspect(char)) }
  end

  close_undo_step(buf)
  local put_marks_back = write.keep_put_marks(buf)
  local modifiable = vim.bo[buf].modifiable
  if follows then
    vim.bo[buf].modifiable = true
    -- Undoing it does not bring back what is on disk.
    vim.bo[buf].modified = true
  end
  local ok, err = change_keeping_jumps(buf, message)
  if follows then vim.bo[buf].modifiable = modifiable end
  if not ok then
    put_marks_back()
    if tostring(err):find('E565') and api.nvim_buf_get_changedtick(buf) == tick then
      require('bosun.waits').begin(buf, 'textlock')
      vim.defer_fn(function() safe(buf) end, moments.RETRY)
      return { kind = 'busy', mode = 'textlock' }
    end
    return { kind = 'failed', message = write.plain(err) }
  end
  close_undo_step(buf)
  require('bosun.waits').over(buf)

  local saved = false
  why = nil
  if message.save then
    why = with_eol(buf, message.eol, function() return write.write(buf) end)
    saved = why == nil
    if not api.nvim_buf_is_loaded(buf) then return { kind = 'failed', message = why } end
    if saved then M.watch_keys() end
  else
    local o = vim.bo[buf]
    -- First, because a change of the option is told at once.
    require('bosun.stamps').ends(buf, message.eol)
    if o.endofline ~= message.eol then o.endofline = message.eol end
    if message.clean then be_clean(buf, message.clean) end
  end
  if message.disk and not saved then require('bosun.stamps').follow(buf, message.disk) end
  put_marks_back()
  tick = api.nvim_buf_get_changedtick(buf)
  if why then return { kind = 'not_saved', tick = tick, message = why } end
  local stamp = require('bosun.stamps').get(buf) or {}
  return {
    kind = 'done',
    tick = tick,
    saved = saved,
    modified = vim.bo[buf].modified,
    sec = stamp.sec,
    nsec = stamp.nsec,
    size = stamp.size,
  }
end

-- How long after a save a formatter may take, in milliseconds.
local SETTLING = 5000
local keys_watched = nil

--- Says once, at the next key or when the time for formatters is over, that changes may be a person's from now on.
function M.watch_keys()
  local function over()
    if not keys_watched then return end
    vim.on_key(nil, keys_watched)
    keys_watched = nil
    notify('typed', {})
  end
  if not keys_watched then
    keys_watched = api.nvim_create_namespace('bosun.edit.keys')
    vim.on_key(over, keys_watched)
  end
  M.deadline = (M.deadline or 0) + 1
  local mine = M.deadline
  vim.defer_fn(function()
    if M.deadline == mine then over() end
  end, SETTLING)
end

--- Carries out one edit of the sidecar's and sends `edit_done`, whatever happens.
function M.apply(message)
  local ok, result = xpcall(outcome, debug.traceback, message)
  if not ok then
    require('bosun.inbox').fail('edit', result)
    result = { kind = 'failed', message = write.plain(result) }
  end
  result.op = message.op
  notify('edit_done', result)
end

return M
