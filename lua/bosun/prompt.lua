-- Prompt buffers: one a session, ordinary buffers that `:w` sends.
--
-- Owns their text and the history of what was sent. A prompt is never 'modified', so it neither keeps Neovim from
-- quitting nor goes out with `:wall` or `:wqa` half typed. Never opens windows. Called by the chat.
local M = {}

local api, fn = vim.api, vim.fn
local display = require('bosun.display')
local context = require('bosun.context')

-- By session: { session, buf, draft, history, at, no_context }.
--   draft       lines kept when the buffer was unloaded by hand
--   history     sent texts, oldest first; `at` is where <Up> has got to, nil when not in the history
--   no_context  context is switched off for the prompt that is being written
local prompts = {}

-- Sent prompts that are kept a session.
local HISTORY = 100

local keys = {
  { '<CR>', 'send (normal mode)' },
  { '<C-s>, :w', 'send' },
  { '<Up> <C-p>', 'on the first line: what was sent before' },
  { '<Down> <C-n>', 'on the last line: what was sent after' },
  { '<C-x>', 'context: leave out, or put back (normal mode)' },
  { '1-9', 'answer the question, while the prompt is empty (normal mode)' },
  { 'gd', 'diff of the question' },
  { '<C-c>', 'cancel the turn' },
  { 'q', 'hide the chat' },
}

local function lines_of(p) return api.nvim_buf_get_lines(p.buf, 0, -1, false) end

local function set_text(p, text)
  api.nvim_buf_set_lines(p.buf, 0, -1, false, vim.split(text, '\n', { plain = true }))
end

local function is_empty(p)
  return api.nvim_buf_line_count(p.buf) == 1 and api.nvim_buf_get_lines(p.buf, 0, 1, false)[1] == ''
end

local function text_of(p)
  local text = table.concat(lines_of(p), '\n')
  return (text:gsub('^%s*\n', ''):gsub('%s+$', ''))
end

