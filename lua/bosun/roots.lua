-- Where a session works: one real folder.
--
-- Owns the choice, nothing else. A session's root is what its agent may read and write, so it is never a guess from
-- a name that is no folder, and the two roots that hold everything are asked about.
local M = {}

local uv = vim.uv

local MARKERS = { '.git', '.jj', '.hg', '.svn' }

local function is_folder(path)
  local stat = uv.fs_stat(path)
  return stat ~= nil and stat.type == 'directory'
end

-- The project of the file that the person is in, else of the working directory, else that directory.
local function project()
  local name = vim.api.nvim_buf_get_name(0)
  local here = vim.fn.getcwd()
  local of_file = vim.bo.buftype == '' and vim.startswith(name, '/') and vim.fs.root(name, MARKERS)
  return of_file or vim.fs.root(here, MARKERS) or here
end

--- The folder of a new session, as a real path. Or nil and why not.
function M.choose(given)
  if given ~= nil and type(given) ~= 'string' then return nil, 'cwd must be a string' end
  if given and given:find('^%a[%w+.-]*://') then
    return nil, ('cwd must be a folder, not %s'):format(given)
  end
  local path = given and vim.fn.fnamemodify(vim.fs.normalize(given), ':p') or project()
  local real = uv.fs_realpath(path)
  if not real or not is_folder(real) then return nil, ('cwd is not a folder: %s'):format(path) end
  return real
end

--- Whether the folder holds so much that a person should agree first.
function M.is_wide(path) return path == '/' or path == uv.fs_realpath(vim.env.HOME or uv.os_homedir() or '/') end

return M
