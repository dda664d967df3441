-- Verdicts as code actions: a language server inside this process, so that the editor's own key offers to keep or
-- reject.
--
-- Owns the client and which buffers it is attached to: those that hold hunks, and no longer than they do. It knows
-- nothing of texts (no synchronisation), answers from what was told already, and formats nothing. Called by
-- `bosun.review`.
local M = {}

local api = vim.api

--- The client's name, for those who list clients.
M.NAME = 'bosun'

local client_id = nil
-- Buffers that are attached, as a set.
local attached = {}

local CAPABILITIES = {
  codeActionProvider = { codeActionKinds = { 'quickfix' } },
  executeCommandProvider = { commands = { 'bosun.keep', 'bosun.reject' } },
  textDocumentSync = { openClose = false, change = 0 },
  positionEncoding = 'utf-16',
}

local function action(title, command, arguments)
  return {
    title = title,
    kind = 'quickfix',
    command = { title = title, command = command, arguments = { arguments } },
  }
end

-- Whoever asks for some kinds only (on saving, for example) gets none of ours unless they are among them.
local function wanted(context)
  local only = context and context.only
  if type(only) ~= 'table' then return true end
  for _, kind in ipairs(only) do
    if kind == '' or kind == 'quickfix' then return true end
  end
  return false
end

local function code_actions(params)
  local review = require('bosun.review')
  local buf = vim.uri_to_bufnr(params.textDocument.uri)
  local file = review.of(buf)
  if not file or not wanted(params.context) then return {} end
  local from, to = params.range.start.line, params.range['end'].line
  local found = review.within(buf, from, to + 1)
  local one = review.at(buf, from)
  local out = {}
  if from == to and one then found = { one } end
  if #found == 1 then
    local this = { scope = 'hunk', path = file.path, id = found[1].hunk.id }
    out = { action('Keep this hunk', 'bosun.keep', this), action('Reject this hunk', 'bosun.reject', this) }
  elseif #found > 1 then
    local these = { scope = 'hunk', buf = buf, range = { from + 1, to + 1 } }
    out = {
      action(('Keep these %d hunks'):format(#found), 'bosun.keep', these),
      action(('Reject these %d hunks'):format(#found), 'bosun.reject', these),
    }
  end
  local all = { scope = 'file', path = file.path }
  out[#out + 1] = action('Keep all in this file', 'bosun.keep', all)
  out[#out + 1] = action('Reject all in this file', 'bosun.reject', all)
  return out
end

local function execute(params)
  local verdict = tostring(params.command):match('^bosun%.(%a+)$')
  local opts = (params.arguments or {})[1]
  if not verdict or type(opts) ~= 'table' then return end
  local ok, err = require('bosun.review').verdict(verdict, opts)
  if not ok then require('bosun.notice').say('warn', err) end
end

-- The server: functions where a process would be.
local function serve(dispatchers)
  local closing, number = false, 0
  local answers = {
    initialize = function() return { capabilities = CAPABILITIES, serverInfo = { name = M.NAME } } end,
    shutdown = function() return vim.NIL end,
    ['textDocument/codeAction'] = code_actions,
    ['workspace/executeCommand'] = function(params)
      execute(params)
      return vim.NIL
    end,
  }
  local function close()
    if closing then return end
    closing = true
    vim.schedule(function() dispatchers.on_exit(0, 0) end)
  end
  return {
    request = function(method, params, callback, notify_reply)
      number = number + 1
      local id, answer = number, answers[method]
      local ok, result = false, nil
      if answer then
        ok, result = pcall(answer, params)
      end
      -- As from a process: never before the caller has the number of the request.
      local function reply()
        if notify_reply then notify_reply(id) end
        if ok then return callback(nil, result) end
        local code = answer and vim.lsp.protocol.ErrorCodes.InternalError
          or vim.lsp.protocol.ErrorCodes.MethodNotFound
        callback({ code = code, message = answer and tostring(result) or 'not known: ' .. method })
      end
      if method == 'initialize' then
        reply()
      else
        vim.schedule(reply)
      end
      return true, id
    end,
    notify = function(method)
      if method == 'exit' then close() end
      return true
    end,
    is_closing = function() return closing end,
    terminate = close,
  }
end

local function attach(buf)
  local id = vim.lsp.start({ name = M.NAME, cmd = serve, offset_encoding = 'utf-16' }, {
    bufnr = buf,
    silent = true,
    reuse_client = function(client) return client.id == client_id and not client:is_stopped() end,
  })
  client_id = id or client_id
  attached[buf] = id and true or nil
end

local function detach(buf)
  attached[buf] = nil
  if client_id and api.nvim_buf_is_loaded(buf) then pcall(vim.lsp.buf_detach_client, buf, client_id) end
  if next(attached) == nil and client_id then
    local client = vim.lsp.get_client_by_id(client_id)
    client_id = nil
    if client then client:stop() end
  end
end

--- The buffer holds hunks, or none (any more).
function M.follow(buf, holds)
  if holds and not attached[buf] and api.nvim_buf_is_loaded(buf) then
    attach(buf)
  elseif not holds and attached[buf] then
    detach(buf)
  end
end

api.nvim_create_autocmd({ 'BufUnload', 'BufWipeout' }, {
  group = api.nvim_create_augroup('bosun.actions_server', {}),
  callback = function(args)
    if attached[args.buf] then attached[args.buf] = nil end
  end,
})

return M
