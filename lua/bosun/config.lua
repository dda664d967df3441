-- The settings: defaults, and what a person gave to `setup()`.
--
-- Owns the merged table. A key or a value that makes no sense is an error that says what would; nothing is guessed.
-- Read by all through `get()`.
local M = {}

local defaults = {
  -- Presets by name: { command, args, env }; laid over those that come with the plugin.
  agents = {},
  -- Name of a preset; nil: $BOSUN_AGENT, else the first installed one, else the demo.
  default_agent = nil,
  -- The sidecar; nil: $BOSUN_BIN, else the checkout's target/release/bosun, else PATH.
  binary = nil,
  -- error, warn, info, debug, trace.
  log_level = 'info',
  -- Larger buffers are not mirrored.
  max_buffer_bytes = 16 * 1024 * 1024,
  -- Most text of a command that is kept for its agent, which may ask for less.
  max_terminal_bytes = 16 * 1024 * 1024,
  -- When a change of an agent's is also saved: always, if_clean (the buffer was not modified before), never.
  save = 'always',
  -- Folders that sessions see beside their own: '~/notes', or { path = '~/ref', write = false }.
  roots = {},
  -- Paths outside all of them: ask, deny.
  outside = 'ask',
  -- Globs of files whose writes are asked about whatever was approved, beside those that can run commands by themselves
  -- (hooks of git, .nvim.lua, .envrc and the like, which always are).
  always_ask = {},
  -- Globs of files in the folders whose reads are asked about; {} for none.
  ask_read = { '.env', '.env.*', '*.pem', 'id_rsa*', 'id_ed25519*', '.netrc', '.npmrc' },
  -- Commands that agents run in the editor's terminals: ask (unless a permission of the turn was for that very one),
  -- agent (it asks by itself). Also in a preset.
  commands = 'ask',
  -- Changes of files: ask (unless a permission of the turn was for that very one), agent (it asks by itself), review
  -- (they land, and are kept or rejected afterwards). Also in a preset.
  write_approval = 'ask',
  -- Seconds until a person is told that an agent does not start.
  start_timeout = 60,
  -- Of the chat: columns, or a part of the screen when below 1.
  window = { width = 0.4 },
  -- What goes along with a prompt.
  context = { file = true, selection = true },
  -- Unsaved text before a prompt: auto, embed, save, leave, ask. Also in a preset.
  unsaved = 'auto',
  -- Commands in the sidecar's terminals open the files that they want edited in this Neovim ($EDITOR, git commit).
  terminal_editor = true,
  -- Global keys, none by default: { toggle = '<leader>a' }; `hunks = true` maps ]v and [v to the hunks of agents.
  keys = {},
}

-- What each key may be: a type of Lua, or a function that gives an error text.
local function one_of(...)
  local words = { ... }
  return function(v)
    if not vim.tbl_contains(words, v) then return 'must be one of ' .. table.concat(words, ', ') end
  end
end

local function positive(v)
  if type(v) ~= 'number' or v <= 0 then return 'must be a number above 0' end
end

local function strings(v)
  if type(v) ~= 'table' or not vim.islist(v) then return 'must be a list of strings' end
  for _, s in ipairs(v) do
    if type(s) ~= 'string' then return 'must be a list of strings' end
  end
end

local function env(v)
  if type(v) ~= 'table' then return 'must be a table' end
  for name, value in pairs(v) do
    if type(name) ~= 'string' or (type(value) ~= 'string' and value ~= false) then
      return 'must hold strings by name (false removes a variable)'
    end
  end
end

local lhs = function(v)
  if type(v) ~= 'string' and v ~= false then return 'must be a key, such as "<leader>a"' end
end

local unsaved = one_of('auto', 'embed', 'save', 'leave', 'ask')

local function roots(v)
  local must = 'must be a list of folders, each a string or { path = string, write = boolean }'
  if type(v) ~= 'table' or not vim.islist(v) then return must end
  for _, root in ipairs(v) do
    if type(root) == 'table' then
      for key in pairs(root) do
        if key ~= 'path' and key ~= 'write' then return must end
      end
      if root.write ~= nil and type(root.write) ~= 'boolean' then return must end
      root = root.path
    end
    if type(root) ~= 'string' or root == '' then return must end
  end
