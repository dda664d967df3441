-- What the sidecar is told of buffers, and their lines in slices.
local editor = require('editor')
local same = editor.same

-- The announcements of a buffer since the last look, as tables of the fields that are asked for.
local function metas(e, buf, ...)
  local out = {}
  for _, meta in ipairs(e:sent('buf_meta')) do
    if meta.buf == buf then
      local fields = {}
      for i, name in ipairs({ ... }) do
        fields[i] = meta[name]
      end
      out[#out + 1] = fields
    end
  end
  e:forget()
  return out
end

local function start(e) e:lua([[require('bosun.buffers').start()]]) end

local function slice(e, buf, from)
  e:forget()
  e:lua([[require('bosun.inbox').recv('slice', ...)]], { buf = buf, start = from or 0, later = false })
  return e:sent('slice')[1]
end

local function check_empty(name, bytes, change, expected)
  return {
    name,
    function(e)
      local buf = e:open(e:file('a.txt', bytes))
      if change then e:lua('vim.api.nvim_buf_set_lines(..., 0, -1, true, select(2, ...))', buf, change) end
      local got = slice(e, buf)
      same({ got.empty, got.lines, got.total }, { expected, { '' }, 1 })
    end,
  }
end

return {
  {
    "a buffer that is loaded anew keeps its own 'autoread'",
    function(e)
      for _, own in ipairs({ true, false, vim.NIL }) do
        local path = e:file('a.txt', 'a\n')
        local buf = e:open(path)
        start(e)
        if own ~= vim.NIL then e:lua('vim.bo.autoread = ...', own) end
        slice(e, buf)
        same(e:lua('return vim.bo.autoread'), false)
        e:cmd('edit!')
        slice(e, buf)
        e:lua("require('bosun.buffers').unfollow(...)", buf)
        same(e:lua('return vim.bo.autoread'), own)
        e:cmd('bwipeout!')
      end
    end,
  },
  {
    'nothing is said before there is a session, then all file buffers are announced',
    function(e)
      local a = e:open(e:file('a.txt', 'a\n'))
      local b = e:open(e:file('b.txt', 'b'))
      e:lua('vim.api.nvim_create_buf(true, false)')
      e:cmd('silent help')
      same(#e:sent('buf_meta'), 0)
      start(e)
      same(#e:sent('buf_meta'), 2)
      local b_meta = e:sent('buf_meta')[2]
      same(
        { b_meta.name, b_meta.lines, b_meta.bytes, b_meta.eol, b_meta.buftype },
        { e.dir .. '/b.txt', 1, 2, false, '' }
      )
      same(
        metas(e, a, 'modified', 'visible', 'fileformat', 'bomb', 'eol'),
        { { false, false, 'unix', false, true } }
      )
      same(b ~= a, true)
    end,
  },
  {
    'each change of the facts is announced once',
    function(e)
      start(e)
      local buf = e:open(e:file('a.txt', 'a\n'))
      same(#metas(e, buf) > 0, true)
      e:lua([[require('bosun.buffers').refresh()]])
      same(metas(e, buf), {}, 'nothing new')
      e:keys('ix<Esc>', 'return vim.bo.modified')
      e:lua([[require('bosun.buffers').refresh()]])
      local first = metas(e, buf, 'modified')
      same(first, { { true } })
      e:cmd('set fileformat=dos')
      same(metas(e, buf, 'fileformat')[1], { 'dos' })
      e:cmd('silent write')
      local last = metas(e, buf, 'modified')
      same(last[#last], { false })
      e:cmd('silent file ' .. e.dir .. '/other.txt')
      last = metas(e, buf, 'name')
      same(last[#last], { e.dir .. '/other.txt' })
    end,
  },
  {
    'a buffer that is no file any more, or is unloaded, is closed; a reload announces it again',
    function(e)
      start(e)
      local buf = e:open(e:file('a.txt', 'a\n'))
      e:cmd('setlocal buftype=nofile')
      same(e:sent('buf_closed'), { { buf = buf } })
      e:cmd('setlocal buftype=')
      e:forget()
      e:cmd('silent edit!')
      same(e:sent('buf_closed'), { { buf = buf } })
      local names = e:lua('return vim.tbl_map(function(s) return s.name end, _G.sent)')
      same(names[#names], 'buf_meta')
      e:forget()
      e:cmd('silent bdelete!')
      same(e:sent('buf_closed'), { { buf = buf } })
    end,
  },
  {
    'our own buffers are never announced',
    function(e)
      start(e)
      local buf = e:lua([[
        local buf = vim.api.nvim_create_buf(true, false)
        require('bosun.buffers').own(buf)
        vim.api.nvim_buf_set_name(buf, '/tmp/bosun-own.txt')
        return buf
      ]])
      e:lua([[require('bosun.buffers').refresh()]])
      same(metas(e, buf), {})
    end,
  },
  {
    'the final newline is told as it is on disk after a save that added it',
    function(e)
      start(e)
      local path = e:file('a.txt', 'a')
      local buf = e:open(path)
      local got = metas(e, buf, 'eol')
      same(got[#got], { false })
      e:keys('ix<Esc>', 'return vim.bo.modified')
      e:cmd('silent write')
      same({ e:bytes(path), e:lua('return vim.bo.endofline') }, { 'xa\n', false })
      got = metas(e, buf, 'eol')
      same(got[#got], { true })
    end,
  },
  {
    'the final newline follows the options where a save would',
    function(e)
      start(e)
      local buf = e:open(e:file('a.txt', 'a'))
      local function eol_after(command)
        e:forget()
        e:cmd(command)
        local got = metas(e, buf, 'eol')
        return got[#got] and got[#got][1]
      end
      same(eol_after('setlocal endofline'), true)
      same(eol_after('setlocal noendofline'), false)
      -- 'endofline' is still off, but the save has added the newline.
      same(eol_after('silent write'), true)
      same(eol_after('setlocal binary'), false)
      same(eol_after('setlocal nobinary'), true)
      same(eol_after('setlocal nofixendofline'), false)
    end,
  },
  {
    'one empty line is a line also where its newline would not be saved',
    function(e)
      local buf = e:open(e:file('a.txt', '\n'))
      e:cmd('setlocal binary noendofline')
      same(slice(e, buf).empty, false)
      buf = e:open(e:file('b.txt', ''))
      e:cmd('setlocal binary noendofline')
      same(slice(e, buf).empty, true)
    end,
  },
  check_empty('a file of no bytes is empty', '', nil, true),
  check_empty('a file of one newline is not', '\n', nil, false),
  check_empty('a buffer whose lines were taken away is empty', 'a\nb\n', {}, true),
  check_empty('a buffer that was given one empty line is not', 'a\nb\n', { '' }, false),
  {
    'a large buffer comes in slices of at most 64 KiB that meet',
    function(e)
      local lines = {}
      for i = 1, 5000 do
        lines[i] = ('%d %s'):format(i, ('x'):rep(i % 90))
      end
      lines[3000] = ('y'):rep(100000)
      local buf = e:open(e:file('a.txt', table.concat(lines, '\n') .. '\n'))
      local got, from, count = {}, 0, 0
      repeat
        local part = slice(e, buf, from)
        local size = 0
        for _, line in ipairs(part.lines) do
          size = size + #line + 1
        end
        assert(size <= 65536 or #part.lines == 1, ('%d bytes'):format(size))
        same({ part.start, part.total }, { from, 5000 })
        vim.list_extend(got, part.lines)
        from, count = from + #part.lines, count + 1
      until from >= 5000
      same(got, lines)
      assert(count < 12, count .. ' slices')
    end,
  },
  {
    'bytes that are not UTF-8 and NUL are in a slice as they are',
    function(e)
      local buf = e:open(e:file('a.txt', 'a\255\0b\n'))
      e:lua('vim.cmd("silent edit ++enc=utf-8 ++bad=keep")')
      same(slice(e, buf).lines, { 'a\255\0b' })
    end,
  },
  {
    'slices that can wait come one after the other, and a buffer that is gone says so',
    function(e)
      local a = e:open(e:file('a.txt', 'a\n'))
      local b = e:open(e:file('b.txt', 'b\n'))
      e:lua(
        [[
        local a, b = ...
        for _, buf in ipairs({ a, b }) do
          require('bosun.inbox').recv('slice', { buf = buf, start = 0, later = true })
        end
        _G.at_once = #_G.sent
        vim.cmd('silent bwipeout ' .. b)
      ]],
        a,
        b
      )
      same(e:lua('return _G.at_once'), 0)
      e:eventually('return #_G.sent == 2')
      same(e:sent('slice')[1].lines, { 'a' })
      same(e:sent('buf_closed'), { { buf = b } })
    end,
  },
}
