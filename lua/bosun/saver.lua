-- Saves buffers before a prompt, because agents read the disk: through `:write`, as the person would.
--
-- Owns the waiting for a mode that stands in the way. Never asks and never overwrites: a buffer that cannot be saved,
-- or whose file changed on disk, is left, with the reason in words. Called by `inbox`; the answer goes back as a
-- notification, behind all that the writes themselves made happen.
local M = {}

local api = vim.api

local moments = require('bosun.moments')
local write = require('bosun.write')

local DISK = {
  changed = 'the file changed on disk since the buffer was loaded',
  created = 'a file of this name was created on disk meanwhile',
  gone = 'the file is gone from the disk',
}

local function notify(name, message) return require('bosun.rpc').notify(name, message) end

-- Why a write must wait, or nil, and for which buffer: formatters that run with it would change the text under a
-- half-typed operator or a selection, and an autocommand that waits has its own plans with the text.
local function in_the_way(bufs)
  for _, buf in ipairs(bufs) do
    local why = moments.in_the_way(buf)
    if why then return why, buf end
  end
  if vim.fn.state('x') ~= '' then return 'autocommand', bufs[1] end
end

-- Saves one buffer; returns why not, or nil.
local function save(buf)
  if not api.nvim_buf_is_valid(buf) or not api.nvim_buf_is_loaded(buf) then return nil end
  local o = vim.bo[buf]
  if not o.modified then return nil end
  if require('bosun.buffers').is_own(buf) or o.buftype ~= '' then return 'the buffer is not a file' end
  if api.nvim_buf_get_name(buf) == '' then return 'the buffer has no name' end
  if o.readonly then return "the buffer is read-only ('readonly' is set)" end
  local disk = require('bosun.stamps').check(buf)
  if DISK[disk] then return DISK[disk] end
  local put_marks_back = write.keep_put_marks(buf)
  local why = write.write(buf)
  put_marks_back()
  -- It may have been closed once it was written.
  return api.nvim_buf_is_loaded(buf) and why or nil
end

--- Saves the buffers of a message and sends `saved`, whatever happens.
function M.save(message)
  local answer = { save = message.save, failed = {}, busy = false }
  local why, of = in_the_way(message.bufs)
  if why then
    answer.busy = true
    notify('saved', answer)
    return moments.when_over(of, why, vim.schedule_wrap(function() notify('safe', { buf = of }) end))
  end
  for _, buf in ipairs(message.bufs) do
    local ok, failure = xpcall(save, debug.traceback, buf)
    if not ok then
      require('bosun.inbox').fail('save_buffers', failure)
      failure = write.plain(failure)
    end
    if failure then table.insert(answer.failed, { buf = buf, message = failure }) end
  end
  notify('saved', answer)
end

return M