end

local preset = {
  command = 'string',
  args = strings,
  env = env,
  install = 'string',
  unsaved = unsaved,
  roots = roots,
  commands = one_of('ask', 'agent'),
  write_approval = one_of('ask', 'agent', 'review'),
}

local schema = {
  agents = function(v, where)
    if type(v) ~= 'table' then return 'must be a table' end
    for name, entry in pairs(v) do
      if type(name) ~= 'string' then return 'must hold presets by name' end
      M.check(entry, preset, where .. '.' .. name)
    end
  end,
  default_agent = 'string',
  binary = 'string',
  log_level = one_of('error', 'warn', 'info', 'debug', 'trace'),
  max_buffer_bytes = positive,
  max_terminal_bytes = positive,
  save = one_of('always', 'if_clean', 'never'),
  roots = roots,
  outside = one_of('ask', 'deny'),
  always_ask = strings,
  ask_read = strings,
  commands = one_of('ask', 'agent'),
  write_approval = one_of('ask', 'agent', 'review'),
  start_timeout = positive,
  window = { width = positive },
  context = { file = 'boolean', selection = 'boolean' },
  unsaved = unsaved,
  terminal_editor = 'boolean',
  keys = {
    open = lhs,
    toggle = lhs,
    close = lhs,
    new = lhs,
    cancel = lhs,
    pending = lhs,
    diff = lhs,
    sessions = lhs,
    terminals = lhs,
    log = lhs,
    hunks = 'boolean',
    next_hunk = lhs,
    prev_hunk = lhs,
    keep = lhs,
    reject = lhs,
    review = lhs,
    review_undo = lhs,
  },
}

-- Number of single changes between two words.
local function distance(a, b)
  local row = {}
  for j = 0, #b do
    row[j] = j
  end
  for i = 1, #a do
    local corner = row[0]
    row[0] = i
    for j = 1, #b do
      local change = corner + (a:byte(i) == b:byte(j) and 0 or 1)
      corner = row[j]
      row[j] = math.min(change, row[j] + 1, row[j - 1] + 1)
    end
  end
  return row[#b]
end

--- The nearest of `words`, or nil when none is near.
function M.nearest(word, words)
  local best, least = nil, math.max(2, math.floor(#word / 2)) + 1
  for _, w in ipairs(words) do
    local d = distance(word, w)
    if d < least then
      best, least = w, d
    end
  end
  return best
end

--- Raises an error for what is wrong with `given`. `where` is for the message.
function M.check(given, rules, where)
  if type(given) ~= 'table' then error(('bosun: %s must be a table'):format(where), 0) end
  for key, value in pairs(given) do
    local rule = rules[key]
    local name = ('%s.%s'):format(where, tostring(key))
    if rule == nil then
      local names = vim.tbl_keys(rules)
      table.sort(names)
      local near = type(key) == 'string' and M.nearest(key, names)
      local hint = near and ('did you mean `%s`?'):format(near) or 'known: ' .. table.concat(names, ', ')
      error(('bosun: unknown setting %s: %s'):format(name, hint), 0)
    elseif type(rule) == 'table' then
      M.check(value, rule, name)
    else
      local wrong = type(rule) == 'function' and rule(value, name)
      if type(rule) == 'string' and type(value) ~= rule then wrong = 'must be a ' .. rule end
      if wrong then error(('bosun: %s %s'):format(name, wrong), 0) end
    end
  end
end

--- The rules for a preset, for presets that come from files.
M.preset = preset

local settings = vim.deepcopy(defaults)

--- Replaces all settings by the defaults and `given`. Raises an error for a setting that makes no sense.
function M.setup(given)
  given = given or {}
  M.check(given, schema, 'setup')
  settings = vim.tbl_deep_extend('force', vim.deepcopy(defaults), given)
end

--- The settings; not to be changed by the caller.
function M.get() return settings end

return M
