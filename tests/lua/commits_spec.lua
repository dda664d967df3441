-- Commits: the committed text of files under review is sent, and nothing happens without git.
local here = vim.fs.dirname(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p'))
local hunks = dofile(here .. '/support/review.lua')
local same = require('editor').same

local function git(dir, ...)
  local done = vim
    .system({
      'git',
      '-C',
      dir,
      '-c',
      'user.name=a',
      '-c',
      'user.email=a@b',
      '-c',
      'commit.gpgsign=false',
      ...,
    }, { text = true })
    :wait()
  assert(done.code == 0, done.stderr)
  return done.stdout
end

-- The texts that were sent, by the name of their file.
local function sent(e)
  local out = {}
  for _, message in ipairs(e:sent('review_committed')) do
    out[vim.fs.basename(message.path)] = message.text
  end
  return out
end

local function repository(e, files)
  git(e.dir, 'init', '-q', '.')
  for name, text in pairs(files) do
    e:file(name, text)
  end
  git(e.dir, 'add', '.')
  git(e.dir, 'commit', '-q', '-m', 'one')
end

local specs = {
  {
    'a commit sends the committed text of each file under review',
    function(e)
      repository(e, { ['a b.txt'] = 'one\n', ['c.txt'] = 'c\r\nd\r\n', ['new.txt'] = '' })
      for i, name in ipairs({ 'a b.txt', 'c.txt' }) do
        hunks.tell(e, e:open(e.dir .. '/' .. name), { hunks.hunk(i, 0, 1, {}) })
      end
      hunks.tell(e, e:open(e:file('never.txt', 'x\n')), { hunks.hunk(3, 0, 1, {}) })
      local first = function() return vim.deep_equal(sent(e), { ['a b.txt'] = 'one\n', ['c.txt'] = 'c\nd\n' }) end
      assert(vim.wait(4000, first, 10), vim.inspect(sent(e)))
      e:forget()
      e:file('a b.txt', 'two\n')
      git(e.dir, 'commit', '-q', '-a', '-m', 'two')
      e:cmd('doautocmd FocusGained')
      local second = function() return sent(e)['a b.txt'] == 'two\n' end
      assert(vim.wait(4000, second, 10), vim.inspect(sent(e)))
    end,
  },
  {
    'a commit is noticed without any event of the editor, also in a worktree',
    function(e)
      repository(e, { ['a.txt'] = 'one\n' })
      git(e.dir, 'worktree', 'add', '-q', 'tree')
      hunks.tell(e, e:open(e.dir .. '/tree/a.txt'), { hunks.hunk(1, 0, 1, {}) })
      assert(vim.wait(4000, function() return sent(e)['a.txt'] == 'one\n' end, 10), vim.inspect(sent(e)))
      e:file('tree/a.txt', 'two\n')
      git(e.dir .. '/tree', 'commit', '-q', '-a', '-m', 'two')
      assert(vim.wait(4900, function() return sent(e)['a.txt'] == 'two\n' end, 10), vim.inspect(sent(e)))
    end,
  },
  {
    'without a repository, or without git, nothing happens',
    function(e)
      hunks.open(e)
      e:cmd('doautocmd FocusGained')
      git(e.dir, 'init', '-q', '.')
      e:lua([[vim.env.PATH = '/nonexistent']])
      hunks.tell(e, e:open(e:file('b.txt', 'x\n')), { hunks.hunk(1, 0, 1, {}) })
      e:cmd('doautocmd FocusGained')
      e:lua('vim.wait(400)')
      same(e:sent('review_committed'), {})
      same(vim.trim(e:messages()):gsub('"[^\n]*written', ''), '')
    end,
  },
  {
    'looking for commits does not keep the editor from leaving',
    function(e)
      repository(e, { ['a.txt'] = 'one\n' })
      hunks.tell(e, e:open(e.dir .. '/a.txt'), { hunks.hunk(1, 0, 1, {}) })
      assert(vim.wait(4000, function() return sent(e)['a.txt'] ~= nil end, 10))
      local before = vim.uv.hrtime()
      vim.rpcnotify(e.chan, 'nvim_command', 'qa')
      same(vim.fn.jobwait({ e.chan }, 3000)[1], 0)
      assert((vim.uv.hrtime() - before) / 1e6 < 1500, 'it took too long')
    end,
  },
}

return specs
