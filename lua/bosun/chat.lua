-- The chat: a column at the right with a transcript above and a prompt below, and which session it shows.
--
-- Owns those windows and nothing else: opening and hiding leaves the person's own windows as they were. Only what a
-- person asks for moves the focus; nothing that comes from the sidecar does. Called by the public API, `:Bosun`, the
-- inbox (`patch`, `prompt_returned`, `on_sessions`) and the keys of our own buffers.
local M = {}

local api, fn = vim.api, vim.fn
local display = require('bosun.display')
local context = require('bosun.context')
local transcript = require('bosun.transcript')
local prompt = require('bosun.prompt')
local winbar = require('bosun.winbar')

-- The session that the chat shows, or would show when opened.
local current = nil
-- Text of prompts that came back when there was no session left: the next one gets it.
local homeless = nil
-- By tabpage: { layout, sizes, screen } from before the column was opened, to give windows their sizes back; on a
-- screen of another size those sizes mean nothing.
local before = {}

local function id_of(session) return type(session) == 'table' and session.id or session end

local function session_of(id)
  for _, s in ipairs(require('bosun.state').sessions or {}) do
    if s.id == id then return s end
  end
end

-- Our windows in a tab, by role. A window of ours that shows something else now is not ours any more.
local function column(tab)
  local out = {}
  for _, win in ipairs(api.nvim_tabpage_list_wins(tab or 0)) do
    local role = vim.w[win].bosun
    local buf = role and api.nvim_win_get_buf(win)
    if role == 'transcript' and transcript.session_of(buf) then out.transcript = win end
    if role == 'prompt' and prompt.session_of(buf) then out.prompt = win end
  end
  return out
end

--- The session in the column of this tab, nil when there is none.
function M.shown()
  local win = column().transcript
  return win and transcript.session_of(api.nvim_win_get_buf(win))
end

--- Columns that are left of the chat in this tab, nil when it is not open here.
function M.left_edge()
  local win = column().transcript
  if not win then return nil end
  local col = api.nvim_win_get_position(win)[2]
  return col > 0 and col - 1 or nil
end

--- The session that prompts and cancels go to when none is named.
function M.current() return current end

local function dress(win, role)
  vim.w[win].bosun = role
  local plain = {
    number = false,
    relativenumber = false,
    signcolumn = 'no',
    foldcolumn = '0',
    foldenable = false,
    list = false,
    spell = false,
    cursorline = false,
    cursorcolumn = false,
    colorcolumn = '',
    statuscolumn = '',
    fillchars = 'eob: ',
    conceallevel = 0,
    scrolloff = 0,
    wrap = true,
    linebreak = true,
    breakindent = true,
    winfixwidth = true,
    winfixheight = role == 'prompt',
  }
  for name, value in pairs(plain) do
    display.win_option(win, name, value)
  end
end

-- Another buffer in a window of ours brings the person's own window options with it: ours are set again.
local function put(win, buf, role)
  display.win_option(win, 'winfixbuf', false)
  if api.nvim_win_get_buf(win) ~= buf then
    api.nvim_win_set_buf(win, buf)
    dress(win, role)
  end
  display.win_option(win, 'winfixbuf', true)
end

local function width_of()
  local width = require('bosun.config').get().window.width
  if width < 1 then width = math.floor(vim.o.columns * width) end
  return math.max(math.min(width, vim.o.columns - 10), math.min(20, vim.o.columns - 2), 1)
end

-- Every window of ours says what is true now; unchanged text is not set again.
local function draw_bars()
  local changed = false
  for _, tab in ipairs(api.nvim_list_tabpages()) do
    local wins = column(tab)
    if wins.transcript then
      local id = transcript.session_of(api.nvim_win_get_buf(wins.transcript))
      changed = display.winbar(wins.transcript, winbar.transcript(session_of(id), wins.transcript)) or changed
    end
    if wins.prompt then
      local id = prompt.session_of(api.nvim_win_get_buf(wins.prompt))
      changed = display.winbar(wins.prompt, winbar.prompt(session_of(id), wins.prompt)) or changed
    end
  end
  -- On a command line the editor draws nothing but that line by itself.
  if changed and api.nvim_get_mode().mode:sub(1, 1) == 'c' then
    api.nvim__redraw({ winbar = true, flush = true })
  end
end

-- A winbar needs a line; where there is none it is left out rather than an error.
local function bars() pcall(draw_bars) end

local function to_end(win)
  local buf = api.nvim_win_get_buf(win)
  api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(buf), 0 })
end

-- Sizes by window, of windows that are part of the layout: `winrestcmd()` counts floats too, and gives the size of one
-- that is gone to another.
local function sizes_of(tab)
  local out = {}
  for _, win in ipairs(api.nvim_tabpage_list_wins(tab)) do
    if api.nvim_win_get_config(win).relative == '' then
      out[win] = { api.nvim_win_get_width(win), api.nvim_win_get_height(win) }
    end
  end
  return out
