-- The sidecar's process and the channel to it.
--
-- Owns both, and the process groups that must end with them. Never waits for the sidecar: everything is told, and
-- what comes back comes through `inbox`. Started by the first session, ended with Neovim, started again by the next
-- prompt.
local M = {}

local uv = vim.uv
local notice = require('bosun.notice')

-- The number of the protocol; the same as in sidecar/src/nvim.rs.
M.PROTOCOL = 1
-- What Neovim must be.
M.NEEDS = 'nvim-0.11'

-- Between TERM and KILL, in milliseconds.
local GRACE = 500
-- Lines of the sidecar's stderr that are kept for a message.
local STDERR = 20

-- The sidecar that runs: { id = channel, binary, groups = process groups of its agents, stderr = last lines, why =
-- why we closed it }, or nil.
local current = nil
-- Neovim is leaving: nothing is started any more.
local leaving = false
--- The answer to our hello: { protocol, version, log, groups }, or nil.
M.welcome = nil

--- The checkout that this file belongs to.
function M.root()
  local file = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p')
  return vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(file)))
end

--- Where logs go.
function M.log_dir() return vim.fs.joinpath(vim.fn.stdpath('log'), 'bosun') end

local function executable(path) return vim.fn.executable(path) == 1 end

--- The sidecar's program, or nil and what to do.
function M.binary()
  local set, env = require('bosun.config').get().binary, vim.env.BOSUN_BIN
  local path = set or (env ~= '' and env) or nil
  if path then
    path = vim.fs.normalize(path)
    if executable(path) then return path end
    return nil, ('%s is not an executable: %s'):format(set and 'the setting `binary`' or '$BOSUN_BIN', path)
  end
  local built = vim.fs.joinpath(M.root(), 'target', 'release', 'bosun')
  if executable(built) then return built end
  local found = vim.fn.exepath('bosun')
  if found ~= '' then return found end
  return nil, ('the sidecar is not built: run `make build` in %s'):format(vim.fn.fnamemodify(M.root(), ':~'))
end

--- Whether the channel is open.
function M.alive() return current ~= nil end

-- What a sidecar leaves behind when it could not end it.
local function kill_groups(left)
  if #left == 0 then return end
  local function each(signal)
    for _, pgid in ipairs(left) do
      pcall(uv.kill, -pgid, signal)
    end
  end
  each('sigterm')
  vim.defer_fn(function() each('sigkill') end, GRACE)
end

-- Nothing can be sent any more. Returns how many sessions that ends.
local function lose(cause)
  current, M.welcome = nil, nil
  require('bosun.buffers').stop()
  if package.loaded['bosun.review'] then require('bosun.review').lost() end
  return require('bosun.state').lost(cause)
end

local function on_exit(sidecar, code)
  kill_groups(sidecar.groups)
  sidecar.groups = {}
  if current ~= sidecar or leaving then return end
  local last = ''
  for i = #sidecar.stderr, 1, -1 do
    if sidecar.stderr[i]:find('%S') then
      last = ': ' .. vim.trim(sidecar.stderr[i])
      break
    end
  end
  local cause = ('the sidecar ended (exit %d)%s'):format(code, last)
  local again = lose(cause) > 0 and '; the next prompt starts it again' or ''
  notice.say('error', cause .. again)
end

local function on_stderr(sidecar, data)
  for _, line in ipairs(data) do
    if line ~= '' then
      table.insert(sidecar.stderr, line)
      if #sidecar.stderr > STDERR then table.remove(sidecar.stderr, 1) end
    end
  end
end

local function send(name, message)
  local ok, err = pcall(vim.rpcnotify, current.id, 'bosun', name, message)
  if not ok then require('bosun.inbox').log(('%s could not be sent: %s'):format(name, err)) end
  return ok
end

-- Where swap files may be: 'directory', absolute but for `.` (the file's own folder).
local function swap_dirs()
  local dirs = {}
  for _, dir in ipairs(vim.opt.directory:get()) do
    dirs[#dirs + 1] = dir:find('^%.') and dir or vim.fn.expand(dir)
  end
  return dirs
end

--- Starts the sidecar unless it runs. True, or nil and why not.
function M.ensure()
  if current then return true end
  if vim.fn.has(M.NEEDS) ~= 1 then
    return nil, ('Neovim %s or newer is needed, this is %s'):format(M.NEEDS:sub(6), tostring(vim.version()))
  end
  if leaving then return nil, 'Neovim is leaving' end
  local binary, why = M.binary()
  if not binary then return nil, why end
  local sidecar = { binary = binary, groups = {}, stderr = {} }
  local ok, id = pcall(vim.fn.jobstart, { binary, 'serve' }, {
    rpc = true,
    env = { BOSUN_LOG = vim.env.BOSUN_LOG or require('bosun.config').get().log_level },
    on_stderr = function(_, data) on_stderr(sidecar, data) end,
    on_exit = function(_, code) on_exit(sidecar, code) end,
  })
  if not ok or id <= 0 then
    return nil, ('%s does not start: %s'):format(binary, not ok and tostring(id) or 'not executable')
  end
  sidecar.id = id
  current = sidecar
  -- Watches modes that it could not see if it were loaded with the first edit.
  require('bosun.edit')
  local v = vim.version()
  send('hello', {
    protocol = M.PROTOCOL,
    editor = ('nvim-%d.%d.%d'):format(v.major, v.minor, v.patch),
    log_dir = M.log_dir(),
    max_buf_bytes = require('bosun.config').get().max_buffer_bytes,
    max_terminal_bytes = require('bosun.config').get().max_terminal_bytes,
    save = require('bosun.config').get().save,
    encodings = vim.opt.fileencodings:get(),
    swap_dirs = swap_dirs(),
    server = require('bosun.visit').address(),
  })
  require('bosun.buffers').start()
  return true
end

--- Sends a message. False when the sidecar does not run.
function M.notify(name, message)
  if not current then return false end
  return send(name, message)
end

--- Closes the channel: the sidecar ends its agents and itself. `why` becomes the cause of death of the sessions.
function M.stop(why)
  if not current then return end
  local id = current.id
  if not leaving then lose(why) end
  current = nil
  pcall(vim.fn.chanclose, id)
end

--- The sidecar's answer to our hello.
function M.on_welcome(message)
  if message.protocol == M.PROTOCOL then
    M.welcome = message
    return
  end
  local text = ('protocol %s in %s, %d in the plugin: run `make build` in %s, then :Bosun restart'):format(
    tostring(message.protocol),
    vim.fn.fnamemodify(current and current.binary or 'the sidecar', ':~'),
    M.PROTOCOL,
    vim.fn.fnamemodify(M.root(), ':~')
  )
  notice.say('error', text)
  M.stop('sidecar and plugin do not match')
end

--- The process groups that must not outlive the channel.
function M.on_groups(pgids)
  if current then current.groups = pgids end
end

vim.api.nvim_create_autocmd('VimLeavePre', {
  group = vim.api.nvim_create_augroup('bosun.rpc', {}),
  callback = function()
    leaving = true
    M.stop('leaving')
  end,
})

return M
