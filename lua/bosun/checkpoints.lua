-- Checkpoints: the states before prompts that a person can go back to.
--
-- Owns the list that the sidecar told of, by session, with the time when each was first heard of. Never changes a file:
-- going back is the sidecar's. Called by the inbox, the public API and `:Bosun checkpoint`.
local M = {}

local display = require('bosun.display')

-- By session: list of { number, prompt, files, time }, oldest first; `time` in seconds of the clock.
local lists = {}

local function send(name, message)
  if not require('bosun.rpc').notify(name, message) then return nil, 'the sidecar is not running' end
  return true
end

--- The checkpoints of a session, oldest first: { number, prompt, files, time }.
function M.list(session) return vim.deepcopy(lists[session] or {}) end

local function label(checkpoint)
  local count = #checkpoint.files
  local files = count == 0 and 'nothing changed since'
    or count == 1 and '1 file since'
    or count .. ' files since'
  return ('%d  %s  %s  (%s)'):format(
    checkpoint.number,
    os.date('%H:%M:%S', checkpoint.time),
    display.line(checkpoint.prompt, 60),
    files
  )
end

-- The names of the files that would go back, for the last question.
local function names(checkpoint)
  local out = {}
  for i, path in ipairs(checkpoint.files) do
    if i > 5 then
      out[#out + 1] = ('and %d more'):format(#checkpoint.files - 5)
      break
    end
    out[#out + 1] = display.line(display.path(path), 60)
  end
  return table.concat(out, ', ')
end

--- Goes back to the state before the prompt of that checkpoint. True, or nil and why not.
function M.restore(session, number) return send('restore', { session = session, number = number }) end

--- Takes the last way back back.
function M.undo(session) return send('restore', { session = session }) end

local function choose(session)
  local all = {}
  for _, checkpoint in ipairs(lists[session] or {}) do
    if #checkpoint.files > 0 then table.insert(all, 1, checkpoint) end
  end
  if #all == 0 then return display.notify('no agent has changed a file in this session') end
  local options = { prompt = 'Go back to before', format_item = label }
  vim.ui.select(all, options, function(checkpoint)
    if not checkpoint then return end
    local question = ('%d file%s: %s'):format(
      #checkpoint.files,
      #checkpoint.files == 1 and '' or 's',
      names(checkpoint)
    )
    vim.ui.select({ 'Go back', 'Leave all as it is' }, { prompt = question }, function(_, which)
      if which == 1 then M.restore(session, checkpoint.number) end
    end)
  end)
end

--- Asks for the list, and lets the person choose once it is there.
function M.choose(session) return send('checkpoints', { session = session }) end

--- The sidecar tells of the checkpoints of a session.
function M.recv(message)
  local known = {}
  for _, checkpoint in ipairs(lists[message.session] or {}) do
    known[checkpoint.number] = checkpoint.time
  end
  local list = {}
  for i, checkpoint in ipairs(message.list) do
    list[i] = {
      number = checkpoint.number,
      prompt = checkpoint.prompt,
      files = checkpoint.files,
      time = known[checkpoint.number] or os.time(),
    }
  end
  lists[message.session] = list
  if message.asked then vim.schedule(function() choose(message.session) end) end
end

return M
