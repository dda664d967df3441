-- How bytes come into a terminal buffer: in slices, once the editor has drawn it, and afresh where that is asked.
--
-- Owns the channel of each such terminal and what waits for it. Never closes a channel: a closed terminal wipes its
-- buffer at the next key. Never lets answers to old queries out. Called by `bosun.terminal`.
local M = {}

local api, fn = vim.api, vim.fn

-- Bytes that are fed at once; the editor takes about a millisecond for each thousand.
local SLICE = 4096
-- Milliseconds after which the editor has surely drawn a terminal into its buffer (it does so 10 ms after a change). A
-- screen that changes its size and scrolls before that leaves lines in the wrong order.
local SETTLE = 20
-- Lines above the screen that are kept.
local SCROLLBACK = 10000
-- Ends what a program may have left on: an unfinished sequence, the other screen, the mouse, brackets around what is
-- pasted, and then, by a reset, colours, margins and the rest.
local AFRESH = '\24\27[?1049l\27[?1000l\27[?1002l\27[?1003l\27[?2004l\27[?25h\27c'

--- Makes a buffer a terminal. `on.input(data)`: keys for the program, and the terminal's answers to its queries;
--- `on.before()`: called before each slice, may `settle`. Returns the feed:
---   buf, chan, on
---   filter     see `bosun.osc`
---   queue      what waits: { reset, bytes, done, at, emptied }
---   feeding    a slice was fed in this turn of the editor
---   settling   how many changes of its size are not drawn yet
---   replay     what is fed now was written before: its queries were asked long ago
function M.open(buf, on)
  local feed = { buf = buf, on = on, filter = require('bosun.osc').filter(), queue = {}, settling = 0 }
  feed.chan = api.nvim_open_term(buf, {
    force_crlf = false,
    on_input = function(_, _, _, data)
      if not feed.replay then on.input(data) end
    end,
  })
  vim.bo[buf].scrollback = SCROLLBACK
  M.settle(feed)
  return feed
end

--- Whether bytes are on their way: what comes as input now need not come from a key.
function M.is_busy(feed) return feed.feeding == true end

-- Empties screen and scrollback. No sequence clears the scrollback of a terminal buffer: a smaller 'scrollback' drops
-- all of it but one line, and a screen that grows by a line takes that one back. A float makes it grow; it is gone
-- again before anything is drawn.
local function empty(feed)
  local buf = feed.buf
  local wins, rows = fn.win_findbuf(buf), 1
  local count, readers = api.nvim_buf_line_count(buf), {}
  for _, win in ipairs(wins) do
    rows = math.max(rows, api.nvim_win_get_height(win))
    if api.nvim_win_get_cursor(win)[1] < count then readers[#readers + 1] = win end
  end
  api.nvim_chan_send(feed.chan, AFRESH)
  vim.bo[buf].scrollback = 1
  local grown, win = pcall(api.nvim_open_win, buf, false, {
    relative = 'editor',
    row = 0,
    col = 0,
    width = 1,
    height = rows + 1,
    style = 'minimal',
    focusable = false,
  })
  api.nvim_chan_send(feed.chan, '\27[H\27[2J')
  if grown then
    api.nvim_win_set_height(win, 1)
    api.nvim_win_close(win, true)
  end
  vim.bo[buf].scrollback = SCROLLBACK
  feed.filter = require('bosun.osc').filter()
  -- The cursor of a window that did not follow must not come to follow by this.
  for _, reader in ipairs(readers) do
    pcall(api.nvim_win_set_cursor, reader, { 1, 0 })
  end
end

local function empty_quietly(feed)
  local ignored = vim.o.eventignore
  vim.o.eventignore = 'all'
  local ok, err = pcall(empty, feed)
  vim.o.eventignore = ignored
  if not ok then error(err, 0) end
end

-- One slice; true when that was the last of its item.
local function slice(feed, item)
  if item.reset and not item.emptied then
    item.emptied = true
    empty_quietly(feed)
    M.settle(feed)
    return false
  end
  feed.replay = item.reset
  local part = feed.filter(item.bytes:sub(item.at, item.at + SLICE - 1))
  item.at = item.at + SLICE
  if part ~= '' then api.nvim_chan_send(feed.chan, part) end
  return item.at > #item.bytes
end

local go_on

-- Between two slices the editor looks for keys.
local function step(feed)
  local item = feed.queue[1]
  local ok, done = true, true
  -- What no window shows is left out: all of it comes again with the next that does.
  if api.nvim_buf_is_loaded(feed.buf) and #fn.win_findbuf(feed.buf) > 0 then
    ok, done = pcall(slice, feed, item)
  end
  feed.replay = false
  if not ok then require('bosun.inbox').fail('terminal_feed', done) end
  if done then
    table.remove(feed.queue, 1)
    item.done()
  end
  vim.schedule(function()
    feed.feeding = false
    go_on(feed)
  end)
end

go_on = function(feed)
  if feed.feeding or #feed.queue == 0 then return end
  feed.on.before()
  if feed.settling > 0 then return end
  feed.feeding = true
  step(feed)
end

--- The size of the terminal may have changed: nothing is fed until that is drawn.
function M.settle(feed)
  feed.settling = feed.settling + 1
  vim.defer_fn(function()
    feed.settling = feed.settling - 1
    go_on(feed)
  end, SETTLE)
end

--- Feeds `item.bytes` after all that waits, with `item.reset` in place of all that was there; `item.done()` is called
--- once, also when no window shows the buffer or it is gone.
function M.push(feed, item)
  item.at = 1
  table.insert(feed.queue, item)
  go_on(feed)
end

return M
