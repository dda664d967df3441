-- Edits in place: lines of a file go to the agent with an instruction, and what it makes of them is judged on the spot.
--
-- Owns which lines are out for an edit, and the keys that judge them: those are in the person's buffer only while the
-- cursor is in such lines and hunks are there. Never edits: the agent does, like any other change of its own. Called by
-- `:Bosun edit`, the operator `<Plug>(bosun-edit)` and the public API.
local M = {}

local api, fn = vim.api, vim.fn
local display = require('bosun.display')
local ns = api.nvim_create_namespace('bosun.in_place')

--- What keeps and what rejects the hunk at the cursor, or all of an edit's where there is none.
M.KEYS = { keep = '<CR>', reject = '<BS>' }

-- Edits by the id of their mark: { buf, session, answered }.
--   answered  the turn that they went to has ended
local edits = {}
-- What takes our keys away again, while the cursor is in an edit: { buf, give_back }.
local lent = nil

local function review() return require('bosun.review') end

-- The lines of an edit as they are now: zero-based, end exclusive; nil when they are gone with their buffer.
local function lines_of(id)
  local edit = edits[id]
  if not api.nvim_buf_is_loaded(edit.buf) then return nil end
  local mark = api.nvim_buf_get_extmark_by_id(edit.buf, ns, id, { details = true })
  if not mark[1] then return nil end
  return mark[1], math.max(mark[3].end_row or mark[1], mark[1] + 1)
end

local function hunks_of(id)
  local first, last = lines_of(id)
  return first and review().within(edits[id].buf, first, last) or {}
end

local function take_keys()
  if lent then lent.give_back() end
  lent = nil
end

local function forget(id)
  local edit = edits[id]
  edits[id] = nil
  if api.nvim_buf_is_valid(edit.buf) then pcall(api.nvim_buf_del_extmark, edit.buf, ns, id) end
end

-- The mark with its words: it moves with the text by itself.
local function draw(id, words)
  local edit = edits[id]
  local first, last = lines_of(id)
  if not first then return end
  api.nvim_buf_set_extmark(edit.buf, ns, first, 0, {
    id = id,
    end_row = math.min(last, api.nvim_buf_line_count(edit.buf)),
    end_col = 0,
    strict = false,
    right_gravity = false,
    end_right_gravity = true,
    virt_text = { { '  ' .. words, 'BosunQuestion' } },
    virt_text_pos = 'eol',
  })
end

-- The edit that the cursor is in, with hunks to judge.
local function here()
  local buf, line = api.nvim_get_current_buf(), api.nvim_win_get_cursor(0)[1] - 1
  for id, edit in pairs(edits) do
    if edit.buf == buf and edit.answered then
      local first, last = lines_of(id)
      if first and first <= line and line < last and #hunks_of(id) > 0 then return id end
    end
  end
end

-- The hunk at the cursor, or, beside one, all of the edit's.
local function judge(verdict)
  local id = here()
  if not id then return end
  local first, last = lines_of(id)
  local at = review().at(edits[id].buf, api.nvim_win_get_cursor(0)[1] - 1)
  local ok, err = review().verdict(verdict, at and {} or { range = { first + 1, last } })
  if not ok then display.notify(err, 'warn') end
end

local function look()
  local id = here()
  if lent and not (id and lent.buf == edits[id].buf) then take_keys() end
  if not id or lent then return end
  local keys = {
    [M.KEYS.keep] = { function() judge('keep') end, 'Keep what the agent made of these lines' },
    [M.KEYS.reject] = { function() judge('reject') end, 'Reject what the agent made of these lines' },
  }
  local buf = edits[id].buf
  lent = { buf = buf, give_back = require('bosun.lent_keys').lend(buf, keys) }
end

local function hint(count)
  return ('%d hunk%s: %s keeps, %s rejects'):format(
    count,
    count == 1 and '' or 's',
    M.KEYS.keep,
    M.KEYS.reject
  )
end

