-- Code actions on hunks: what is offered, when the server is there, and what it must never get in the way of.
local here = vim.fs.dirname(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p'))
local hunks = dofile(here .. '/support/review.lua')
local same = require('editor').same

-- What the editor's own code action key offers at the cursor; `choice` takes one of them.
local function offered(e, choice)
  e:lua(
    [[
    _G.offered = nil
    local choice = ...
    vim.ui.select = function(items, _, done)
      local titles, chosen = {}, nil
      for _, item in ipairs(items) do
        titles[#titles + 1] = item.action.title
        if item.action.title == choice then chosen = item end
      end
      _G.offered = titles
      done(chosen)
    end
    vim.lsp.buf.code_action()
  ]],
    choice or ''
  )
  e:eventually('return _G.offered ~= nil')
  return e:lua('return _G.offered')
end

local specs = {
  {
    'the code action key on a hunk offers to keep and to reject it, or all in the file',
    function(e)
      local _, path = hunks.open(e)
      e:cmd('6')
      same(offered(e, 'Reject this hunk'), {
        'Keep this hunk',
        'Reject this hunk',
        'Keep all in this file',
        'Reject all in this file',
      })
      e:eventually([[return sent[#sent].name == 'review_verdict']])
      same(e:sent('review_verdict'), { { verdict = 'reject', scope = 'hunk', path = path, id = 2 } })
      e:forget()
      e:cmd('1')
      same(offered(e, 'Keep all in this file'), { 'Keep all in this file', 'Reject all in this file' })
      e:eventually([[return #sent > 0]])
      same(e:sent('review_verdict'), { { verdict = 'keep', scope = 'file', path = path } })
    end,
  },
  {
    'the server is attached only while the buffer holds hunks',
    function(e)
      local buf = hunks.open(e)
      local count = 'return #vim.lsp.get_clients({ bufnr = ... })'
      same(e:lua(count, buf), 1)
      hunks.tell(e, buf, {})
      e:eventually('return #vim.lsp.get_clients() == 0')
      hunks.tell(e, buf, hunks.hunks())
      same(e:lua(count, buf), 1)
    end,
  },
  {
    'it formats nothing, completes nothing, and changes no option of the buffer',
    function(e)
      local path = e:file('b.txt', 'one\ntwo\n')
      local buf = e:open(path)
      local options = [[
    local out = {}
    for _, name in ipairs({ 'tagfunc', 'omnifunc', 'formatexpr', 'keywordprg' }) do out[name] = vim.bo[...][name] end
    out.K = vim.fn.maparg('K', 'n')
    return out
  ]]
      local before = e:lua(options, buf)
      hunks.tell(e, buf, { hunks.hunk(1, 0, 1, {}) })
      same(e:lua(options, buf), before)
      same(
        e:lua(
          [[
    local client = vim.lsp.get_clients({ name = 'bosun' })[1]
    local out = {}
    for _, method in ipairs({
      'textDocument/formatting', 'textDocument/rangeFormatting', 'textDocument/hover', 'textDocument/completion',
      'textDocument/definition', 'textDocument/rename', 'textDocument/diagnostic', 'textDocument/codeAction',
    }) do
      if client:supports_method(method, ...) then out[#out + 1] = method end
    end
    return out
  ]],
          buf
        ),
        { 'textDocument/codeAction' }
      )
      same(
        #e:lua([[return vim.lsp.get_clients({ bufnr = ..., method = 'textDocument/formatting' })]], buf),
        0
      )
    end,
  },
  {
    'whoever asks only for other kinds of actions gets none',
    function(e)
      local buf = hunks.open(e)
      same(
        e:lua(
          [[
    local answer = vim.lsp.buf_request_sync(..., 'textDocument/codeAction', {
      textDocument = { uri = vim.uri_from_bufnr(...) },
      range = { start = { line = 5, character = 0 }, ['end'] = { line = 5, character = 0 } },
      context = { diagnostics = {}, only = { 'source.organizeImports' } },
    }, 2000)
    local out = {}
    for _, a in pairs(answer) do out[#out + 1] = #a.result end
    return out
  ]],
          buf
        ),
        { 0 }
      )
    end,
  },
  {
    'it brings no message and no error through edits, a save and the end of the buffer',
    function(e)
      local buf = hunks.open(e)
      e:lua([[vim.api.nvim_buf_set_lines(..., 0, 0, true, { 'x' })]], buf)
      e:cmd('silent write')
      e:cmd('bdelete')
      hunks.tell(e, buf, {})
      same(vim.trim(e:messages()), '')
    end,
  },
  {
    'it does not keep the editor from leaving',
    function(e)
      hunks.open(e)
      local before = vim.uv.hrtime()
      vim.rpcnotify(e.chan, 'nvim_command', 'qa')
      local left = vim.fn.jobwait({ e.chan }, 3000)[1]
      same(left, 0)
      assert((vim.uv.hrtime() - before) / 1e6 < 1500, 'it took too long')
    end,
  },
}

return specs
