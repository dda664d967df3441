-- `:checkhealth bosun`: what is there, what is missing, and what to run.
--
-- Owns nothing. Only looks; never starts a session.
local M = {}

local health = vim.health

local function check_editor()
  local v = vim.version()
  local text = ('Neovim %d.%d.%d'):format(v.major, v.minor, v.patch)
  if vim.fn.has('nvim-0.11') == 1 then
    health.ok(text)
  else
    health.error(text .. ' is too old', { 'Install Neovim 0.11 or newer' })
  end
  if vim.g.loaded_bosun then
    health.ok('the plugin file is loaded')
  else
    health.warn('the plugin file is not loaded: `:Bosun` is missing', {
      "Put the repository's root on 'runtimepath' before plugins are loaded",
    })
  end
end

local function check_sidecar()
  local rpc = require('bosun.rpc')
  local binary, err = rpc.binary()
  if not binary then return health.error('no sidecar: ' .. err) end
  health.ok('sidecar: ' .. binary)
  local out = vim.trim(vim.fn.system({ binary, '--version' }))
  if vim.v.shell_error ~= 0 then
    return health.error('it does not run: ' .. out, { 'Run `make build` in ' .. rpc.root() })
  end
  local protocol = tonumber(out:match('protocol (%d+)')) or (rpc.welcome or {}).protocol
  if protocol and protocol ~= rpc.PROTOCOL then
    health.error(('%s: protocol %d, the plugin speaks %d'):format(out, protocol, rpc.PROTOCOL), {
      'Run `make build` in ' .. rpc.root() .. ', then `:Bosun restart`',
    })
  else
    health.ok(('%s, protocol %d'):format((out:gsub('%s*%(protocol.-%)', '')), rpc.PROTOCOL))
  end
  health.info(rpc.alive() and 'the sidecar is running' or 'the sidecar starts with the first session')
end

local function check_agents()
  local agents = require('bosun.agents')
  for _, name in ipairs(agents.names()) do
    local preset, err = agents.get(name)
    if not preset then
      health.error(('%s: %s'):format(name, err))
    elseif agents.installed(preset) then
      health.ok(('%s: %s'):format(name, vim.fn.exepath(preset.command)))
    else
      health.info(('%s: not installed%s'):format(name, preset.install and ': ' .. preset.install or ''))
    end
  end
  local default = agents.default()
  local launch, err = agents.launch(default, vim.fn.getcwd())
  if launch then
    health.ok('a new session uses: ' .. default)
  else
    health.error('a new session would fail: ' .. err)
  end
end

local function check_logs()
  local dir = require('bosun.rpc').log_dir()
  if pcall(vim.fn.mkdir, dir, 'p') and vim.uv.fs_access(dir, 'W') then
    health.ok('logs: ' .. dir)
  else
    health.error('logs cannot be written to ' .. dir)
  end
end

--- Called by `:checkhealth`.
function M.check()
  health.start('bosun: editor')
  check_editor()
  health.start('bosun: sidecar')
  check_sidecar()
  health.start('bosun: agents')
  check_agents()
  health.start('bosun: logs')
  check_logs()
end

return M