-- What is to be judged has changed, or a turn has ended.
local function settle()
  for id, edit in pairs(edits) do
    if not lines_of(id) then
      forget(id)
    elseif edit.answered then
      local count = #hunks_of(id)
      if count > 0 then
        draw(id, hint(count))
      elseif edit.judged or edit.quiet then
        forget(id)
      end
      edit.judged = edit.judged or count > 0
    end
  end
  look()
end

local function turn_over(session)
  for id, edit in pairs(edits) do
    if edit.session == session and not edit.answered then
      edit.answered = true
      -- Its hunks may come a moment after the end.
      vim.defer_fn(function()
        if edits[id] ~= edit then return end
        if #hunks_of(id) == 0 then
          display.notify('the agent left these lines as they are')
          edit.quiet = true
        end
        settle()
      end, 300)
    end
  end
end

--- Sends lines of the current buffer to the agent. `range`: first and last line, one-based. `instruction`: what is to
--- be done; asked for when it is empty. True, or nil and why not.
function M.run(range, instruction)
  local buf = api.nvim_get_current_buf()
  local name = api.nvim_buf_get_name(buf)
  if vim.bo[buf].buftype ~= '' or name == '' then
    return nil, 'this buffer is no file that an agent could edit'
  end
  if not vim.bo[buf].modifiable then return nil, 'this buffer cannot be edited' end
  local count = api.nvim_buf_line_count(buf)
  local first, last = math.max(1, range[1]), math.min(range[2], count)
  if not instruction or not instruction:find('%S') then
    vim.ui.input({ prompt = ('Edit lines %d-%d: '):format(first, last) }, function(text)
      if not text or not text:find('%S') or not api.nvim_buf_is_loaded(buf) then return end
      local ok, err
      api.nvim_buf_call(buf, function()
        ok, err = M.run({ first, last }, text)
      end)
      if not ok then display.notify(err, 'warn') end
    end)
    return true
  end
  local lines = api.nvim_buf_get_lines(buf, first - 1, last, false)
  local context = {
    {
      kind = 'selection',
      buf = buf,
      path = name,
      first = first - 1,
      last = last,
      text = table.concat(lines, '\n') .. '\n',
    },
  }
  local where = first == last and ('line %d'):format(first) or ('lines %d to %d'):format(first, last)
  local text = ('%s\n\nThis is about %s of %s only: change them in the file, and nothing else.'):format(
    instruction,
    where,
    fn.fnamemodify(name, ':.')
  )
  local bosun = require('bosun')
  local session = require('bosun.chat').current()
  if not session then
    local err
    session, err = bosun.new()
    if not session then return nil, err end
  end
  local ok, err = bosun.prompt(text, { session = session, context = context })
  if not ok then return nil, err end
  local id = api.nvim_buf_set_extmark(buf, ns, first - 1, 0, { end_row = last, end_col = 0, strict = false })
  edits[id] = { buf = buf, session = session }
  draw(id, 'the agent edits these lines …')
  return true
end

--- For 'operatorfunc'.
function M.operator() M.run({ api.nvim_buf_get_mark(0, '[')[1], api.nvim_buf_get_mark(0, ']')[1] }) end

--- What an expression map gives: the operator waits for its motion.
function M.begin()
  vim.o.operatorfunc = "v:lua.require'bosun.in_place'.operator"
  return 'g@'
end

local group = api.nvim_create_augroup('bosun.in_place', {})

local function on(event, callback, pattern)
  api.nvim_create_autocmd(event, { group = group, pattern = pattern, callback = callback })
end

on('User', function(args) turn_over(args.data and args.data.session) end, 'BosunTurnEnd')
on('User', function() vim.schedule(settle) end, 'BosunReview')
on({ 'CursorMoved', 'BufEnter' }, function()
  if next(edits) then look() end
end)
on({ 'BufLeave', 'InsertEnter' }, take_keys)
on('InsertLeave', function()
  if next(edits) then look() end
end)

return M