end

local function give_back(sizes)
  local cmdheight = vim.o.cmdheight
  -- Twice, because a window that grows takes from one that was set before.
  for _ = 1, 2 do
    for win, size in pairs(sizes) do
      if api.nvim_win_is_valid(win) then
        api.nvim_win_set_width(win, size[1])
        api.nvim_win_set_height(win, size[2])
      end
    end
  end
  if vim.o.cmdheight ~= cmdheight then vim.o.cmdheight = cmdheight end
end

local function open_column(session)
  local tab = api.nvim_get_current_tabpage()
  before[tab] = { layout = fn.winlayout(), sizes = sizes_of(tab), screen = { vim.o.columns, vim.o.lines } }
  local equal = vim.o.equalalways
  vim.o.equalalways = false
  local ok, err = pcall(function()
    local top =
      api.nvim_open_win(transcript.buf(session), false, { split = 'right', win = -1, width = width_of() })
    dress(top, 'transcript')
    put(top, transcript.buf(session), 'transcript')
    to_end(top)
    local height = math.max(1, math.min(6, math.floor(api.nvim_win_get_height(top) / 3)))
    local split = { split = 'below', win = top, height = height }
    local made, bottom = pcall(api.nvim_open_win, prompt.buf(session), false, split)
    if not made then
      api.nvim_win_close(top, true)
      error(bottom, 0)
    end
    dress(bottom, 'prompt')
    put(bottom, prompt.buf(session), 'prompt')
    api.nvim_win_set_height(bottom, height)
  end)
  vim.o.equalalways = equal
  if not ok then
    before[tab] = nil
    local why = tostring(err):find('E36') and '' or ': ' .. tostring(err)
    display.notify('there is no room for the chat' .. why, 'warn')
  end
  return ok
end

local function show(session)
  current = session
  local wins = column()
  if not wins.transcript or not wins.prompt then
    M.close({ here = true })
    if not open_column(session) then return false end
  else
    local follow = M.shown() ~= session
    put(wins.transcript, transcript.buf(session), 'transcript')
    put(wins.prompt, prompt.buf(session), 'prompt')
    if follow then to_end(wins.transcript) end
  end
  bars()
  require('bosun.questions').refresh()
  return true
end

--- Goes to the prompt of this tab's chat.
function M.focus_prompt(insert)
  local win = column().prompt
  if not win then return end
  api.nvim_set_current_win(win)
  if insert then
    local last = api.nvim_buf_line_count(0)
    api.nvim_win_set_cursor(win, { last, 0 })
    vim.cmd('startinsert!')
  end
end

