-- Notices commits: what is in a commit was decided on by the person, so its hunks are kept.
--
-- Owns which repositories are looked at: those of files under review. Git is asked only, one process at a time and
-- never waited for; without git nothing happens. Whether a hunk is in the committed text is for the sidecar to find
-- out. Called by `bosun.review`.
local M = {}

local api, uv = vim.api, vim.uv

--- Repositories that are looked at.
M.MAX_REPOS = 32
--- Files that one question to git is about.
M.MAX_ASKED = 50
--- Larger texts are not looked at, in bytes.
M.MAX_TEXT = 4 * 1024 * 1024
-- How often the log of a repository's head is looked at, in milliseconds.
local POLL_MS = 2000
-- How long git may take for one answer, in milliseconds.
local LIMIT_MS = 10000
-- Files that came into review are waited for this long, so that one question is about many, in milliseconds.
local GATHER_MS = 300

-- By root: { root, poll, head, files, dirty }; `files` by path: the commit that it was compared to, or false.
local repos = {}
-- By folder: the root of its repository; where there is none, one may be made.
local roots = {}
local busy, planned = false, false

local function root_of(path)
  local dir = vim.fs.dirname(path)
  roots[dir] = roots[dir] or vim.fs.root(dir, '.git')
  return roots[dir]
end

-- Asks git in a folder; `done` gets its output, or nil.
local function git(root, args, input, done)
  local command = { 'git', '--no-pager', '-C', root }
  vim.list_extend(command, args)
  local ok = pcall(vim.system, command, {
    stdin = input,
    timeout = LIMIT_MS,
    env = { GIT_OPTIONAL_LOCKS = '0', GIT_NO_LAZY_FETCH = '1', GIT_TERMINAL_PROMPT = '0' },
  }, function(result)
    vim.schedule(function() done(result.code == 0 and result.stdout or nil) end)
  end)
  if not ok then done(nil) end
end

-- The texts in the output of `cat-file --batch`, in the order of the questions; false for one that is not there.
local function texts_in(output, count)
  local out, at = {}, 1
  for i = 1, count do
    local stop = output:find('\n', at, true)
    if not stop then break end
    local kind, size = output:sub(at, stop - 1):match('^%x+ (%a+) (%d+)$')
    at = stop + 1
    out[i] = kind == 'blob' and output:sub(at, at + tonumber(size) - 1)
    if size then at = at + tonumber(size) + 1 end
  end
  return out
end

-- The text as the sidecar has texts, or nil for what is none: in UTF-8, with plain line ends.
local function as_text(bytes, path)
  if #bytes > M.MAX_TEXT or bytes:find('\0', 1, true) then return nil end
  local file = require('bosun.review').file(path)
  local encoding = file and file.buf and api.nvim_buf_is_loaded(file.buf) and vim.bo[file.buf].fileencoding
    or ''
  if encoding ~= '' and encoding ~= 'utf-8' then bytes = vim.iconv(bytes, encoding, 'utf-8') or bytes end
  if vim.startswith(bytes, '\239\187\191') then bytes = bytes:sub(4) end
  local _, breaks = bytes:gsub('\n', '')
  local _, dos = bytes:gsub('\r\n', '')
  if breaks > 0 and breaks == dos then bytes = bytes:gsub('\r\n', '\n') end
  return bytes
end

local work

-- Sends the committed texts of some files; then goes on.
local function compare(repo, head, paths)
  local questions = {}
  for i, path in ipairs(paths) do
    repo.files[path] = head
    questions[i] = ('%s:%s'):format(head, path:sub(#repo.root + 2))
  end
  git(repo.root, { 'cat-file', '--batch' }, table.concat(questions, '\n') .. '\n', function(output)
    for i, bytes in ipairs(output and texts_in(output, #paths) or {}) do
      local text = bytes and require('bosun.review').file(paths[i]) and as_text(bytes, paths[i])
      if text then require('bosun.rpc').notify('review_committed', { path = paths[i], text = text }) end
    end
    busy = false
    work()
  end)
end

-- Takes up one repository that has something to look at.
function work()
  if busy then return end
  for _, repo in pairs(repos) do
    if repo.dirty then
      repo.dirty, busy = false, true
      git(repo.root, { 'rev-parse', '--verify', '--quiet', 'HEAD' }, nil, function(output)
        local head = output and output:match('^%x+')
        local paths = {}
        for path, seen in pairs(head and repo.files or {}) do
          -- A line break would be another question.
          if seen ~= head and not path:find('\n', 1, true) then
            if #paths == M.MAX_ASKED then
              repo.dirty = true
              break
            end
            paths[#paths + 1] = path
          end
        end
        if #paths > 0 then return compare(repo, head, paths) end
        busy = false
        work()
      end)
      return
    end
  end
end

local function plan(delay)
  if planned then return end
  planned = true
  vim.defer_fn(function()
    planned = false
    work()
  end, delay)
end

--- Something happened that may have been a commit.
function M.look()
  for _, repo in pairs(repos) do
    repo.dirty = true
  end
  if next(repos) then plan(0) end
end

-- The log of the head is where every commit shows; worktrees and submodules have theirs elsewhere.
local function watch(repo)
  git(repo.root, { 'rev-parse', '--git-path', 'logs/HEAD' }, nil, function(output)
    local path = output and output:match('^[^\n]+')
    if not path or repos[repo.root] ~= repo then return end
    if not vim.startswith(path, '/') then path = vim.fs.joinpath(repo.root, path) end
    repo.poll = uv.new_fs_poll()
    repo.poll:start(path, POLL_MS, function()
      repo.dirty = true
      vim.schedule(work)
    end)
  end)
end

local function drop(repo)
  repos[repo.root] = nil
  if repo.poll then
    repo.poll:stop()
    repo.poll:close()
  end
end

--- A file is under review, or not (any more).
function M.follow(path, under_review)
  local root = root_of(path)
  if not root then return end
  local repo = repos[root]
  if under_review then
    if not repo then
      if vim.tbl_count(repos) == M.MAX_REPOS or vim.fn.executable('git') ~= 1 then return end
      repo = { root = root, files = {} }
      repos[root] = repo
      watch(repo)
    end
    if repo.files[path] == nil then
      repo.files[path], repo.dirty = false, true
      plan(GATHER_MS)
    end
  elseif repo then
    repo.files[path] = nil
    if next(repo.files) == nil then
      roots = {}
      drop(repo)
    end
  end
end

local group = api.nvim_create_augroup('bosun.commits', {})

api.nvim_create_autocmd({ 'FocusGained', 'ShellCmdPost', 'TermLeave', 'TermClose' }, {
  group = group,
  callback = function() M.look() end,
})

api.nvim_create_autocmd('User', {
  group = group,
  pattern = { 'BosunTurnEnd', 'FugitiveChanged' },
  callback = function() M.look() end,
})

return M
