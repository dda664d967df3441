-- Diffs of questions where there is no ordinary window to show them in: they open in a tab of their own all the same.
-- Run: nvim --clean --headless --cmd 'set rtp^=.' -c 'luafile tests/lua/ui_nowhere.lua'
local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local ui = dofile(here .. '/support/ui.lua')
local T, equal = {}, ui.equal

-- Sizes of all windows, by window.
local sizes = [[
  local out = {}
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    local buf = vim.api.nvim_win_get_buf(win)
    out[tostring(win)] = { vim.api.nvim_win_get_height(win), vim.api.nvim_win_get_width(win), buf }
  end
  return out
]]

-- With what `before` leaves on the screen, the diff of a question opens, is answered by its digit, and is gone.
local function opens(c, before)
  c.lua([[
    require('bosun').new()
    require('bosun.chat').close()
    ask(7, { 'a.txt' })
    vim.o.equalalways = true
  ]])
  c.lua(before)
  vim.wait(150)
  local was = c.lua(sizes)
  c.lua([[require('bosun.diff').open(7, 0); feed_diff(7, nil, { 'a', 'b' })]])
  equal(c.lua([[return { #vim.api.nvim_list_tabpages(), require('bosun.diff').shows(7), vim.v.errmsg }]]), {
    2,
    true,
    '',
  })
  c.lua([[vim.wait(require('bosun.questions').GUARD_MS + 50)]])
  c.input('1')
  c.eventually([[return #sent_named('answer') == 1]])
  c.eventually([[return #vim.api.nvim_list_tabpages() == 1]])
  c.lua([[withdraw(7)]])
  vim.wait(50)
  local is = c.lua(sizes)
  for win, size in pairs(was) do
    -- The note about the question went with it.
    if is[win] then equal(is[win], size, 'window ' .. win) end
  end
end

local function case(before)
  return ui.with_child(function(c) opens(c, before) end)
end

-- B47
T['a diff of a question opens beside a tree that fixes its buffer'] =
  case([[vim.cmd('enew | setlocal buftype=nofile winfixbuf | vsplit | vertical resize 20')]])
T['a diff of a question opens beside the chat alone'] =
  case([[require('bosun.chat').open(); vim.cmd('only!')]])
T['a diff of a question opens beside a terminal that is typed into'] =
  case([[vim.cmd('terminal cat | startinsert')]])
T['a diff of a question opens from a float'] = case([[
  vim.api.nvim_open_win(0, true, { relative = 'editor', row = 1, col = 1, width = 20, height = 3 })]])
T['a diff of a question opens on a screen of a few lines'] = case([[vim.o.lines, vim.o.columns = 6, 24]])

-- B56
T['buffers of a question are no files: not listed, not swapped, not saved, never two of a name'] = ui.with_child(
  function(c)
    c.lua([[
      vim.o.swapfile = true
      _G.types, _G.writes = 0, 0
      vim.api.nvim_create_autocmd('FileType', { callback = function() types = types + 1 end })
      vim.api.nvim_create_autocmd({ 'BufWritePre', 'BufWriteCmd' }, { callback = function() writes = writes + 1 end })
      require('bosun').new()
      ask(7, { 'a.lua' })
      ask(8, { 'a.lua' })
      _G.seen = types
      require('bosun.diff').open(7, 0)
      feed_diff(7, nil, { 'a', 'b' })
      _G.names, _G.wrong = {}, {}
      local function look()
        for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
          local buf = vim.api.nvim_win_get_buf(win)
          local name = vim.api.nvim_buf_get_name(buf)
          if names[name] and names[name] ~= buf then wrong[#wrong + 1] = 'twice: ' .. name end
          if name ~= '' then names[name] = buf end
          local o = vim.bo[buf]
          local ours = o.buftype == 'nofile' or o.buftype == 'acwrite'
          if not ours or o.buflisted or o.swapfile or o.modified or o.filetype ~= '' then
            wrong[#wrong + 1] = name
          end
        end
      end
      look()
      vim.cmd('wall')
      require('bosun.diff').open(8, 0)
      feed_diff(8, nil, { 'a', 'c' })
      look()
      vim.cmd('wall')
    ]])
    equal(c.lua([[return { wrong, types - seen, writes, vim.v.errmsg }]]), { {}, 0, 0, '' })
    vim.rpcnotify(c.chan, 'nvim_command', 'qa')
    equal(vim.fn.jobwait({ c.chan }, 3000)[1], 0)
  end
)

return ui.main(T)