--- Opens the chat in this tab and goes to its prompt. `opts`: `session` (id), `range` ({ first, last } of a command,
--- one-based), `focus = false` to stay. Starts a session when there is none.
function M.open(opts)
  opts = opts or {}
  if fn.getcmdwintype() ~= '' then return display.notify('leave the command-line window first', 'warn') end
  context.enter(opts.range)
  local session = id_of(opts.session) or current
  if not session then
    local list = require('bosun.state').sessions or {}
    session = list[#list] and list[#list].id or require('bosun').new({ agent = opts.agent, cwd = opts.cwd })
  end
  if not session then return end
  if show(session) and opts.focus ~= false then M.focus_prompt() end
end

--- Opens the chat, or hides it where it is open in this tab.
function M.toggle(opts)
  local wins = column()
  if wins.transcript or wins.prompt then return M.close() end
  M.open(opts)
end

-- Closing the only window of the only tab is an error; then it gets the file that was there before.
local function close_window(win)
  if not api.nvim_win_is_valid(win) or pcall(api.nvim_win_close, win, true) then return end
  vim.w[win].bosun = nil
  display.win_option(win, 'winfixbuf', false)
  api.nvim_win_call(win, function()
    if fn.bufloaded('#') == 0 or not pcall(vim.cmd, 'buffer #') then vim.cmd('enew') end
    for _, name in ipairs({ 'winbar', 'winfixwidth', 'winfixheight' }) do
      vim.cmd('setlocal ' .. name .. '<')
    end
  end)
end

local function close_here(tab)
  local wins = column(tab)
  if not wins.transcript and not wins.prompt then return end
  local inside = wins[vim.w.bosun or ''] == api.nvim_get_current_win()
  local back = context.window()
  local equal = vim.o.equalalways
  vim.o.equalalways = false
  for _, role in ipairs({ 'prompt', 'transcript' }) do
    if wins[role] then close_window(wins[role]) end
  end
  vim.o.equalalways = equal
  if not api.nvim_tabpage_is_valid(tab) then return end
  if tab == api.nvim_get_current_tabpage() then
    if inside and back and api.nvim_win_get_tabpage(back) == tab then api.nvim_set_current_win(back) end
    local saved = before[tab]
    local same = saved and vim.deep_equal(saved.screen, { vim.o.columns, vim.o.lines })
    if same and vim.deep_equal(saved.layout, fn.winlayout()) then give_back(saved.sizes) end
  end
  before[tab] = nil
end

--- Hides the chat: in this tab, or everywhere when it is not open here. Nothing is lost by it.
function M.close(opts)
  local wins = column()
  if wins.transcript or wins.prompt then
    close_here(api.nvim_get_current_tabpage())
  elseif not (opts and opts.here) then
    for _, tab in ipairs(api.nvim_list_tabpages()) do
      close_here(tab)
    end
  end
  require('bosun.questions').refresh()
end

M.hide = M.close

--- Cancels the turn of a session; false when none is running.
function M.cancel(session)
  local s = session_of(session)
  local busy = s
    and (s.state == 'running' or s.state == 'waiting' or s.state == 'starting' or s.state == 'cancelling')
  if not busy then return false end
  require('bosun.rpc').notify('cancel', { session = session })
  return true
end

--- A session was made, or made again after the sidecar was lost: its transcript is drawn from now on. It becomes the
--- one that is shown unless another is.
function M.create(session)
  local id = id_of(session)
  if not current or not session_of(current) then current = id end
  require('bosun.highlight').apply()
  transcript.create(id)
  if homeless then
    prompt.returned(id, homeless)
    homeless = nil
  end
end

--- Lines for a transcript.
function M.patch(msg) transcript.patch(msg) end

--- A prompt could not be sent. That of a session that was closed goes to the one that is shown, or to the next.
function M.prompt_returned(msg)
  local to = session_of(msg.session) and msg.session or current
  if to then
    prompt.returned(to, msg.text or '')
  else
    homeless = (homeless and homeless .. '\n\n' or '') .. (msg.text or '')
  end
  display.notify('the prompt came back: ' .. display.line(msg.why or 'it could not be sent', 300), 'warn')
end

--- A prompt was sent by hand: the person wants to see what comes of it.
function M.sent(session)
  local win = column().transcript
  if win and transcript.session_of(api.nvim_win_get_buf(win)) == session then to_end(win) end
  bars()
end

--- The state of sessions, questions or the context has changed.
function M.on_sessions() bars() end

--- The text of a session's transcript, of the current one by default.
function M.transcript(session) return transcript.text(id_of(session) or current) end

--- A session is gone: its buffers go too, and the chat shows another or hides.
function M.dispose(session)
  local id = id_of(session)
  local other = nil
  for _, s in ipairs(require('bosun.state').sessions or {}) do
    if s.id ~= id then other = s.id end
  end
  if current == id then current = other end
  for _, tab in ipairs(api.nvim_list_tabpages()) do
    local wins = column(tab)
    if wins.transcript and transcript.session_of(api.nvim_win_get_buf(wins.transcript)) == id then
      if other and wins.prompt then
        put(wins.transcript, transcript.buf(other), 'transcript')
        put(wins.prompt, prompt.buf(other), 'prompt')
        to_end(wins.transcript)
      else
        close_here(tab)
      end
    end
  end
  transcript.dispose(id)
  prompt.dispose(id)
  bars()
end

local group = api.nvim_create_augroup('bosun.chat', {})

-- `:q` in one of the two hides both. `:close` and `:only` do what they say.
api.nvim_create_autocmd('QuitPre', {
  group = group,
  callback = function()
    local win = api.nvim_get_current_win()
    local wins = column()
    if wins[vim.w.bosun or ''] ~= win or not wins.transcript or not wins.prompt then return end
    local sibling = vim.w.bosun == 'prompt' and wins.transcript or wins.prompt
    vim.schedule(function()
      if api.nvim_win_is_valid(win) or not api.nvim_win_is_valid(sibling) then return end
      local tab = api.nvim_win_get_tabpage(sibling)
      if #api.nvim_tabpage_list_wins(tab) > 1 then close_here(tab) end
    end)
  end,
})

api.nvim_create_autocmd('TabClosed', {
  group = group,
  callback = function()
    for tab in pairs(before) do
      if not api.nvim_tabpage_is_valid(tab) then before[tab] = nil end
    end
  end,
})

-- What goes along, and what digits do, is shown as it is when the person comes to the prompt and while they are there.
api.nvim_create_autocmd({ 'WinEnter', 'BufEnter', 'ModeChanged', 'TextChanged' }, {
  group = group,
  callback = function()
    if vim.w.bosun then bars() end
  end,
})

-- A width that is a part of the screen stays that part.
api.nvim_create_autocmd('VimResized', {
  group = group,
  callback = function()
    for _, tab in ipairs(api.nvim_list_tabpages()) do
      local win = column(tab).transcript
      if win then pcall(api.nvim_win_set_width, win, width_of()) end
    end
    bars()
  end,
})

return M
