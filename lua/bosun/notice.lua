-- Tells a person something in one short line, and never in a way that stops the editor.
--
-- Owns the queue of what is still to be said. Two messages in one turn of the editor, or one that is too long,
-- would end in a hit-enter prompt, at which Neovim answers nothing: so each is cut to the line and has its own
-- turn. Called by all; knows nobody.
local M = {}

-- Between two messages, in milliseconds: the screen is drawn meanwhile.
local GAP = 60
-- More waiting messages than this drop the oldest.
local LIMIT = 50

local queue = {}
local busy = false

-- One line, no longer than the message line.
local function short(text)
  text = tostring(text):gsub('%s*[\r\n]+%s*', ' '):gsub('[%z\1-\31\127]', ' ')
  -- A screen too narrow for anything gets the first letters: a line that wraps would wait for a key.
  local room = math.max(1, vim.v.echospace - 8)
  if vim.fn.strdisplaywidth(text) <= room then return text end
  while text ~= '' and vim.fn.strdisplaywidth(text) > room - 1 do
    text =
      vim.fn.strcharpart(text, 0, vim.fn.strchars(text) - math.max(1, (vim.fn.strdisplaywidth(text) - room)))
  end
  return text .. '…'
end

local function next_one()
  local item = table.remove(queue, 1)
  if not item then
    busy = false
    return
  end
  local level = vim.log.levels[item.level:upper()] or vim.log.levels.INFO
  pcall(vim.notify, 'bosun: ' .. short(item.text), level, { title = 'Bosun' })
  vim.defer_fn(next_one, GAP)
end

--- `level` is `info`, `warn` or `error`.
function M.say(level, text)
  if #queue >= LIMIT then table.remove(queue, 1) end
  queue[#queue + 1] = { level = level, text = text }
  if busy then return end
  busy = true
  vim.schedule(next_one)
end

local said = {}

--- The same, but each `key` only once.
function M.once(key, level, text)
  if said[key] then return end
  said[key] = true
  M.say(level, text)
end

return M
