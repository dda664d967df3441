-- A terminal as the sidecar would tell of it and feed it, for the specs of terminals.
--
-- Owns what the sidecar says in them. Used by `terminal_spec.lua` and `terminals_spec.lua`; holds no test.
local M = {}

--- The sidecar says something.
function M.recv(e, name, message) e:lua([[require('bosun.inbox').recv(...)]], name, message) end

local function terminal(more)
  return vim.tbl_extend('force', {
    id = 1,
    session = 's1',
    command = 'make check',
    cwd = '/tmp',
    state = 'running',
    seconds = 3,
    bytes = 0,
    agent_only = false,
  }, more or {})
end

--- The sidecar's whole table: each argument is what is special about one terminal; without arguments there is none.
function M.list(e, ...)
  local all = {}
  for i, more in ipairs({ ... }) do
    all[i] = terminal(more)
  end
  M.recv(e, 'terminals', { list = all })
end

--- The sidecar knows terminal 1, and a person opened it.
function M.open(e, more)
  e:lua([[
    _G.said = {}
    package.loaded['bosun.notice'] = {
      say = function(_, text) said[#said + 1] = text end,
      once = function(_, _, text) said[#said + 1] = text end,
    }
    package.loaded['bosun.display'], package.loaded['bosun.inbox'] = nil, nil
    vim.o.swapfile, vim.o.columns, vim.o.lines = false, 80, 30
    vim.o.number = true
    _G.home = vim.api.nvim_get_current_win()
  ]])
  M.list(e, more or {})
  e:cmd('Bosun terminals 1')
  e:lua([[
    _G.win = vim.api.nvim_get_current_win()
    _G.buf = vim.api.nvim_win_get_buf(win)
    function _G.texts(n) return vim.api.nvim_buf_get_lines(buf, 0, n or -1, false) end
    function _G.count(name)
      return #vim.tbl_filter(function(s) return s.name == name end, sent)
    end
  ]])
  e:eventually([[return count('terminal_view') == 1]])
end

local seq = 0
--- Feeds terminal 1, and waits until that is acknowledged.
function M.feed(e, bytes, more)
  seq = seq + 1
  local message =
    vim.tbl_extend('force', { terminal = 1, seq = seq, reset = false, bytes = bytes }, more or {})
  M.recv(e, 'terminal_feed', message)
  e:lua('_G.awaited = ...', seq)
  e:eventually([[return vim.iter(sent):any(function(s)
    return s.name == 'terminal_ack' and s.message.seq == awaited
  end)]])
end

--- What was typed into terminals, joined.
function M.typed(e)
  return table.concat(vim.tbl_map(function(m) return m.data end, e:sent('terminal_input')))
end

--- Lines with these numbers, as a program writes them.
function M.numbered(from, to)
  local out = {}
  for i = from, to do
    out[#out + 1] = ('line %d\r\n'):format(i)
  end
  return table.concat(out)
end

return M
