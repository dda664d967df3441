-- The highlight groups of Bosun and what they are linked to until a colour scheme or a person says otherwise.
--
-- Owns nothing but this table. Never sets a colour of its own. The names that the sidecar uses come with its welcome;
-- one that is not listed here is linked to `Normal`, so a newer sidecar shows plain text rather than an error.
local M = {}

local links = {
  BosunUser = 'Title',
  BosunHeading = 'Title',
  BosunMeta = 'Comment',
  BosunThought = 'Comment',
  BosunToolPending = 'Comment',
  BosunToolRunning = 'DiagnosticInfo',
  BosunToolDone = 'DiagnosticOk',
  BosunToolFailed = 'DiagnosticError',
  BosunToolCancelled = 'DiagnosticWarn',
  BosunPlanActive = 'DiagnosticInfo',
  BosunPlanDone = 'Comment',
  BosunQuestion = 'DiagnosticWarn',
  BosunOption = 'Special',
  BosunNoticeInfo = 'DiagnosticInfo',
  BosunNoticeWarn = 'DiagnosticWarn',
  BosunNoticeError = 'DiagnosticError',
  BosunCode = 'String',
  BosunCodeFence = 'NonText',
  BosunBold = '@markup.strong',
  BosunLink = 'Underlined',
  BosunQuote = 'Comment',
  BosunBullet = 'Special',
  BosunDiffAdd = 'Added',
  BosunDiffDelete = 'Removed',
  BosunHunkAdded = 'DiffAdd',
  BosunHunkChanged = 'DiffChange',
  BosunHunkRemoved = 'DiffDelete',
  BosunHunkWord = 'DiffText',
  BosunHunkRemovedWord = 'DiffText',
  BosunHunkUnknown = 'CursorLine',
  BosunHunkMore = 'Comment',
  BosunSignAdded = 'Added',
  BosunSignChanged = 'Changed',
  BosunSignRemoved = 'Removed',
  BosunSignUnknown = 'DiagnosticWarn',
  BosunBar = 'WinBar',
  BosunBarState = 'WinBar',
  BosunBarQuestion = 'DiagnosticWarn',
  BosunBarHint = 'Comment',
  BosunNote = 'NormalFloat',
  BosunNoteBorder = 'DiagnosticWarn',
}

-- Groups named by the sidecar and unknown to the table above.
local unknown = {}

local function link(name, target) vim.api.nvim_set_hl(0, name, { default = true, link = target }) end

--- Links every group that nobody has defined; `names` are the groups that the sidecar said it uses.
function M.apply(names)
  for _, name in ipairs(names or {}) do
    if type(name) == 'string' and name:find('^Bosun%w+$') and not links[name] then unknown[name] = true end
  end
  for name, target in pairs(links) do
    link(name, target)
  end
  for name in pairs(unknown) do
    link(name, 'Normal')
  end
end

vim.api.nvim_create_autocmd('ColorScheme', {
  group = vim.api.nvim_create_augroup('bosun.highlight', {}),
  callback = function() M.apply() end,
})

return M
