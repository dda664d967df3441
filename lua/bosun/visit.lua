-- Files that a command waits for: a program that started `$EDITOR` in a terminal of ours waits until the person has
-- written or closed them.
--
-- Owns the list of such visits, from the request until the program is told how it ended. Never writes a file and never
-- waits: a visit begins at the next moment in which nothing that the person has begun is in its way. Called by
-- `bosun edit` over a channel of its own (`open`), by `:Bosun visit` and by `rpc` (`address`).
local M = {}

local api, fn, uv = vim.api, vim.fn, vim.uv
local notice = require('bosun.notice')
local display = require('bosun.display')

local function place() return require('bosun.visit_place') end

-- How long a visit waits for its moment unsaid, in milliseconds.
local QUIET = 150
-- No file opens under the fingers: the person has pressed no key for so long, in milliseconds.
local REST = 500
-- How often we look whether the programs are still there, in milliseconds: no event tells of a channel's end.
local LOOK = 500

-- Each: { channel, line, opened, origin, files = { { path, name, buf, done } } }; oldest first. `name` is the buffer's
-- name when it was opened, `origin` the window that the person came from.
local visits = {}
-- By window that was made for a visit: the visit.
local made = {}
-- Buffers that `:q` was said to a moment ago.
local quitting = {}
local timer = nil

local group = api.nvim_create_augroup('bosun.visit', {})

