-- Saves buffers before a prompt, because agents read the disk: through `:write`, as the person would.
--
-- Owns the waiting for a mode that stands in the way. Never asks and never overwrites: a buffer that cannot be saved,
-- or whose file changed on disk, is left, with the reason in words. Called by `inbox`; the answer goes back as a
-- notification, behind all that the writes themselves made happen.
local M = {}

local api, fn = vim.api, vim.fn

local ns = api.nvim_create_namespace('bosun.saver')

-- How soon to try again when an autocommand that has no end event is under way, in milliseconds.
local RETRY = 100

local DISK = {
  changed = 'the file changed on disk since the buffer was loaded',
  created = 'a file of this name was created on disk meanwhile',
  gone = 'the file is gone from the disk',
}

--- Whether a write that is under way is ours, for autocommands that ask.
M.saving = false

local function notify(name, message) return require('bosun.rpc').notify(name, message) end

-- Why a write must wait, or nil: formatters that run with it would change the text under a half-typed operator or a
-- selection, and an autocommand that waits has its own plans with the text.
local function in_the_way(bufs)
  if fn.getcmdwintype() ~= '' then return 'cmdwin' end
  local mode = api.nvim_get_mode().mode
  local half = mode:find('^no') or mode:find('^[vVsS\22\19]') or mode:find('^R') or mode:find('^[iR]v?[cx]$')
  if half and vim.tbl_contains(bufs, api.nvim_get_current_buf()) then return 'mode' end
  if fn.state('x') ~= '' then return 'autocommand' end
end

local watching = false

-- Tells once that nothing stands in the way any more.
local function tell_when_over(bufs, why)
  local function over()
    watching = false
    notify('safe', { buf = bufs[1] })
  end
  if watching then return end
  watching = true
  if why == 'autocommand' then return vim.defer_fn(over, RETRY) end
  api.nvim_create_autocmd({ 'ModeChanged', 'CmdwinLeave', 'BufEnter', 'WinEnter' }, {
    group = api.nvim_create_augroup('bosun.saver', {}),
    callback = function(args)
      -- In CmdwinLeave the window is still there, and inside this callback an autocommand always runs.
      local still = args.event ~= 'CmdwinLeave' and in_the_way(bufs)
      if still == 'mode' or still == 'cmdwin' then return false end
      vim.schedule(over)
      return true
    end,
  })
end

-- The first line of an error, without where in a script it was raised.
local function plain(err)
  return (
    tostring(err):match('[^\n]*'):gsub('^.-(E%d+:)', '%1'):gsub('^Vim%b():', ''):gsub('%S+%.lua:%d+: ', '')
  )
end

-- `'[` and `']` are those of the person's last put, and any write sets them to the whole file.
local function keep_put_marks(buf)
  local ids = {}
  for _, name in ipairs({ '[', ']' }) do
    local at = api.nvim_buf_get_mark(buf, name)
    local ok, id = pcall(api.nvim_buf_set_extmark, buf, ns, at[1] - 1, at[2], {})
    ids[name] = ok and id or nil
  end
  return function()
    if not api.nvim_buf_is_loaded(buf) then return end
    for name, id in pairs(ids) do
      local at = api.nvim_buf_get_extmark_by_id(buf, ns, id, {})
      api.nvim_buf_del_extmark(buf, ns, id)
      if at[1] then pcall(api.nvim_buf_set_mark, buf, name, at[1] + 1, at[2], {}) end
    end
  end
end

-- Through `:write`, without a message. With 'confirm' an error would be a question.
local function write(buf, bang)
  local errmsg, confirm = vim.v.errmsg, vim.o.confirm
  vim.v.errmsg = ''
  if confirm then vim.cmd('noautocmd set noconfirm') end
  M.saving = true
  local ok, err = pcall(
    api.nvim_buf_call,
    buf,
    function()
      api.nvim_cmd({
        cmd = 'write',
        bang = bang,
        mods = { silent = true, emsg_silent = true, keepalt = true, keepjumps = true },
      }, {})
    end
  )
  M.saving = false
  if confirm then vim.cmd('noautocmd set confirm') end
  local said = vim.v.errmsg
  vim.v.errmsg = errmsg
  -- An error of somebody's autocommand does not keep the file from being written; some failures raise none.
  if not api.nvim_buf_is_loaded(buf) or not vim.bo[buf].modified then return nil end
  if not ok then return plain(err) end
  return said ~= '' and plain(said) or 'the buffer is still modified after :write'
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
  local put_marks_back = keep_put_marks(buf)
  local why = write(buf, disk == 'touched')
  put_marks_back()
  return why
end

--- Saves the buffers of a message and sends `saved`, whatever happens.
function M.save(message)
  local answer = { save = message.save, failed = {}, busy = false }
  local why = in_the_way(message.bufs)
  if why then
    answer.busy = true
    notify('saved', answer)
    return tell_when_over(message.bufs, why)
  end
  for _, buf in ipairs(message.bufs) do
    local ok, failure = xpcall(save, debug.traceback, buf)
    if not ok then
      require('bosun.inbox').fail('save_buffers', failure)
      failure = plain(failure)
    end
    if failure then table.insert(answer.failed, { buf = buf, message = failure }) end
  end
  notify('saved', answer)
end

return M
