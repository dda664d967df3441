-- Where a session works: one real folder, and what else it may see.
--
-- Owns the choice, nothing else. A session's root is what its agent may read and write, so it is never a guess from
-- a name that is no folder, and the two roots that hold everything are asked about. The sidecar keeps the rules.
local M = {}

local uv = vim.uv

local MARKERS = { '.git', '.jj', '.hg', '.svn' }

local function is_folder(path)
  local stat = uv.fs_stat(path)
  return stat ~= nil and stat.type == 'directory'
end

--- Whether the folder holds so much that a person should agree first.
function M.is_wide(path)
  return path == '/' or uv.fs_realpath(path) == uv.fs_realpath(vim.env.HOME or uv.os_homedir() or '/')
end

-- The nearest folder that exists, `path` itself or one above it; nil when that is only `/`.
local function nearest(path)
  while path ~= '/' and path ~= '.' and path ~= '' do
    if is_folder(path) then return path end
    path = vim.fs.dirname(path)
  end
end

-- The folder that the current buffer is about, and whether the buffer is a file in it; nil when it is about none.
-- Buffers of file managers and of git are named by a URI (`oil:///p/src/`, `fugitive:///p/.git//0/a.txt`): such a name
-- is never a path, but what follows the scheme says where the person is.
local function place()
  local name = vim.api.nvim_buf_get_name(0)
  local path = name:match('^%a[%w+.-]*://(/.*)$')
  if path then return nearest(path), false end
  if vim.bo.buftype ~= '' or not vim.startswith(name, '/') then return nil, false end
  if is_folder(name) then return name, false end
  return nearest(vim.fs.dirname(name)), true
end

-- The project of what the person is in, else of the working directory, else that directory. A file outside any project
-- gives its own folder where the working directory would give everything. Or nil and why not.
local function project()
  local of_buffer, is_file = place()
  local found = of_buffer and vim.fs.root(of_buffer, MARKERS)
  if found then return found end
  local here = uv.cwd()
  if not here or not is_folder(here) then
    if is_file then return of_buffer end
    return nil, 'the working directory does not exist any more: `:cd` to a folder, or give `cwd`'
  end
  here = vim.fs.root(vim.fn.getcwd(), MARKERS) or vim.fn.getcwd()
  if is_file and M.is_wide(here) and not M.is_wide(of_buffer) then return of_buffer end
  return here
end

--- The folder of a new session, as a real path. Or nil and why not.
function M.choose(given)
  if given ~= nil and type(given) ~= 'string' then return nil, 'cwd must be a string' end
  if given and given:find('^%a[%w+.-]*://') then
    return nil, ('cwd must be a folder, not %s'):format(given)
  end
  local path, err
  if given then
    path = vim.fn.fnamemodify(vim.fs.normalize(given), ':p')
  else
    path, err = project()
  end
  if not path then return nil, err end
  local real = uv.fs_realpath(path)
  if not real or not is_folder(real) then return nil, ('cwd is not a folder: %s'):format(path) end
  return real
end

--- Whether a session's folder is still there. True, or nil and why not.
function M.check(cwd)
  if is_folder(cwd) then return true end
  return nil, ('the folder of the session does not exist any more: %s'):format(cwd)
end

-- `~`, `$VAR`, and a path relative to the session's folder.
local function expand(path, cwd)
  path = vim.fs.normalize(path)
  return vim.startswith(path, '/') and path or vim.fs.normalize(vim.fs.joinpath(cwd, path))
end

local function globs(list)
  local home = vim.fs.normalize('~')
  return vim.tbl_map(function(glob)
    return (glob:gsub('^~/', function() return home .. '/' end))
  end, list)
end

--- What a session in `cwd` may see, as the sidecar is told; `agent` names a preset. Also a list of what is wrong: roots
--- that are no folders are left out.
function M.access(cwd, agent)
  local settings = require('bosun.config').get()
  local preset = require('bosun.agents').get(agent)
  local roots, wrong = {}, {}
  for _, given in ipairs(vim.list_extend(vim.list_extend({}, settings.roots), preset and preset.roots or {})) do
    local entry = type(given) == 'table' and given or { path = given }
    local path = expand(entry.path, cwd)
    if is_folder(path) then
      roots[#roots + 1] = { path = path, write = entry.write ~= false }
    else
      wrong[#wrong + 1] = ('the root %s is not a folder, and is left out'):format(path)
    end
  end
  return {
    roots = roots,
    ask_outside = settings.outside == 'ask',
    always_ask = globs(settings.always_ask),
    ask_read = globs(settings.ask_read),
    ask_commands = (preset and preset.commands or settings.commands) == 'ask',
    write_approval = preset and preset.write_approval or settings.write_approval,
  },
    wrong
end

return M
