-- Runs the Lua specs: `nvim --clean --headless -l tests/lua/run.lua [FILTER]`. Ends with 1 if any fails.
--
-- Each test has a Neovim of its own, with a main loop, into which keys can be typed; this one only asks and
-- compares.
local here = vim.fs.dirname(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p'))
local root = vim.fs.dirname(vim.fs.dirname(here))
package.path = here .. '/?.lua;' .. package.path

local filter = _G.arg and _G.arg[1] or ''
local editor = require('editor')
local failed, passed = {}, 0

for _, path in ipairs(vim.fn.sort(vim.fn.glob(here .. '/*_spec.lua', false, true))) do
  local spec = vim.fs.basename(path):gsub('_spec%.lua$', '')
  for _, test in ipairs(dofile(path)) do
    local name = ('%s: %s'):format(spec, test[1])
    if name:find(filter, 1, true) then
      local e = editor.start(root)
      local ok, err = xpcall(test[2], debug.traceback, e)
      if ok then
        passed = passed + 1
      else
        failed[#failed + 1] = name
        io.stderr:write(('FAILED  %s\n%s\n'):format(name, err))
        io.stderr:write(('  messages: %s\n'):format(e:messages()))
      end
      e:stop()
    end
  end
end

io.stdout:write(('lua: %d passed, %d failed\n'):format(passed, #failed))
if #failed > 0 or passed == 0 then os.exit(1) end
os.exit(0)
