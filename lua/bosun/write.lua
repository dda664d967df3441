-- `:write`, as the person would: with autocommands, and without a message or a question.
--
-- Owns what a save must leave as it was. It never decides whether to save. Called by `edit` and `saver`.
local M = {}

local api = vim.api

local ns = api.nvim_create_namespace('bosun.write')

--- Whether a write that is under way is ours, for autocommands that ask.
M.saving = false

--- The first line of an error, without where in a script of somebody's it was raised.
function M.plain(err)
  local text = tostring(err):match('[^\n]*')
  text = text
    :gsub('^.-(E%d+:)', '%1')
    :gsub('^Vim%b():', '')
    :gsub('%S+%.lua:%d+: ', '')
    :gsub(" in function '?[^']*'?%.*$", '')
  return text
end

--- `'[` and `']` do not follow the text, and any write sets them to the whole file. They go back to the text of the
--- person's last put. Returns what brings them back.
function M.keep_put_marks(buf)
  local marks = {}
  for _, name in ipairs({ '[', ']' }) do
    local at = api.nvim_buf_get_mark(buf, name)
    local ok, id = pcall(api.nvim_buf_set_extmark, buf, ns, at[1] - 1, at[2], {})
    marks[name] = ok and id or nil
  end
  return function()
    if not api.nvim_buf_is_loaded(buf) then return end
    for name, id in pairs(marks) do
      local at = api.nvim_buf_get_extmark_by_id(buf, ns, id, {})
      api.nvim_buf_del_extmark(buf, ns, id)
      if at[1] then pcall(api.nvim_buf_set_mark, buf, name, at[1] + 1, at[2], {}) end
    end
  end
end

--- Saves a loaded buffer whose file the caller has just found to be what the buffer came from: whatever Neovim believes
--- of it, it must not ask (W12). A file that may not be written stays as it is. Returns why it is not saved, or nil. An
--- error of somebody's autocommand does not keep the file from being written, as it does not for the person.
function M.write(buf)
  local errmsg, confirm, name = vim.v.errmsg, vim.o.confirm, api.nvim_buf_get_name(buf)
  vim.v.errmsg = ''
  -- With 'confirm' an error would be a question.
  if confirm then vim.cmd('noautocmd set noconfirm') end
  local cpoptions = vim.o.cpoptions
  if not cpoptions:find('W', 1, true) then vim.cmd('noautocmd set cpoptions+=W') end
  -- The folder of a new file is made; as an argument of `nvim_cmd`, `++p` would be a name.
  local parents = vim.fn.isdirectory(vim.fn.fnamemodify(name, ':h')) == 0 and ' ++p' or ''
  local write = 'silent! keepalt keepjumps write!' .. parents
  M.saving = true
  local ok, err = pcall(api.nvim_buf_call, buf, function() vim.cmd(write) end)
  M.saving = false
  if not cpoptions:find('W', 1, true) then vim.cmd('noautocmd set cpoptions-=W') end
  if confirm then vim.cmd('noautocmd set confirm') end
  local said = vim.v.errmsg
  vim.v.errmsg = errmsg
  if api.nvim_buf_is_valid(buf) and api.nvim_buf_get_name(buf) ~= name then
    return 'the buffer got another name while it was saved'
  end
  if not api.nvim_buf_is_loaded(buf) then return 'the buffer was closed while it was saved' end
  if not vim.bo[buf].modified then return nil end
  if not ok then return M.plain(err) end
  return said ~= '' and M.plain(said) or 'the buffer is still modified after :write'
end

return M