-- The files that wait in a buffer, with their visits: { { visit, file } }.
local function waiting_in(buf)
  local out = {}
  for _, visit in ipairs(visits) do
    for _, file in ipairs(visit.files) do
      if visit.opened and file.buf == buf and not file.done then out[#out + 1] = { visit, file } end
    end
  end
  return out
end

--- Whether a command waits for this buffer; 0 is the current one.
function M.waits_for(buf)
  if buf == 0 then buf = api.nvim_get_current_buf() end
  return #waiting_in(buf) > 0
end

-- A name as short as it must be for a line with more in it.
local function short(path)
  local name = display.path(path)
  if fn.strdisplaywidth(name) > 32 then name = fn.pathshorten(name) end
  return display.line(name, 48)
end

local function names(visit)
  return table.concat(vim.tbl_map(function(file) return short(file.path) end, visit.files), ', ')
end

local function still_there(channel) return next(api.nvim_get_chan_info(channel)) ~= nil end

local function unwatch(buf)
  if not api.nvim_buf_is_valid(buf) then return end
  api.nvim_clear_autocmds({ group = group, event = { 'BufWritePost', 'BufUnload', 'QuitPre' }, buffer = buf })
end

-- The buffer is like any other again, unless another visit waits for it.
local function release(buf)
  if M.waits_for(buf) then return end
  unwatch(buf)
  place().undress(buf)
end

-- The visit is over. Returns whether the program could be told.
local function conclude(visit, code)
  for i, other in ipairs(visits) do
    if other == visit then table.remove(visits, i) end
  end
  for _, file in ipairs(visit.files) do
    file.done = true
    if file.buf then release(file.buf) end
  end
  -- After the command that ends it, `:wq` say, its windows are like any other.
  vim.schedule(function()
    for win, other in pairs(made) do
      if other == visit then made[win] = nil end
    end
  end)
  if #visits == 0 and timer then
    timer:stop()
    timer:close()
    timer = nil
  end
  return code ~= nil and pcall(vim.rpcnotify, visit.channel, 'bosun_visited', code)
end

-- A file is written or closed (0) or given up (1). Returns whether a program goes on.
local function done(buf, code)
  local told = false
  for _, pair in ipairs(waiting_in(buf)) do
    local visit, file = pair[1], pair[2]
    file.done = true
    local left = vim.iter(visit.files):any(function(f) return not f.done end)
    if code ~= 0 or not left then told = conclude(visit, code) or told end
  end
  release(buf)
  return told
end

local function on_written(args)
  local buf, mine = args.buf, false
  for _, pair in ipairs(waiting_in(buf)) do
    mine = mine or pair[2].name == args.match
  end
  -- `:write other` is no write of this file, and what an agent's change or prompt saves is not the person's word.
  if not mine or require('bosun.write').saving then return end
  local name = short(args.match)
  if not done(buf, 0) then return end
  -- After `:wq` there is nothing left to be said.
  vim.schedule(function()
    if #fn.win_findbuf(buf) > 0 then
      notice.say('info', ('%s is written: the command goes on'):format(name))
    end
  end)
end

-- No window shows the buffer any more, or it is gone.
local function on_hidden(buf)
  if not M.waits_for(buf) or not api.nvim_buf_is_loaded(buf) or #fn.win_findbuf(buf) > 0 then return end
  if not vim.bo[buf].modified then return done(buf, 0) end
  notice.say(
    'warn',
    ('%s has unsaved text and a command waits for it: :Bosun visit'):format(short(api.nvim_buf_get_name(buf)))
  )
end

local function on_unload(args)
  local buf = args.buf
  local given_up = vim.bo[buf].modified and not quitting[buf]
  -- A reload unloads as well. Where Neovim ends, this is not run any more, and `leave` speaks.
  vim.schedule(function()
    if api.nvim_buf_is_valid(buf) and api.nvim_buf_is_loaded(buf) then return end
    done(buf, given_up and 1 or 0)
  end)
end

local function watch(buf)
  unwatch(buf)
  local function on(event, callback)
    api.nvim_create_autocmd(event, { group = group, buffer = buf, callback = callback })
  end
  on('BufWritePost', on_written)
  on('BufUnload', on_unload)
  on('QuitPre', function()
    quitting[buf] = true
    vim.schedule(function() quitting[buf] = nil end)
  end)
end

-- The program behind a visit has ended: nothing is closed, the text is the person's.
local function abandon(visit)
  local opened = visit.opened
  conclude(visit, nil)
  if opened then notice.say('info', ('the command that waited for %s has ended'):format(names(visit))) end
  M.announce()
end

local function look()
  for _, visit in ipairs(vim.list_slice(visits)) do
    if not still_there(visit.channel) then abandon(visit) end
  end
end

-- What the person has begun, in words that end "it opens …"; nil at a good moment.
local function in_the_way()
  if fn.getcmdwintype() ~= '' then return 'when the command-line window is closed' end
  local mode = api.nvim_get_mode().mode
  if mode:find('^t') then return [[when you leave terminal mode (<C-\><C-n>)]] end
  if mode:find('^nt') or mode == 'n' then
    return fn.reg_recording() ~= '' and 'when the recording ends' or nil
  end
  if mode:find('^c') then return 'when you leave the command line' end
  return 'when you are back in normal mode'
end

local function open_now(visit)
  local from = api.nvim_get_current_win()
  -- Who is at work in one such file is not carried off to the next.
  local go = not M.waits_for(api.nvim_get_current_buf())
  visit.opened, visit.origin = true, from
  for i, file in ipairs(visit.files) do
    local enter = go and i == 1
    local win
    file.buf, win = place().show(file.path, enter, i == 1 and visit.line or nil)
    if win then made[win] = visit end
    file.name = api.nvim_buf_get_name(file.buf)
    watch(file.buf)
    place().dress(file.buf)
  end
  if not go then notice.say('info', ('a command waits for %s too'):format(names(visit))) end
end

local function waiting_for_moment()
  return vim.tbl_filter(function(visit) return not visit.opened end, visits)
end

local keys = api.nvim_create_namespace('bosun.visit')
local typed = -math.huge

local function rested()
  uv.update_time()
  return uv.now() - typed >= REST
end

local function begin()
  if in_the_way() or not rested() then return false end
  vim.on_key(nil, keys)
  for _, visit in ipairs(waiting_for_moment()) do
    local ok, err = xpcall(open_now, debug.traceback, visit)
    if not ok then
      require('bosun.inbox').fail('visit', err)
      conclude(visit, 1)
    end
  end
  M.announce()
  return true
end

--- Says which files wait for their moment, or stops saying so.
function M.announce()
  local list, why = waiting_for_moment(), in_the_way()
  if #list == 0 or not why then return place().note(nil) end
  local all = vim.tbl_map(names, list)
  place().note(('a command waits: %s opens %s'):format(table.concat(all, ', '), why))
end

local armed = nil

local function try()
  if not begin() then return false end
  pcall(api.nvim_del_autocmd, armed)
  armed = nil
  return true
end

-- Looks again once the person has rested, for no key may come that would make Neovim say so.
local function look_again()
  vim.defer_fn(function()
    if not armed then return end
    if not rested() then return look_again() end
    -- In a timer, and in nothing else.
    if fn.state():gsub('[cs]', '') == '' and not api.nvim_get_mode().blocking then try() end
  end, REST)
end

-- Neovim says by itself when nothing is half done: SafeState comes once before it waits for the next key.
local function arm()
  vim.defer_fn(M.announce, QUIET)
  if armed then return end
  vim.on_key(function()
    uv.update_time()
    typed = uv.now()
  end, keys)
  armed = api.nvim_create_autocmd('SafeState', {
    group = group,
    nested = true,
    callback = function()
      if armed and not try() then look_again() end
    end,
  })
end

--- A program waits for these files; called over its channel. `line`: of the first file, from 1, -1 for the last, 0 for
--- none. Returns at once; the program is told `bosun_visited` with its exit code.
function M.open(files, line, channel)
  local visit = { channel = channel, line = line, files = {} }
  for _, path in ipairs(files) do
    visit.files[#visit.files + 1] = { path = path }
  end
  visits[#visits + 1] = visit
  if not timer then
    timer = assert(uv.new_timer())
    timer:start(LOOK, LOOK, vim.schedule_wrap(look))
  end
  arm()
  return true
end

-- Where the person goes from a window of the visit: to its next file, else to where they came from; nil when that is
-- gone.
local function after(visit, win)
  for _, file in ipairs(visit.files) do
    local other = not file.done and fn.win_findbuf(file.buf)[1]
    if other and other ~= win then return other end
  end
  return api.nvim_win_is_valid(visit.origin) and visit.origin or nil
end

--- Gives up what is waited for in the current buffer, or the only visit there is: the program fails. What the visit had
--- opened is closed, with the text that was not written. True, or nil and why not.
function M.abort()
  local given_up = vim.tbl_map(function(pair) return pair[1] end, waiting_in(api.nvim_get_current_buf()))
  if #given_up == 0 and #visits == 1 then given_up = { visits[1] } end
  if #given_up == 0 then
    return nil, #visits == 0 and 'no command waits for a file' or 'go to the file first: :Bosun visit'
  end
  for _, visit in ipairs(given_up) do
    local here = vim.iter(visit.files):any(function(file) return file.buf == api.nvim_get_current_buf() end)
    conclude(visit, 1)
    for _, file in ipairs(visit.files) do
      if file.buf and not M.waits_for(file.buf) then place().close(file.buf) end
    end
    if here and api.nvim_win_is_valid(visit.origin) then api.nvim_set_current_win(visit.origin) end
  end
  M.announce()
  return true
end

--- Goes to the file that a command has waited for longest. True, or nil and why not.
function M.go()
  for _, visit in ipairs(visits) do
    for _, file in ipairs(visit.files) do
      if visit.opened and not file.done then
        place().show(file.path, true, nil)
        place().dress(file.buf)
        return true
      end
    end
  end
  -- One that waits for its moment has it when this command is over.
  if #visits > 0 then return true end
  return nil, 'no command waits for a file'
end

--- Where commands reach this Neovim: the path of its socket, or its port where it has no socket; empty when they must
--- not (the setting `terminal_editor`) or cannot.
function M.address()
  if not require('bosun.config').get().terminal_editor then return '' end
  local function socket(name)
    local path = name:find('/') and fn.fnamemodify(name, ':p') or nil
    local stat = path and uv.fs_stat(path)
    return stat and stat.type == 'socket' and path or nil
  end
  local found = socket(vim.v.servername)
  if found then return found end
  local ok, started = pcall(fn.serverstart)
  return ok and socket(started) or vim.v.servername
end

api.nvim_create_autocmd('WinClosed', {
  group = group,
  callback = function(args)
    local win = tonumber(args.match)
    local visit = made[win]
    if visit then
      made[win] = nil
      if win == api.nvim_get_current_win() then place().lead(after(visit, win)) end
    end
    if not M.waits_for(args.buf) then return end
    vim.schedule(function()
      on_hidden(args.buf)
      place().draw()
    end)
  end,
})

api.nvim_create_autocmd({ 'BufWinEnter', 'WinNew', 'WinEnter', 'WinResized' }, {
  group = group,
  callback = function()
    if #visits > 0 then place().draw() end
  end,
})

api.nvim_create_autocmd({ 'ModeChanged', 'CmdwinLeave', 'RecordingLeave', 'TabEnter' }, {
  group = group,
  callback = function()
    if armed then vim.schedule(M.announce) end
  end,
})

-- Neovim ends: what was not written is given up.
api.nvim_create_autocmd('VimLeavePre', {
  group = group,
  callback = function()
    for _, visit in ipairs(vim.list_slice(visits)) do
      conclude(visit, 1)
    end
  end,
})

return M
