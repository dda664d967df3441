-- What the sidecar says, handed to whom it concerns.
--
-- Owns the table of messages and the file of errors in Lua. A handler that fails is logged, said once, and never
-- stands in the way of the next message. Called by the sidecar only, through `nvim_exec_lua`; the returned value is
-- not used.
local M = {}

local notice = require('bosun.notice')

-- The error file does not grow beyond this.
local LOG_BYTES = 256 * 1024

-- vim.NIL is true in a condition and fails in ipairs: absent is absent.
local function clean(value)
  if value == vim.NIL then return nil end
  if type(value) ~= 'table' then return value end
  local out = {}
  for k, v in pairs(value) do
    out[k] = clean(v)
  end
  return out
end

--- Tells the parts that show things that sessions, questions and terminals have changed. Never fails.
function M.changed()
  for name, show in pairs({
    on_sessions = function() require('bosun.chat').on_sessions() end,
    on_questions = function() require('bosun.questions').on_questions() end,
    on_terminals = function() require('bosun.terminals').on_terminals() end,
  }) do
    local ok, err = pcall(show)
    if not ok then M.fail(name, err) end
  end
end

local handlers = {
  welcome = function(m)
    require('bosun.rpc').on_welcome(clean(m))
    require('bosun.highlight').apply(m.groups)
  end,
  groups = function(m) require('bosun.rpc').on_groups(m.pgids) end,
  slice = function(m) require('bosun.buffers').slice(m) end,
  unsaved = function(m) require('bosun.buffers').unsaved(m) end,
  unfollow = function(m) require('bosun.buffers').unfollow(m.buf) end,
  reload = function(m) require('bosun.buffers').reload(m.buf) end,
  edit_off = function(m) require('bosun.waits').over(m.buf) end,
  edit = function(m) require('bosun.edit').apply(m) end,
  save_buffers = function(m) require('bosun.saver').save(m) end,
  patch = function(m) require('bosun.chat').patch(m) end,
  prompt_returned = function(m) require('bosun.chat').prompt_returned(clean(m)) end,
  notify = function(m) notice.say(m.level, m.text) end,
  sessions = function(m)
    require('bosun.state').on_sessions(clean(m.list))
    require('bosun.chat').on_sessions()
  end,
  questions = function(m)
    require('bosun.state').on_questions(clean(m.list))
    require('bosun.questions').on_questions()
  end,
  terminals = function(m)
    require('bosun.state').on_terminals(clean(m.list))
    require('bosun.terminals').on_terminals()
  end,
  review = function(m) require('bosun.review').recv(m) end,
  review_counts = function(m) require('bosun.review').on_counts(clean(m)) end,
  review_texts = function(m) require('bosun.review_tab').recv(m) end,
  terminal_feed = function(m) require('bosun.terminal').feed(m) end,
  terminal_show = function(m) require('bosun.terminals').show(m.terminal) end,
  checkpoints = function(m) require('bosun.checkpoints').recv(clean(m)) end,
  user_event = function(m)
    vim.api.nvim_exec_autocmds('User', { pattern = m.name, data = clean(m.data), modeline = false })
  end,
}

for _, name in ipairs({ 'diff', 'diff_lines', 'diff_done' }) do
  handlers[name] = function(m)
    local shown = require('bosun.merge').is_about(m.question) and 'bosun.merge' or 'bosun.diff'
    require(shown).recv(name, name == 'diff' and clean(m) or m)
  end
end

--- Where errors in Lua are written.
function M.log_path() return vim.fs.joinpath(require('bosun.rpc').log_dir(), 'lua.log') end

--- Writes a line to the error file.
function M.log(text)
  local path = M.log_path()
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local stat = vim.uv.fs_stat(path)
  local file = io.open(path, stat and stat.size > LOG_BYTES and 'w' or 'a')
  if not file then return end
  file:write(os.date('%Y-%m-%d %H:%M:%S '), text, '\n')
  file:close()
end

--- Reports an error in a handler: to the file always, to the person once for each kind of message.
function M.fail(name, err)
  pcall(M.log, ('%s: %s'):format(name, tostring(err)))
  local first = tostring(err):gsub('^.-%.lua:%d+: ', ''):match('[^\n]*')
  notice.once('inbox ' .. name, 'error', ('%s failed: %s (:Bosun log lua)'):format(name, first))
end

--- Called by the sidecar.
function M.recv(name, message)
  local handler = handlers[name]
  if not handler then
    notice.once('unknown ' .. name, 'warn', ('the sidecar sent an unknown message: %s'):format(name))
    return
  end
  local ok, err = xpcall(handler, debug.traceback, message)
  if not ok then M.fail(name, err) end
end

return M
