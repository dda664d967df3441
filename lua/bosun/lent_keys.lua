-- Keys that a buffer of the person's has only while the cursor is in a window of ours that shows it.
--
-- Owns nothing but what it hands out: what was mapped before comes back. Called by the review tab.
local M = {}

local api, fn = vim.api, vim.fn

--- Maps `keys` (lhs to { function, description }) in normal mode of the buffer; returns what takes them away again.
function M.lend(buf, keys)
  local before = {}
  for lhs, key in pairs(keys) do
    local was = api.nvim_buf_call(buf, function() return fn.maparg(lhs, 'n', false, true) end)
    before[lhs] = was.buffer == 1 and was or false
    vim.keymap.set('n', lhs, key[1], { buffer = buf, nowait = true, silent = true, desc = key[2] })
  end
  return function()
    if not api.nvim_buf_is_valid(buf) then return end
    for lhs, was in pairs(before) do
      pcall(vim.keymap.del, 'n', lhs, { buffer = buf })
      if was then api.nvim_buf_call(buf, function() fn.mapset('n', false, was) end) end
    end
  end
end

return M
