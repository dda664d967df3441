-- When a buffer may be changed or saved: not while a person has begun what means the text as it is.
--
-- Owns which modes stand in the way, and the waiting for their end. It never changes or saves anything. Called by
-- `edit`, `saver` and `buffers`.
local M = {}

local api = vim.api

-- How soon to look again when something that has no end event stands in the way, in milliseconds.
M.RETRY = 100

-- The buffer in which a visual block is being typed into, or nil: insert mode by itself does not tell.
local in_block = nil

--- The mode in which `buf` must not be changed, or nil. Half-typed operators and selections would hit other lines than
--- the person meant, an open completion menu other text.
function M.in_the_way(buf)
  if vim.fn.getcmdwintype() ~= '' then return 'command-line window' end
  if api.nvim_get_current_buf() ~= buf then return nil end
  local mode = api.nvim_get_mode().mode
  if mode:find('^no') or mode:find('^[vVsS\22\19]') or mode:find('^[iR]v?[cx]$') then return mode end
  -- Replace mode remembers what it replaced, and typing into a block is copied to its lines at the end.
  if mode:find('^R') then return mode end
  if in_block == buf and mode:find('^i') then return 'insert into a block' end
end

--- Calls `done` once, when what stands in the way of `buf` is over: `why` is what `in_the_way` said, or `autocommand`.
function M.when_over(buf, why, done)
  if why == 'autocommand' then return vim.defer_fn(done, M.RETRY) end
  api.nvim_create_autocmd({ 'ModeChanged', 'CmdwinLeave', 'BufEnter', 'WinEnter' }, {
    group = api.nvim_create_augroup('bosun.moments', { clear = false }),
    callback = function(args)
      -- In CmdwinLeave the window is still there, but nothing is typed into it any more.
      if args.event ~= 'CmdwinLeave' and M.in_the_way(buf) then return false end
      done()
      return true
    end,
  })
end

api.nvim_create_autocmd('ModeChanged', {
  group = api.nvim_create_augroup('bosun.moments.block', {}),
  callback = function()
    local old, new = vim.v.event.old_mode, vim.v.event.new_mode
    if not new:find('^i') then
      in_block = nil
    elseif old:find('^\22') then
      in_block = api.nvim_get_current_buf()
    end
  end,
})

return M
