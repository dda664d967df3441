-- A Neovim for one test: started with the plugin on its runtime path, driven over RPC, with a sidecar that only
-- records.
local M = {}
M.__index = M

local LIMIT = 5000

--- Starts one. `root` is the checkout.
function M.start(root)
  local dir = vim.fn.tempname()
  vim.fn.mkdir(dir, 'p')
  local on_path = ('lua vim.opt.rtp:prepend(%q)'):format(root)
  local command = { vim.v.progpath, '--clean', '--embed', '--headless', '--cmd', on_path }
  local chan = vim.fn.jobstart(command, {
    rpc = true,
    cwd = dir,
    env = {
      XDG_STATE_HOME = dir .. '/state',
      XDG_DATA_HOME = dir .. '/data',
      XDG_CONFIG_HOME = dir .. '/config',
    },
  })
  local self = setmetatable({ chan = chan, dir = vim.uv.fs_realpath(dir) }, M)
  -- Stands in for the channel: what would be sent is kept in order.
  self:lua([[
    _G.sent = {}
    local rpc = require('bosun.rpc')
    rpc.notify = function(name, message)
      table.insert(_G.sent, { name = name, message = vim.deepcopy(message) })
      return true
    end
  ]])
  return self
end

function M:stop() pcall(vim.fn.jobstop, self.chan) end

function M:lua(code, ...) return vim.rpcrequest(self.chan, 'nvim_exec_lua', code, { ... }) end

function M:cmd(command) return vim.rpcrequest(self.chan, 'nvim_exec2', command, { output = true }).output end

function M:messages()
  local ok, out = pcall(self.cmd, self, 'messages')
  return ok and out or 'no answer'
end

--- Types keys and waits until `done` (code that returns a boolean) says so.
function M:keys(keys, done)
  vim.rpcrequest(self.chan, 'nvim_input', keys)
  self:eventually(done)
end

--- Waits until the code returns true.
function M:eventually(code)
  local last
  local ok = vim.wait(LIMIT, function()
    last = self:lua(code)
    return last == true
  end, 5)
  if not ok then error(('waited too long for %q, last %s'):format(code, vim.inspect(last)), 2) end
end

--- Writes a file with exactly these bytes; returns its path.
function M:file(name, bytes)
  local path = self.dir .. '/' .. name
  local file = assert(io.open(path, 'wb'))
  file:write(bytes)
  file:close()
  return path
end

--- The bytes of a file.
function M:bytes(path)
  local file = assert(io.open(path, 'rb'))
  local bytes = file:read('*a')
  file:close()
  return bytes
end

--- Opens a file in the current window; returns its buffer.
function M:open(path)
  return self:lua(
    [[
    vim.cmd.edit({ args = { vim.fn.fnameescape(...) }, mods = { silent = true } })
    return vim.api.nvim_get_current_buf()
  ]],
    path
  )
end

--- Lines of a buffer.
function M:lines(buf) return self:lua('return vim.api.nvim_buf_get_lines(..., 0, -1, true)', buf) end

--- Sends an edit as the sidecar would, at the buffer's present tick unless told otherwise; returns the outcome.
function M:edit(buf, edits, more)
  local message = { op = 1, buf = buf, through = {}, edits = edits, eol = true, empty = false, save = true }
  message = vim.tbl_extend('force', message, more or {})
  return self:lua(
    [[
    local message = ...
    message.tick = message.tick or vim.api.nvim_buf_get_changedtick(message.buf)
    local before = #_G.sent
    require('bosun.inbox').recv('edit', message)
    local found
    for i = before + 1, #_G.sent do
      if _G.sent[i].name == 'edit_done' then
        assert(not found, 'answered twice')
        found = _G.sent[i].message
      end
    end
    return found
  ]],
    message
  )
end

--- All messages of that name since the last call of `forget`.
function M:sent(name)
  return self:lua(
    [[
    local out = {}
    for _, s in ipairs(_G.sent) do
      if s.name == ... then out[#out + 1] = s.message end
    end
    return out
  ]],
    name
  )
end

--- Forgets what was sent.
function M:forget() self:lua('_G.sent = {}') end

--- Compares, and shows both when they differ.
function M.same(got, expected, what)
  if not vim.deep_equal(got, expected) then
    error(
      ('%s\n  got      %s\n  expected %s'):format(what or 'differs', vim.inspect(got), vim.inspect(expected)),
      2
    )
  end
end

--- Whole lines `[first, last)` become `lines`.
function M.whole(first, last, lines)
  return { whole = true, sl = first, sc = 0, el = last, ec = 0, lines = lines }
end

--- Bytes `[from, to)` of a line become `text`.
function M.within(line, from, to, text)
  return { whole = false, sl = line, sc = from, el = line, ec = to, lines = { text } }
end

return M
