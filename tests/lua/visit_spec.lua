-- Files that a command waits for: when and where they are opened, and what ends the wait.
local editor = require('editor')
local same = editor.same

-- A program: a channel of its own to the editor. What it would be told is written down on its way.
local function program(e)
  e:lua([[
    if _G.told then return end
    _G.told = {}
    vim.rpcnotify = function(channel, name, code)
      assert(next(vim.api.nvim_get_chan_info(channel)), 'nobody is there')
      _G.told[#_G.told + 1] = { channel, name, code }
    end
  ]])
  local chan = vim.fn.sockconnect('pipe', e:lua('return vim.v.servername'), { rpc = true })
  local there = vim.rpcrequest(chan, 'nvim_get_api_info')[1]
  local p = { id = there }
  function p.open(files, line)
    local code = "return require('bosun.visit').open(...)"
    same(vim.rpcrequest(chan, 'nvim_exec_lua', code, { files, line or 0, there }), true)
  end
  function p.quit() vim.fn.chanclose(chan) end
  --- The exit code that it was told, or 'nothing'.
  function p.code()
    return e:lua(
      [[
      local code = 'nothing'
      for _, t in ipairs(_G.told) do
        if t[1] == ... then
          assert(code == 'nothing' and t[2] == 'bosun_visited', 'told twice')
          code = t[3]
        end
      end
      return code
    ]],
      there
    )
  end
  --- Waits for the code.
  function p.ends_with(code)
    local last
    local ok = vim.wait(5000, function()
      last = p.code()
      return last ~= 'nothing'
    end, 5)
    if not ok or last ~= code then error(('told %s, expected %s'):format(last, code), 2) end
  end
  return p
end

local function shows(e, path) e:eventually(('return vim.api.nvim_buf_get_name(0) == %q'):format(path)) end

local function bar(e) return e:lua([[return vim.wo.winbar]]) end

local function wins(e) return e:lua('return #vim.api.nvim_list_wins()') end

-- A program waits for a file of that text, and the person is in it.
local function visited(e, bytes)
  local p, path = program(e), e:file('MESSAGE', bytes or 'text\n')
  p.open({ path })
  shows(e, path)
  return p, path
end

-- What a person types in the file, and what the program is told.
local function ends(name, keys, code, disk)
  return {
    name,
    function(e)
      local p, path = visited(e)
      -- An interrupt throws away what was typed and is not taken up yet: the text comes first.
      local typed, rest = keys:match('^(onew<Esc>)(.*)$')
      if typed then
        e:keys(typed, [[return vim.fn.getline(2) == 'new' and vim.api.nvim_get_mode().mode == 'n']])
      end
      same(p.code(), 'nothing')
      e:keys(rest or keys, 'return #_G.told == 1')
      p.ends_with(code)
      same(e:bytes(path), disk or 'text\n')
      same(e:lua('return vim.v.errmsg'), '')
    end,
  }
end

-- What a person has begun, where the file is not opened yet, and the keys that end it.
local function waits(name, begin, mode, finish, says)
  return {
    name,
    function(e)
      local p, path = program(e), e:file('MESSAGE', 'text\n')
      e:keys(begin, ('return vim.api.nvim_get_mode().mode == %q'):format(mode))
      local before = e:lua('return vim.api.nvim_get_current_buf()')
      p.open({ path })
      e:eventually(([[
        for _, win in ipairs(vim.api.nvim_list_wins()) do
          local line = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, 1, false)[1]
          if line:find('MESSAGE opens %s', 1, true) then return true end
        end
        return false]]):format(says))
      same(e:lua('return vim.api.nvim_get_mode().mode'), mode, 'nothing changes under the hands')
      same(e:lua('return vim.api.nvim_get_current_buf()'), before)
      e:keys(finish, ('return vim.api.nvim_buf_get_name(0) == %q'):format(path))
      e:eventually([[return #vim.api.nvim_list_wins() == 2]])
      same(p.code(), 'nothing')
    end,
  }
end

return {
  ends('written: the command goes on', 'onew<Esc>:w<CR>', 0, 'text\nnew\n'),
  ends('written and closed', 'onew<Esc>:wq<CR>', 0, 'text\nnew\n'),
  ends('ZZ writes and closes', 'onew<Esc>ZZ', 0, 'text\nnew\n'),
  ends(':x without a change closes', ':x<CR>', 0),
  ends('closed without a change', ':q<CR>', 0),
  ends('closed with its window', '<C-w>c', 0),
  ends(':q! goes on with what is on disk', 'onew<Esc>:q!<CR>', 0),
  ends('ZQ goes on with what is on disk', 'onew<Esc>ZQ', 0),
  ends('deleted without a change', ':bdelete<CR>', 0),
  ends('deleted with unsaved text is given up', 'onew<Esc>:bdelete!<CR>', 1),
  ends('wiped with unsaved text is given up', 'onew<Esc>:bwipeout!<CR>', 1),
  ends('given up by its key', 'onew<Esc><C-c><C-k>', 1),
  ends('given up by the command', 'onew<Esc>:Bosun visit abort<CR>', 1),
  ends(':cq gives up the file and not the editor', 'onew<Esc>:cq<CR>', 1),
  ends(':cq! does too', 'onew<Esc>:cq!<CR>', 1),

  {
    'typing, a partial write and a write to another file are no end',
    function(e)
      local p, path = visited(e, 'one\ntwo\n')
      e:keys('othree<Esc>:1write other<CR>:write third<CR>', [[return vim.uv.fs_stat('third') ~= nil]])
      same(p.code(), 'nothing')
      same(e:bytes(path), 'one\ntwo\n')
      e:keys(':edit!<CR>', 'return not vim.bo.modified')
      same(p.code(), 'nothing', 'a reload is none')
      e:keys(':q<CR>', 'return #_G.told == 1')
      p.ends_with(0)
    end,
  },
  {
    'unsaved text is not lost by :q',
    function(e)
      local p, path = visited(e)
      e:keys('onew<Esc>:q<CR>', [[return vim.v.errmsg:find('E37') ~= nil]])
      shows(e, path)
      same(p.code(), 'nothing')
    end,
  },
  {
    'the bar, the key and :cq are there while it waits and not longer',
    function(e)
      e:lua([[vim.wo.winbar = 'mine']])
      local p = visited(e)
      e:eventually([[return vim.wo.winbar:find('a command waits for this file', 1, true) ~= nil]])
      same(bar(e):find('<C-c><C-k> gives up', 1, true) ~= nil, true)
      same(e:lua([[return vim.wo[vim.fn.win_getid(2)].winbar]]), 'mine', 'the other window keeps its own')
      e:keys(':vsplit<CR>', 'return #vim.api.nvim_list_wins() == 3')
      -- Where there is little room, the words give way and not the keys.
      local narrow = ' a command waits · :w goes on · <C-c><C-k> gives up '
      e:eventually(([[
        local bar = vim.api.nvim_eval_statusline(vim.wo.winbar, { use_winbar = true, maxwidth = 100 }).str
        return bar == %q and vim.api.nvim_win_get_width(0) < #bar
      ]]):format(narrow))
      e:keys(':w<CR>', 'return #_G.told == 1')
      p.ends_with(0)
      same(
        e:lua([[return vim.tbl_map(function(w)
        return vim.wo[w].winbar:find('command') ~= nil or vim.wo[w].winfixbuf
      end, vim.api.nvim_list_wins())]]),
        { false, false, false }
      )
      same(e:lua([[return vim.fn.maparg('<C-c><C-k>', 'n') .. vim.fn.maparg('cq', 'c', true)]]), '')
    end,
  },
  {
    'the person is back where they were, and nothing is left in the list',
    function(e)
      e:open(e:file('a.txt', 'a\n'))
      local before = e:lua('return { vim.api.nvim_get_current_win(), vim.fn.winrestcmd() }')
      local p, path = visited(e)
      e:keys('onew<Esc>:wq<CR>', 'return #vim.api.nvim_list_wins() == 1')
      p.ends_with(0)
      same(e:lua('return { vim.api.nvim_get_current_win(), vim.fn.winrestcmd() }'), before)
      same(e:lua('return vim.fn.bufloaded(...) + vim.fn.buflisted(...)', path), 0)
    end,
  },
  {
    'the file type is found, by the usual autocommands',
    function(e)
      local p = program(e)
      e:cmd('filetype plugin indent on')
      vim.fn.mkdir(e.dir .. '/.git')
      local path = e:file('.git/COMMIT_EDITMSG', '\n# Please\n')
      p.open({ path }, 2)
      shows(e, path)
      same(e:lua([[return { vim.bo.filetype, vim.bo.textwidth, vim.fn.line('.') }]]), { 'gitcommit', 72, 2 })
    end,
  },
  {
    'a name of odd characters is taken literally',
    function(e)
      local p = program(e)
      e:open(e:file('xi.txt', 'other\n'))
      local path = e:file('x[i]% #*.txt', 'text\n')
      p.open({ path }, -1)
      shows(e, path)
      same(e:lines(0), { 'text' })
      e:keys(':wq<CR>', 'return #_G.told == 1')
      p.ends_with(0)
    end,
  },
  {
    'a file that is not there yet is a new one',
    function(e)
      local p, path = program(e), e.dir .. '/new.txt'
      p.open({ path }, 7)
      shows(e, path)
      e:keys('ihello<Esc>:wq<CR>', 'return #_G.told == 1')
      p.ends_with(0)
      same(e:bytes(path), 'hello\n')
    end,
  },

  waits('typing is not interrupted', 'ihalf a', 'i', '<Esc>', 'when you are back in normal mode'),
  waits('nor is a command line', ':some command', 'c', '<C-c>', 'when you leave the command line'),
  waits('nor an operator', 'd', 'no', '<Esc>', 'when you are back in normal mode'),
  waits('nor a selection', 'v', 'v', '<Esc>', 'when you are back in normal mode'),
  waits('nor a recording', 'qa', 'n', 'q', 'when the recording ends'),
  waits('nor a terminal', ':enew | terminal cat<CR>i', 't', [[<C-\><C-n>]], 'when you leave terminal mode'),
  waits('nor the command-line window', 'q:', 'n', ':q<CR>', 'when the command-line window is closed'),

  {
    'a program that ended leaves the file, and nothing waits for it',
    function(e)
      local p, path = visited(e)
      e:cmd('normal! onew')
      p.quit()
      e:eventually([[return not require('bosun.visit').waits_for(0)]])
      shows(e, path)
      same(e:lines(0), { 'text', 'new' })
      same(bar(e), '')
      e:keys(':wq<CR>', 'return #vim.api.nvim_list_wins() == 1')
      same(e:bytes(path), 'text\nnew\n')
      same(e:lua('return { _G.told, vim.v.errmsg }'), { {}, '' })
    end,
  },
  {
    'a program that ended before its moment came opens nothing',
    function(e)
      local p, path = program(e), e:file('MESSAGE', 'text\n')
      e:keys('ihalf', [[return vim.api.nvim_get_mode().mode == 'i']])
      p.open({ path })
      e:eventually('return #vim.api.nvim_list_wins() == 2')
      p.quit()
      e:eventually('return #vim.api.nvim_list_wins() == 1')
      e:keys('<Esc>', [[return vim.api.nvim_get_mode().mode == 'n']])
      same(e:lua('return vim.fn.bufexists(...)', path), 0)
    end,
  },
  {
    'several files come in their order, and the command goes on after the last',
    function(e)
      local p = program(e)
      local paths = vim.tbl_map(function(name) return e:file(name, name .. '\n') end, { 'b', 'a', 'c' })
      p.open(paths, 1)
      shows(e, paths[1])
      e:keys(':wq<CR>', 'return #vim.api.nvim_list_wins() == 3')
      same(p.code(), 'nothing')
      shows(e, paths[2])
      e:keys('<C-w>t:Bosun visit<CR>', ('return vim.api.nvim_buf_get_name(0) == %q'):format(paths[2]))
      e:keys(':q<CR>', 'return #vim.api.nvim_list_wins() == 2')
      shows(e, paths[3])
      same(p.code(), 'nothing')
      e:keys(':q<CR>', 'return #vim.api.nvim_list_wins() == 1')
      p.ends_with(0)
    end,
  },
  {
    'one file that is given up gives all of its command up',
    function(e)
      local p = program(e)
      p.open({ e:file('a', 'a\n'), e:file('b', 'b\n') })
      e:eventually('return #vim.api.nvim_list_wins() == 3')
      e:keys('<C-c><C-k>', 'return #vim.api.nvim_list_wins() == 1')
      p.ends_with(1)
    end,
  },
  {
    'several commands wait at once, and who is in one file is not carried to the next',
    function(e)
      local p, path = visited(e)
      local q, other = program(e), e:file('OTHER', 'other\n')
      q.open({ other })
      e:eventually('return #vim.api.nvim_list_wins() == 3')
      shows(e, path)
      e:keys(':wq<CR>', 'return #_G.told == 1')
      p.ends_with(0)
      same(q.code(), 'nothing')
      e:keys(':Bosun visit<CR>', ('return vim.api.nvim_buf_get_name(0) == %q'):format(other))
      e:keys('<C-c><C-k>', 'return #_G.told == 2')
      q.ends_with(1)
    end,
  },
  {
    'a command is given up from elsewhere, also before its moment, unless there are several',
    function(e)
      local p = visited(e)
      local q = program(e)
      q.open({ e:file('OTHER', 'other\n') })
      e:eventually('return #vim.api.nvim_list_wins() == 3')
      e:keys(
        '<C-w>b:Bosun visit abort<CR>',
        [[
        return vim.fn.execute('messages'):find('go to the file first', 1, true) ~= nil
      ]]
      )
      e:keys(':Bosun visit<CR>:q<CR><C-w>b', 'return #_G.told == 1')
      p.ends_with(0)
      e:keys(':Bosun visit abort<CR>', 'return #vim.api.nvim_list_wins() == 1')
      q.ends_with(1)
      local r = program(e)
      e:keys('i', [[return vim.api.nvim_get_mode().mode == 'i']])
      r.open({ e:file('THIRD', 'third\n') })
      e:eventually('return #vim.api.nvim_list_wins() == 2')
      e:keys('<C-o>:Bosun visit abort<CR>', 'return #_G.told == 3')
      r.ends_with(1)
      e:eventually('return #vim.api.nvim_list_wins() == 1')
    end,
  },
  {
    'two commands may wait for one file',
    function(e)
      local p, path = visited(e)
      local q = program(e)
      q.open({ path })
      e:eventually([[return vim.fn.execute('messages'):find('waits for MESSAGE too', 1, true) ~= nil]])
      e:keys(':wq<CR>', 'return #_G.told == 2')
      p.ends_with(0)
      q.ends_with(0)
    end,
  },
  {
    'a file that is open already is shown where it is, as it is',
    function(e)
      local p, path = program(e), e:file('a.txt', 'a\n')
      local buf = e:open(path)
      e:keys('omine<Esc>:tabnew<CR>', [[return vim.fn.tabpagenr() == 2]])
      p.open({ path })
      shows(e, path)
      same(
        e:lua('return { vim.fn.tabpagenr(), vim.api.nvim_get_current_buf(), vim.wo.winfixbuf }'),
        { 1, buf, false }
      )
      same(e:lines(buf), { 'a', 'mine' })
      e:keys(':w<CR>', 'return #_G.told == 1')
      p.ends_with(0)
      same(e:lua('return { vim.bo.bufhidden, vim.bo.buflisted }'), { '', true })
    end,
  },
  {
    'unsaved text that was hidden is waited for and said',
    function(e)
      local p, path = program(e), e:file('a.txt', 'a\n')
      e:open(path)
      e:cmd('new')
      p.open({ path })
      shows(e, path)
      e:keys('omine<Esc>:q<CR>', 'return #vim.api.nvim_list_wins() == 1')
      e:eventually(
        [[return vim.fn.execute('messages'):find('unsaved text and a command waits', 1, true) ~= nil]]
      )
      same(p.code(), 'nothing')
      e:keys(':Bosun visit<CR>', ('return vim.api.nvim_buf_get_name(0) == %q'):format(path))
      e:keys(':wq<CR>', 'return #_G.told == 1')
      p.ends_with(0)
      same(e:bytes(path), 'a\nmine\n')
    end,
  },
  {
    'the text of the time before is not taken for that of now',
    function(e)
      local p, path = visited(e)
      e:keys('onew<Esc>:w<CR>', 'return #_G.told == 1')
      p.ends_with(0)
      e:keys('olater<Esc>', 'return vim.bo.modified')
      local q = program(e)
      e:file('MESSAGE', 'another\n')
      q.open({ path })
      e:eventually([[return require('bosun.visit').waits_for(0)]])
      same(e:lines(0), { 'another' })
      e:keys('u', [[return vim.fn.getline(2) == 'new']])
      same(e:lines(0), { 'text', 'new', 'later' }, 'an undo brings it back')
    end,
  },
  {
    "unsaved text is kept where the disk has no other, and where the buffer is the person's",
    function(e)
      local _, path = visited(e)
      e:keys(':w<CR>', 'return #_G.told == 1')
      e:keys('omine<Esc>', 'return vim.bo.modified')
      local q = program(e)
      q.open({ path })
      e:eventually([[return require('bosun.visit').waits_for(0)]])
      same(e:lines(0), { 'text', 'mine' })
      local own = e:file('own.txt', 'own\n')
      e:keys(':wq<CR>:edit own.txt<CR>omore<Esc>', [[return vim.fn.getline(2) == 'more']])
      local file = io.open(own, 'w')
      file:write('another, and longer\n')
      file:close()
      local r = program(e)
      r.open({ own })
      e:eventually([[return require('bosun.visit').waits_for(0)]])
      same(e:lines(0), { 'own', 'more' })
      e:eventually([[return vim.fn.execute('messages'):find('own.txt has unsaved text', 1, true) ~= nil]])
    end,
  },
  {
    'the chat and windows that are fixed to their buffer are left alone',
    function(e)
      e:lua([[
        vim.wo.winfixbuf = true
        vim.w.bosun = 'transcript'
        vim.cmd('vnew')
        vim.bo.buftype = 'nofile'
        vim.bo.bufhidden = 'hide'
      ]])
      local layout = e:lua('return vim.fn.winlayout()')
      local p = visited(e)
      same(e:lua('return vim.fn.tabpagenr()'), 2)
      same(e:lua('return vim.fn.winlayout(1)'), layout)
      same(wins(e), 3)
      e:keys(':wq<CR>', 'return vim.fn.tabpagenr() == 1')
      p.ends_with(0)
      same(e:lua('return vim.fn.winlayout()'), layout)
    end,
  },
  {
    'a screen without room gets a tab',
    function(e)
      e:lua([[vim.o.lines = 10]])
      local p = visited(e)
      same(e:lua('return vim.fn.tabpagenr()'), 2)
      e:keys(':q<CR>', 'return #_G.told == 1')
      p.ends_with(0)
    end,
  },
  {
    'what is saved for an agent is not the word of the person',
    function(e)
      local p, path = visited(e)
      e:lua([[require('bosun.stamps').watch()]])
      local buf = e:lua('return vim.api.nvim_get_current_buf()')
      same(e:edit(buf, { e.whole(0, 1, { 'theirs' }) }).kind, 'done')
      same(e:bytes(path), 'theirs\n')
      e:cmd('normal! omine')
      e:lua([[require('bosun.saver').save({ save = 1, bufs = { ... } })]], buf)
      same(e:bytes(path), 'theirs\nmine\n')
      same(p.code(), 'nothing')
    end,
  },
  {
    'the address is a socket, also where Neovim listens elsewhere, and none when that is switched off',
    function(e)
      local function socket()
        local path = e:lua([[return require('bosun.visit').address()]])
        same((vim.uv.fs_stat(path) or {}).type, 'socket', path)
        return path
      end
      same(socket(), e:lua('return vim.v.servername'))
      e:lua([[vim.fn.serverstop(vim.v.servername)]])
      local own = socket()
      same(socket(), own, 'it is started once')
      e:lua([[require('bosun').setup({ terminal_editor = false })]])
      same(e:lua([[return require('bosun.visit').address()]]), '')
    end,
  },
  {
    'without a file that is waited for the command says so',
    function(e)
      e:cmd('Bosun visit')
      e:eventually([[return vim.fn.execute('messages'):find('no command waits for a file', 1, true) ~= nil]])
      e:cmd('Bosun visit stop')
      e:eventually([[return vim.fn.execute('messages'):find('no :Bosun visit stop', 1, true) ~= nil]])
    end,
  },
}
