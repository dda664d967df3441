-- A merge as the sidecar would ask about and send it, for the specs of its tab.
--
-- Owns the texts and what is true once the tab is gone without an answer. Used by `ui_merge.lua` and
-- `ui_merge_leave.lua`; holds no test.
local M = {}

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local ui = dofile(here .. '/ui.lua')

M.YOURS = { 'one', 'two', 'YOURS 3', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten' }
M.THEIRS = { 'one', 'two', 'THEIRS 3', 'four', 'five', 'six', 'seven', 'eight', 'THEIRS 9', 'ten' }
M.BASE = { 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten' }
M.RESULT = { 'one', 'two', 'YOURS 3', 'four', 'five', 'six', 'seven', 'eight', 'THEIRS 9', 'ten' }
M.TAKEN = { 'one', 'two', 'THEIRS 3', 'four', 'five', 'six', 'seven', 'eight', 'THEIRS 9', 'ten' }

-- What the sidecar says about a merge.
local sidecar = [[
  local state = package.loaded['bosun.state']
  function _G.ask_merge(id, write, file)
    for i = #state.questions, 1, -1 do
      if state.questions[i].write == write then table.remove(state.questions, i) end
    end
    table.insert(state.questions, {
      id = id, write = write, merge = true, session = 's1',
      title = 'merge a.txt: 1 place changed on both sides',
      body = { 'a detail' },
      options = {
        { id = 'ours', name = 'Keep my lines there', kind = 'allow_once' },
        { id = 'theirs', name = 'Take the lines of the other side', kind = 'theirs' },
        { id = 'reject', name = 'Reject', kind = 'reject_once' },
      },
      files = { file },
    })
    require('bosun.questions').on_questions()
  end
  function _G.feed_merge(id, head, texts)
    local recv = require('bosun.inbox').recv
    local function with(t) return vim.tbl_extend('force', { question = id, index = 0 }, t) end
    recv('diff', with(vim.tbl_extend('force', { count = 1, path = head.path, merge = true, eol = true }, head)))
    for _, side in ipairs({ 'old', 'base', 'theirs', 'new' }) do
      for at, line in ipairs(texts[side] or {}) do
        recv('diff_lines', with({ side = side, start = at - 1, lines = { line } }))
      end
    end
    recv('diff_done', with({}))
  end
  function _G.options_of(win)
    local out = {}
    for name, info in pairs(vim.api.nvim_get_all_options_info()) do
      -- 'scroll' is half the height of the window, whatever was there before.
      if info.scope == 'win' and name ~= 'scroll' then
        out[name] = vim.api.nvim_get_option_value(name, { win = win, scope = 'local' })
      end
    end
    return out
  end
  function _G.result()
    return vim.tbl_filter(function(b)
      return vim.bo[b].buftype == 'acwrite' and vim.api.nvim_buf_get_name(b):find('^bosun://merge/') ~= nil
    end, vim.api.nvim_list_bufs())[1]
  end
  function _G.result_lines() return vim.api.nvim_buf_get_lines(result(), 0, -1, false) end
]]

-- The file is open in a window with options of its own, and a merge about it waits.
function M.asked(c)
  local file = vim.fn.tempname() .. '.txt'
  vim.fn.writefile(M.YOURS, file)
  c.lua(sidecar)
  c.lua(
    [[
    _G.file = ...
    vim.cmd.edit(file)
    vim.cmd('setlocal nowrap foldmethod=marker foldcolumn=1 number')
    _G.live, _G.home = vim.api.nvim_get_current_buf(), vim.api.nvim_get_current_win()
    _G.layout = vim.fn.winlayout()
    _G.before = options_of(home)
    require('bosun').new()
    ask_merge(7, 70, file)
  ]],
    file
  )
end

function M.open(c) c.lua([[require('bosun.diff').open(7, 0); _G.tab = vim.api.nvim_get_current_tabpage()]]) end

function M.feed(c, id, head, texts)
  c.lua(
    'feed_merge(...)',
    id or 7,
    vim.tbl_extend(
      'force',
      { path = c.lua('return file'), buf = c.lua('return live'), conflicts = { { 2, 3 } } },
      head or {}
    ),
    vim.tbl_extend('force', { base = M.BASE, theirs = M.THEIRS, new = M.RESULT }, texts or {})
  )
end

function M.merge(c)
  M.asked(c)
  M.open(c)
  M.feed(c)
end

-- Where the windows of the tab are: top to bottom, left to right.
M.names = [[
  return vim.tbl_map(function(w)
    local buf = vim.api.nvim_win_get_buf(w)
    if buf == live then return 'live' end
    if buf == result() then return 'result' end
    return (vim.api.nvim_buf_get_name(buf):gsub('^bosun://merge/7/', ''):match('^[a-z]+'))
  end, vim.api.nvim_tabpage_list_wins(0))
]]

function M.answers(c) return c.lua([[return { sent_named('answer'), sent_named('answer_text') }]]) end

-- What must hold once the tab is gone without an answer.
function M.is_clean(c, what)
  c.eventually([[return not vim.api.nvim_tabpage_is_valid(tab) and result() == nil]], what)
  ui.equal(c.lua([[return #require('bosun.questions').pending()]]), 1, what .. ': pending')
  ui.equal(M.answers(c), { {}, {} }, what .. ': answers')
  local differences = c.lua([[
    local out = {}
    local function compare(win, label)
      for name, value in pairs(options_of(win)) do
        if not vim.deep_equal(value, before[name]) then
          out[#out + 1] = ('%s %s: %s, was %s'):format(label, name, vim.inspect(value), vim.inspect(before[name]))
        end
      end
    end
    vim.cmd('tabnew')
    vim.cmd('buffer ' .. live)
    compare(vim.api.nvim_get_current_win(), 'new window')
    vim.cmd('tabclose')
    if vim.api.nvim_win_is_valid(home) then compare(home, 'home') end
    return out
  ]])
  ui.equal(differences, {}, what .. ': options')
  local leftovers = c.lua([[
    return vim.tbl_filter(function(b)
      return vim.api.nvim_buf_get_name(b):find('bosun://merge', 1, true) ~= nil
    end, vim.api.nvim_list_bufs())
  ]])
  ui.equal(leftovers, {}, what .. ': buffers')
  ui.equal(c.lua([[return { vim.bo[live].modified, vim.fn.maparg('dp', 'n') }]]), { false, '' }, what)
  ui.equal(c.lua([[return vim.v.errmsg]]), '', what .. ': errors')
end

return M
