-- Makes text of agents fit to be shown: one line, nothing that a terminal, 'statusline' or a float title would obey.
--
-- Owns no state. Never opens windows, never changes buffers. Called by every part of the user interface.
local M = {}

local fn = vim.fn

--- One line without control or unprintable characters, cut to `width` cells when given.
function M.line(text, width)
  local s = text == nil and '' or tostring(text)
  if s:find('[\r\n]') then s = s:gsub('%s*[\r\n]+%s*', ' ⏎ ') end
  -- A very long line is cut before it is measured: the measure of 5 MB freezes the editor.
  if width and #s > width * 8 then s = s:sub(1, width * 8 + vim.str_utf_end(s, width * 8)) end
  s = fn.strtrans(s)
  if width and fn.strdisplaywidth(s) > width then
    local keep = math.max(width - 1, 0)
    s = fn.strcharpart(s, 0, keep)
    while s ~= '' and fn.strdisplaywidth(s) > keep do
      s = fn.strcharpart(s, 0, fn.strchars(s) - 1)
    end
    s = s .. '…'
  end
  return s
end

--- The same for 'winbar' and 'statusline', where `%` is an order.
function M.bar(text, width) return (M.line(text, width):gsub('%%', '%%%%')) end

--- Lines for a buffer: a line break inside an item would be an error there.
function M.lines(list)
  local out = {}
  for _, text in ipairs(list or {}) do
    for _, part in ipairs(vim.split(tostring(text), '\r?[\n\r]')) do
      out[#out + 1] = part
    end
  end
  return out
end

--- The name of a file as a person would write it: below the working directory relative, else from `~`.
function M.path(path) return fn.fnamemodify(path, ':~:.') end

--- Says something in the message area. `level` is `info` (the default), `warn` or `error`.
function M.notify(text, level) require('bosun.notice').say(level or 'info', text) end

--- A few keys and what they do, in a float that any key's usual way of leaving closes.
function M.keys(title, keys)
  local api = vim.api
  local lines, wide = {}, 0
  for _, pair in ipairs(keys) do
    lines[#lines + 1] = (' %-14s %s '):format(pair[1], pair[2])
    wide = math.max(wide, fn.strdisplaywidth(lines[#lines]))
  end
  local buf = api.nvim_create_buf(false, true)
  require('bosun.buffers').own(buf)
  api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].bufhidden = 'wipe'
  vim.bo[buf].modifiable = false
  local height = math.max(1, math.min(#lines, vim.o.lines - 4))
  local width = math.max(1, math.min(wide, vim.o.columns - 4))
  local win = api.nvim_open_win(buf, true, {
    relative = 'editor',
    row = math.max(0, math.floor((vim.o.lines - height) / 2) - 1),
    col = math.max(0, math.floor((vim.o.columns - width) / 2)),
    width = width,
    height = height,
    style = 'minimal',
    border = 'rounded',
    title = ' ' .. title .. ' ',
    zindex = 60,
  })
  local function leave()
    if api.nvim_win_is_valid(win) then api.nvim_win_close(win, true) end
  end
  for _, key in ipairs({ 'q', '<Esc>', 'g?', '<C-c>', '<CR>' }) do
    vim.keymap.set('n', key, leave, { buffer = buf, nowait = true, desc = 'Close' })
  end
  api.nvim_create_autocmd('WinLeave', { buffer = buf, once = true, callback = vim.schedule_wrap(leave) })
end

--- Sets a window option for this window alone, and only when it differs (setting it again would redraw). Returns
--- whether it did.
function M.win_option(win, name, value)
  local scope = { scope = 'local', win = win }
  if vim.api.nvim_get_option_value(name, scope) == value then return false end
  vim.api.nvim_set_option_value(name, value, scope)
  return true
end

--- Sets 'winbar'. In a window of one line there is no room for a bar, and Neovim says so in a message that nothing
--- catches. Returns whether it changed.
function M.winbar(win, text)
  return M.win_option(win, 'winbar', vim.api.nvim_win_get_height(win) > 1 and text or '')
end

return M