--- Sends what is in the prompt and clears it. An empty prompt is not sent.
function M.send(session)
  local p = prompts[session]
  local text = text_of(p)
  if text == '' then return end
  local along = p.no_context and {} or context.collect()
  local sent, why = require('bosun').prompt(text, { session = session, context = along })
  if not sent then return display.notify('not sent: ' .. (why or 'see :checkhealth bosun'), 'error') end
  if p.history[#p.history] ~= text then p.history[#p.history + 1] = text end
  if #p.history > HISTORY then table.remove(p.history, 1) end
  p.at, p.no_context = nil, false
  set_text(p, '')
  context.sent()
  require('bosun.chat').sent(session)
end

-- One step through the history; keeps what was being written at its end.
local function recall(p, by)
  local at = p.at or #p.history + 1
  local to = math.max(1, math.min(at + by, #p.history + 1))
  if to == at then return end
  if at == #p.history + 1 then p.unsent = table.concat(lines_of(p), '\n') end
  p.at = to <= #p.history and to or nil
  set_text(p, p.at and p.history[to] or p.unsent or '')
  local last = api.nvim_buf_line_count(p.buf)
  local line = by < 0 and 1 or last
  api.nvim_win_set_cursor(0, { line, #api.nvim_buf_get_lines(p.buf, line - 1, line, false)[1] })
end

-- <Up> and <Down> leave the text only from its first and last line.
local function history_key(p, by, key)
  if fn.pumvisible() == 1 then return key end
  local at_edge = by < 0 and fn.line('.') == 1 or by > 0 and fn.line('.') == fn.line('$') and p.at ~= nil
  if not at_edge or #p.history == 0 or vim.v.count > 0 then return key end
  vim.schedule(function() recall(p, by) end)
  return '<Ignore>'
end

-- In insert mode <C-p> completes, so it is taken only where there is nothing to complete.
local function history_ctrl(p, by, key)
  local untouched = is_empty(p) or (p.at and table.concat(lines_of(p), '\n') == p.history[p.at])
  return untouched and history_key(p, by, key) or key
end

local function digit(p, number)
  if vim.v.count ~= 0 or not is_empty(p) then return tostring(number) end
  local questions = require('bosun.questions')
  local q, ripe = questions.head(p.session)
  if not q or not ripe or not questions.options(q)[number] then return tostring(number) end
  vim.schedule(function() questions.answer(q.id, number) end)
  return '<Ignore>'
end

local function cancel(p)
  if require('bosun.chat').cancel(p.session) then return '<Ignore>' end
  return fn.mode() == 'i' and '<Esc>' or '<Ignore>'
end

--- Leaves the context out of the prompt that is being written, or puts it back.
function M.toggle_context(session)
  local p = prompts[session]
  p.no_context = not p.no_context
  require('bosun.chat').on_sessions()
end

--- Whether nothing has been typed.
function M.is_empty(session)
  local p = prompts[session]
  return p ~= nil and api.nvim_buf_is_loaded(p.buf) and is_empty(p)
end

local function diff(p)
  local q = require('bosun.questions').head(p.session)
  if not q then return display.notify('no question waits') end
  require('bosun.diff').open(q.id, 0)
end

--- Whether the context was left out by hand.
function M.without_context(session) return prompts[session] ~= nil and prompts[session].no_context == true end

local function map_keys(p)
  local function map(modes, lhs, rhs, desc, opts)
    opts = vim.tbl_extend('force', { buffer = p.buf, nowait = true, silent = true, desc = desc }, opts or {})
    vim.keymap.set(modes, lhs, rhs, opts)
  end
  local expr = { expr = true }
  map('n', '<CR>', function() M.send(p.session) end, 'Send')
  map({ 'n', 'i' }, '<C-s>', function() M.send(p.session) end, 'Send')
  map({ 'n', 'i' }, '<C-c>', function() return cancel(p) end, 'Cancel the turn', expr)
  map('n', 'q', function() require('bosun.chat').hide() end, 'Hide the chat')
  map('n', '<C-x>', function() M.toggle_context(p.session) end, 'Leave the context out, or put it back')
  map('n', 'gd', function() diff(p) end, 'Diff of the question')
  map('n', 'g?', function() display.keys('Prompt', keys) end, 'Show these keys')
  for _, step in ipairs({ { '<Up>', '<C-p>', -1 }, { '<Down>', '<C-n>', 1 } }) do
    local arrow, ctrl, by = unpack(step)
    map({ 'n', 'i' }, arrow, function() return history_key(p, by, arrow) end, 'History', expr)
    map('n', ctrl, function() return history_key(p, by, ctrl) end, 'History', expr)
    map('i', ctrl, function() return history_ctrl(p, by, ctrl) end, 'History', expr)
  end
  for i = 1, 9 do
    map('n', tostring(i), function() return digit(p, i) end, 'Answer, or a count', expr)
  end
end

local function unmodify(buf)
  if api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified then vim.bo[buf].modified = false end
end

-- 'modified' is taken back at each change, not with the next idle moment: keys that come in one go (`…<Esc>:wqa<CR>`)
-- leave none.
local function never_modified(p)
  api.nvim_buf_attach(p.buf, false, {
    on_lines = function(_, buf) unmodify(buf) end,
    on_changedtick = function(_, buf) unmodify(buf) end,
  })
end

local function write(p, target)
  local whole = api.nvim_buf_get_name(p.buf)
  if target ~= '' and target ~= whole and fn.fnamemodify(target, ':p') ~= fn.fnamemodify(whole, ':p') then
    -- `:w some/file` saves the draft there, as it would anywhere else.
    local ok, why = pcall(fn.writefile, lines_of(p), target)
    if not ok then return display.notify(tostring(why):match('E%d+:.*') or tostring(why), 'error') end
  else
    M.send(p.session)
  end
  unmodify(p.buf)
end

local function autocmds(p)
  local buf = p.buf
  local group = api.nvim_create_augroup('bosun.prompt.' .. p.session, {})
  local function on(event, callback)
    api.nvim_create_autocmd(event, { group = group, buffer = buf, callback = callback })
  end
  on('BufWriteCmd', function(args) write(p, args.match) end)
  on(
    { 'TextChanged', 'TextChangedI', 'TextChangedP', 'InsertLeave', 'BufModifiedSet' },
    function() unmodify(buf) end
  )
  -- `:edit` throws an ordinary buffer's changes away; here it leaves the draft alone.
  on('BufReadCmd', function()
    if p.draft then api.nvim_buf_set_lines(buf, 0, -1, false, p.draft) end
    p.draft = nil
    never_modified(p)
    unmodify(buf)
  end)
  on('BufUnload', function() p.draft = lines_of(p) end)
end

--- The prompt buffer of a session; made when there is none. A draft survives `:bdelete`.
function M.buf(session)
  local p = prompts[session]
  if p and api.nvim_buf_is_loaded(p.buf) then return p.buf end
  if p and api.nvim_buf_is_valid(p.buf) then pcall(api.nvim_buf_delete, p.buf, { force = true }) end
  p = p or { session = session, history = {} }
  prompts[session] = p
  p.buf = api.nvim_create_buf(false, false)
  require('bosun.buffers').own(p.buf)
  pcall(api.nvim_buf_set_name, p.buf, 'bosun://' .. session .. '/prompt')
  local bo = vim.bo[p.buf]
  bo.buftype, bo.bufhidden, bo.swapfile = 'acwrite', 'hide', false
  bo.filetype = 'bosun-prompt'
  if p.draft then api.nvim_buf_set_lines(p.buf, 0, -1, false, p.draft) end
  p.draft = nil
  unmodify(p.buf)
  map_keys(p)
  autocmds(p)
  never_modified(p)
  return p.buf
end

--- The session whose prompt `buf` is.
function M.session_of(buf)
  for session, p in pairs(prompts) do
    if p.buf == buf then return session end
  end
end

--- A prompt that could not be sent comes back, above whatever has been typed since.
function M.returned(session, text)
  M.buf(session)
  local p = prompts[session]
  local lines = vim.split(text, '\n', { plain = true })
  if is_empty(p) then
    api.nvim_buf_set_lines(p.buf, 0, -1, false, lines)
  else
    lines[#lines + 1] = ''
    api.nvim_buf_set_lines(p.buf, 0, 0, false, lines)
  end
  if p.history[#p.history] == text then table.remove(p.history) end
end

--- Lets go of a session's prompt.
function M.dispose(session)
  local p = prompts[session]
  if not p then return end
  prompts[session] = nil
  pcall(api.nvim_del_augroup_by_name, 'bosun.prompt.' .. session)
  if api.nvim_buf_is_valid(p.buf) then pcall(api.nvim_buf_delete, p.buf, { force = true }) end
end

return M
