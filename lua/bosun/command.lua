-- `:Bosun`: one command, its subcommands, their completion, and the same actions for the <Plug> maps.
--
-- Owns the table of subcommands. All of them go through the public API; an error is one short line.
local M = {}

local api = vim.api
local notice = require('bosun.notice')

local function bosun() return require('bosun') end
local function state() return require('bosun.state') end

-- True and nothing else means that it worked; nil comes with the reason.
local function report(ok, err)
  if not ok and err then notice.say('error', err) end
end

local function session_ids()
  return vim.tbl_map(function(s) return s.id end, state().sessions)
end

local function range_of(c)
  if c.range and c.range > 0 then return { c.line1, c.line2 } end
end

-- A log in a tab of its own, at its end; never announced as a file of the project.
local function show_log(path, what)
  if not path or vim.fn.filereadable(path) ~= 1 then
    return notice.say('warn', ('there is no %s yet'):format(what))
  end
  if vim.fn.getcmdwintype() ~= '' then return notice.say('warn', 'leave the command-line window first') end
  local buf = vim.fn.bufadd(path)
  require('bosun.buffers').own(buf)
  vim.cmd.tabnew()
  vim.bo.bufhidden = 'wipe'
  api.nvim_win_set_buf(0, buf)
  vim.bo[buf].autoread, vim.bo[buf].modifiable, vim.bo[buf].buflisted = true, false, false
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buf, nowait = true, desc = 'Close the log' })
  pcall(vim.cmd, 'silent checktime ' .. buf)
  vim.cmd('normal! G')
end

