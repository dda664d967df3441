-- Presets: how agents are started, as plain data.
--
-- Owns nothing: reads `bosun/agents/*.lua` from the runtime path and lays the person's own over them. Knows no
-- agent by name; what differs between agents is in their preset.
local M = {}

local config = require('bosun.config')

-- Stands for the sidecar's own program in a preset.
local SIDECAR = '{bosun}'

-- Presets that come as files: those on the runtime path, then those of this checkout.
local function files()
  local paths = vim.api.nvim_get_runtime_file('bosun/agents/*.lua', true)
  local here = vim.fs.joinpath(require('bosun.rpc').root(), 'nvim-plugin', 'bosun', 'agents')
  vim.list_extend(paths, vim.fn.globpath(here, '*.lua', true, true))
  local out = {}
  for _, path in ipairs(paths) do
    local name = vim.fs.basename(path):gsub('%.lua$', '')
    out[name] = out[name] or path
  end
  return out
end

local function load(path)
  local chunk, err = loadfile(path)
  if not chunk then return nil, err end
  local ok, preset = pcall(chunk)
  if not ok then return nil, preset end
  local valid, wrong = pcall(config.check, preset, config.preset, vim.fn.fnamemodify(path, ':~'))
  if not valid then return nil, wrong end
  return preset
end

--- Names of all presets, sorted.
function M.names()
  local names = vim.tbl_keys(vim.tbl_extend('keep', files(), config.get().agents))
  table.sort(names)
  return names
end

--- The preset of that name, with its program resolved: { name, command, args, env, install, unsaved, roots, commands,
--- write_approval, builtin }.
--- Or nil and why not.
function M.get(name)
  local path = files()[name]
  local given = config.get().agents[name]
  if not path and not given then
    local near = config.nearest(name, M.names())
    return nil,
      ('there is no agent preset `%s`%s'):format(name, near and (': did you mean `%s`?'):format(near) or '')
  end
  local preset, err
  if path then
    preset, err = load(path)
    if not preset then return nil, err end
  end
  preset = preset or {}
  given = given or {}
  local command = given.command or preset.command
  if not command or command == '' then return nil, ('the preset `%s` has no `command`'):format(name) end
  local demo = command == SIDECAR
  if demo then
    command, err = require('bosun.rpc').binary()
    if not command then return nil, err end
  end
  return {
    name = name,
    command = command,
    args = given.args or preset.args or {},
    env = vim.tbl_extend('force', preset.env or {}, given.env or {}),
    install = given.install or preset.install,
    unsaved = given.unsaved or preset.unsaved or config.get().unsaved,
    roots = given.roots or preset.roots,
    commands = given.commands or preset.commands,
    write_approval = given.write_approval or preset.write_approval,
    builtin = demo,
  }
end

--- Whether the preset's program can be started.
function M.installed(preset) return vim.fn.executable(preset.command) == 1 end

--- The agent of a new session: the setting, $BOSUN_AGENT, the first one that is installed, else the built-in one.
function M.default()
  local env = vim.env.BOSUN_AGENT
  local set = config.get().default_agent or (env ~= '' and env) or nil
  if set then return set end
  local builtin = nil
  for _, name in ipairs(M.names()) do
    local preset = M.get(name)
    if preset and preset.builtin then builtin = builtin or name end
    if preset and not preset.builtin and M.installed(preset) then return name end
  end
  return builtin or 'demo'
end

--- What the sidecar is told to start. Or nil and why not.
function M.launch(name, cwd)
  local preset, err = M.get(name)
  if not preset then return nil, err end
  if not M.installed(preset) then
    local how = preset.install and (': ' .. preset.install) or ''
    return nil, ('the agent `%s` is not installed (no `%s` on PATH)%s'):format(name, preset.command, how)
  end
  local env = {}
  for variable, value in vim.spairs(preset.env) do
    env[#env + 1] = { name = variable, value = value or nil }
  end
  return {
    name = name,
    command = preset.command,
    args = preset.args,
    env = env,
    cwd = cwd,
    unsaved = preset.unsaved,
    start_timeout_ms = math.floor(config.get().start_timeout * 1000),
  }
end

return M