-- The wire log of the current session's agent, else of the newest session's.
local function wire_log()
  local all = state().sessions
  local session = state().get(require('bosun.chat').current()) or all[#all]
  if not session then
    local newest = nil
    for _, path in ipairs(vim.fn.glob(require('bosun.rpc').log_dir() .. '/wire-*.jsonl', false, true)) do
      if not newest or vim.fn.getftime(path) > vim.fn.getftime(newest) then newest = path end
    end
    return newest
  end
  -- As the sidecar names it.
  local name = session.agent:gsub('[^%w-]', '_')
  return ('%s/wire-%s.jsonl'):format(require('bosun.rpc').log_dir(), name)
end

local function choose_session()
  local all = state().sessions
  if #all == 0 then return notice.say('info', 'there is no session') end
  vim.ui.select(all, {
    prompt = 'Session',
    format_item = function(s)
      local title = s.title ~= '' and s.title or vim.fn.fnamemodify(s.cwd, ':~')
      return ('%s  %s  %s  %s'):format(s.id, s.agent, s.state, title)
    end,
  }, function(choice)
    if choice then bosun().open({ session = choice.id }) end
  end)
end

local function first_question()
  local question = state().questions[1]
  if not question then notice.say('info', 'no question waits') end
  return question
end

-- Keeps or rejects: [hunk|file|turn|session|all]; without a word the hunks of the range, or the one at the cursor.
local function verdict(name)
  return {
    run = function(words, c) report(bosun()[name]({ scope = words[1], range = range_of(c) })) end,
    complete = function(words) return #words == 0 and require('bosun.review').SCOPES or {} end,
  }
end

-- Each: { run = function(words, command), complete = function(words) }.
local subs = {
  open = {
    run = function(words, c) bosun().open({ session = words[1], range = range_of(c) }) end,
    complete = session_ids,
  },
  toggle = {
    run = function(_, c) bosun().toggle({ range = range_of(c) }) end,
  },
  close = {
    -- With a bang, or a name, the session ends; without, the chat is hidden.
    run = function(words, c)
      local id = words[1] or (c.bang and require('bosun.chat').current())
      if c.bang or id then
        report(bosun().close({ session = id or '' }))
      else
        bosun().close()
      end
    end,
    complete = session_ids,
  },
  new = {
    run = function(words, c)
      local id = bosun().new({ agent = words[1], cwd = words[2] })
      if id then bosun().open({ session = id, range = range_of(c) }) end
    end,
    complete = function(words)
      if #words == 0 then return require('bosun.agents').names() end
      return vim.fn.getcompletion(words[2] or '', 'dir')
    end,
  },
  prompt = {
    -- The range goes along as the selection; with a bang nothing does.
    run = function(_, c)
      local text = c.args:match('^%S+%s+(.*)$')
      if not text then return bosun().open({ range = range_of(c) }) end
      local range = range_of(c)
      if range and not c.bang then require('bosun.context').enter(range) end
      local opts = {}
      if c.bang then opts.context = false end
      report(bosun().prompt(text, opts))
    end,
  },
  checkpoint = {
    -- Without words a list to choose from; `restore N`, `undo`.
    run = function(words)
      local session = require('bosun.chat').current()
      if not session then return report(nil, 'there is no session') end
      local checkpoints = require('bosun.checkpoints')
      if not words[1] or words[1] == 'list' then return report(checkpoints.choose(session)) end
      if words[1] == 'undo' then return report(checkpoints.undo(session)) end
      if words[1] ~= 'restore' then return report(nil, 'try restore or undo') end
      if not words[2] then return report(checkpoints.choose(session)) end
      local number = tonumber(words[2])
      if not number then return report(nil, 'which checkpoint? Its number, see :Bosun checkpoint') end
      report(checkpoints.restore(session, number))
    end,
    complete = function(words)
      if #words == 0 then return { 'list', 'restore', 'undo' } end
      local out = {}
      for _, checkpoint in ipairs(require('bosun.checkpoints').list(require('bosun.chat').current())) do
        out[#out + 1] = tostring(checkpoint.number)
      end
      return words[1] == 'restore' and out or {}
    end,
  },
  edit = {
    -- The range goes to the agent with the words; without words it is asked what to do.
    run = function(_, c)
      local range = range_of(c) or { api.nvim_win_get_cursor(0)[1], api.nvim_win_get_cursor(0)[1] }
      report(require('bosun.in_place').run(range, c.args:match('^%S+%s+(.*)$')))
    end,
  },
  cancel = {
    run = function(words) report(bosun().cancel({ session = words[1] })) end,
    complete = session_ids,
  },
  refuse = {
    -- [id] words: rejects the oldest question, or that one, and tells the agent why.
    run = function(words, c)
      local text = c.args:match('^%S+%s+(.*)$') or ''
      local question = tonumber(words[1]) and state().question(tonumber(words[1]))
      if question then
        text = text:match('^%S+%s*(.*)$') or ''
      else
        question = first_question()
      end
      if not question then return end
      if text == '' then return require('bosun.questions').refuse(question.id) end
      report(bosun().answer(question.id, 'reject_once', { why = text }))
    end,
  },
  answer = {
    -- [id] option; without an id the oldest question is meant. An option is named by its id, its kind, or the number
    -- that the screen shows.
    run = function(words)
      local id = tonumber(words[1])
      local question = id and words[2] and state().question(id) or nil
      local option = words[2]
      if not (id and option) then
        question, option = first_question(), words[1]
      end
      if id and words[2] and not question then return report(nil, ('there is no question %d'):format(id)) end
      if not question then return end
      if not option then return report(nil, 'which option? Try <Tab>') end
      local named = vim.iter(question.options):any(function(o) return o.id == option or o.kind == option end)
      local numbered = not named and question.options[tonumber(option) or 0]
      if numbered then option = numbered.id end
      report(bosun().answer(question.id, option))
    end,
    complete = function(words)
      local question = tonumber(words[1]) and state().question(tonumber(words[1])) or state().questions[1]
      if not question then return {} end
      local out = {}
      for _, option in ipairs(question.options) do
        for _, word in ipairs({ option.id, option.kind }) do
          if word ~= '' and not word:find('%s') and not vim.tbl_contains(out, word) then
            out[#out + 1] = word
          end
        end
      end
      out[#out + 1] = 'cancelled'
      if #words == 0 then
        for _, q in ipairs(state().questions) do
          out[#out + 1] = tostring(q.id)
        end
      end
      return out
    end,
  },
  pending = {
    run = function()
      if first_question() then require('bosun.questions').focus() end
    end,
  },
  diff = {
    -- [number] of the oldest question's diffs, from 1.
    run = function(words)
      local question = first_question()
      if question then require('bosun.diff').open(question.id, (tonumber(words[1]) or 1) - 1) end
    end,
  },
  keep = verdict('keep'),
  reject = verdict('reject'),
  review = {
    -- The tab; `quickfix` lists all hunks, `undo` takes the last verdict back.
    run = function(words)
      if words[1] == 'undo' then return report(bosun().review({ undo = true })) end
      if words[1] and words[1] ~= 'quickfix' then
        return report(nil, ('there is no :Bosun review %s: try quickfix or undo'):format(words[1]))
      end
      local ok, err = bosun().review({ quickfix = words[1] == 'quickfix' })
      if not ok then notice.say('info', err) end
    end,
    complete = function(words) return #words == 0 and { 'quickfix', 'undo' } or {} end,
  },
  sessions = { run = choose_session },
  terminals = {
    -- [id] opens one; `stop` [id] ends its command; with a bang `stop` ends all.
    run = function(words, c) require('bosun.terminals').command(words, c.bang) end,
    complete = function(words) return require('bosun.terminals').complete(words) end,
  },
  log = {
    run = function(words)
      if words[1] == 'wire' then return show_log(wire_log(), 'wire log') end
      if words[1] == 'lua' then return show_log(require('bosun.inbox').log_path(), 'error in Lua') end
      if words[1] then return report(nil, ('there is no log `%s`: try wire or lua'):format(words[1])) end
      show_log(
        (require('bosun.rpc').welcome or {}).log or require('bosun.rpc').log_dir() .. '/bosun.log',
        'log'
      )
    end,
    complete = function() return { 'wire', 'lua' } end,
  },
  visit = {
    -- Goes to the file that a command waits for; `abort` gives it up, so that the command fails.
    run = function(words)
      local visit = require('bosun.visit')
      -- An abbreviation of `:cq!` leaves its bang here.
      local word = words[1] and words[1]:gsub('!$', '')
      if word and word ~= 'abort' then
        return report(nil, ('there is no :Bosun visit %s: try abort'):format(word))
      end
      if word then return report(visit.abort()) end
      report(visit.go())
    end,
    complete = function() return { 'abort' } end,
  },
  restart = {
    run = function()
      require('bosun.rpc').stop('restarted by hand')
      notice.say('info', 'the next prompt starts the sidecar again')
    end,
  },
}

local function names()
  local out = vim.tbl_keys(subs)
  table.sort(out)
  return out
end

--- Runs `:Bosun …`; `c` is what Neovim gives a user command.
function M.run(c)
  if vim.fn.has('nvim-0.11') ~= 1 then return notice.say('error', 'Neovim 0.11 or newer is needed') end
  local words = vim.list_slice(c.fargs)
  local name = table.remove(words, 1) or 'open'
  local sub = subs[name]
  if not sub then
    local near = require('bosun.config').nearest(name, names())
    local hint = near and ('did you mean `%s`?'):format(near) or 'try <Tab>'
    return notice.say('error', ('there is no :Bosun %s: %s'):format(name, hint))
  end
  local ok, err = xpcall(sub.run, debug.traceback, words, c)
  if not ok then require('bosun.inbox').fail('command ' .. name, err) end
end

--- Completion for `:Bosun`.
function M.complete(lead, line, pos)
  local before = line:sub(1, pos):match('Bosun!?%s+(.*)$') or ''
  local words = vim.split(vim.trim(before), '%s+', { trimempty = true })
  -- The word that is being typed is not a word yet.
  if lead ~= '' then table.remove(words) end
  local candidates
  if #words == 0 then
    candidates = names()
  else
    local sub = subs[table.remove(words, 1)]
    candidates = sub and sub.complete and sub.complete(words) or {}
  end
  return vim.tbl_filter(function(word) return vim.startswith(word, lead) end, candidates)
end

--- Runs the action of a <Plug> map. In visual mode the selection is what the chat takes along.
function M.plug(name) M.run({ fargs = { name }, args = name, bang = false, range = 0 }) end

return M
