-- What Neovim does not remember of a file: when it was last like the buffer, and whether it ends in a newline.
--
-- Owns a stamp of the disk and the true end of line per loaded buffer, taken at each read and write. It never changes
-- a buffer's text; right before Neovim's own `:write` it may set the file's time to the one that Neovim expects.
-- 'endofline' is no oracle: it stays off after a save that added the newline. Asked by `edit` before it touches
-- anything, so that `:write` can never ask its own question, and by `buffers`.
local M = {}

local uv = vim.uv

-- By buffer: { sec, nsec, size } or { missing = true }; nil for a buffer that was read before this file was loaded.
local stamps = {}
-- By buffer: the stamp that Neovim itself goes by, where that is another: see `follow`.
local believed = {}
-- Buffers whose file changed without Neovim having read it, and Neovim knows.
local noticed = {}
-- By buffer: whether the file ends in a newline, or would if there were one; nil as above.
local eols = {}

local function api_valid(buf) return vim.api.nvim_buf_is_valid(buf) end

local function now(buf)
  local stat = uv.fs_stat(vim.api.nvim_buf_get_name(buf))
  if not stat then return { missing = true } end
  return { sec = stat.mtime.sec, nsec = stat.mtime.nsec, size = stat.size }
end

local function same(a, b)
  return a.missing == b.missing and a.sec == b.sec and a.nsec == b.nsec and a.size == b.size
end

local function bytes_of(path)
  local file = io.open(path, 'rb')
  if not file then return nil end
  local bytes = file:read('*a')
  file:close()
  return bytes
end

-- The bytes that an unmodified buffer was read from, where that can be told.
local function bytes_in(buf)
  local o = vim.bo[buf]
  if o.fileencoding ~= '' and o.fileencoding ~= 'utf-8' or o.fileformat == 'mac' then return nil end
  local newline = o.fileformat == 'dos' and '\r\n' or '\n'
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), newline)
  return (o.bomb and '\239\187\191' or '') .. text, newline
end

-- Whether the file on disk holds what the (unmodified) buffer holds; nil where that cannot be told.
local function same_text(buf)
  local disk = bytes_of(vim.api.nvim_buf_get_name(buf))
  local text, newline = bytes_in(buf)
  if not disk or not text then return nil end
  return disk == text or disk == text .. newline
end

-- Whether the file ends in a newline; nil where there is none. A file of no bytes lacks no newline.
local function ends_in_newline(buf)
  local bytes = bytes_of(vim.api.nvim_buf_get_name(buf))
  return bytes and (bytes == '' or bytes:sub(-1) == (vim.bo[buf].fileformat == 'mac' and '\r' or '\n'))
end

-- A swap file remembers the time of the file it stands for; nil where there is none.
local function swap_differs(buf, stamp)
  local name = vim.fn.swapname(buf)
  local info = name ~= '' and vim.fn.swapinfo(name) or {}
  if not info.mtime or info.mtime == 0 then return nil end
  return info.mtime ~= stamp.sec
end

-- What Neovim itself knows: `:checktime` tells its autocommand of a file that changed, and is told to do nothing.
local function neovim_says_changed(buf)
  local changed = false
  local id = vim.api.nvim_create_autocmd('FileChangedShell', {
    buffer = buf,
    callback = function()
      changed = true
      vim.v.fcs_choice = ''
    end,
  })
  -- With it Neovim would not ask the autocommand but load the file.
  local autoread = vim.bo[buf].autoread
  vim.bo[buf].autoread = false
  pcall(vim.cmd, 'silent! checktime ' .. buf)
  if api_valid(buf) then vim.bo[buf].autoread = autoread end
  pcall(vim.api.nvim_del_autocmd, id)
  return changed
end

--- Whether the file is still what the buffer was read from or written to: `same`, `touched` (another time, the same
--- text), `changed`, `created` or `gone`.
function M.check(buf)
  local was, is = stamps[buf], now(buf)
  if was and same(was, is) then return 'same' end
  if was and was.missing then return 'created' end
  if is.missing then return was and 'gone' or 'same' end
  if not vim.bo[buf].modified then
    local equal = same_text(buf)
    if equal == nil and not was then return 'same' end
    return equal and 'touched' or 'changed'
  end
  if was then return 'changed' end
  local differs = swap_differs(buf, is)
  if differs == nil then differs = neovim_says_changed(buf) end
  return differs and 'changed' or 'same'
end

--- The stamp of the file that the buffer is like, as far as that is known: { sec, nsec, size }.
function M.get(buf)
  local stamp = stamps[buf]
  if stamp and not stamp.missing then return stamp end
end

--- Whether the file has this stamp now.
function M.is(buf, stamp)
  local is = now(buf)
  return not is.missing and same(is, stamp)
end

--- Neovim noticed that the file changed, and has not read it.
function M.noticed(buf) noticed[buf] = true end

--- What the file of that stamp holds is in the buffer now. Neovim was not there when it was read, so it would ask at
--- the next `:write` whether to overwrite a file that changed since (W12), and at the next look (`:checktime`).
function M.follow(buf, stamp)
  -- A look with an autocommand that takes care of it: from then on Neovim knows the time.
  if neovim_says_changed(buf) then noticed[buf] = true end
  if not noticed[buf] then
    -- It wrote the file itself, without an autocommand that would have told us.
    believed[buf] = nil
  elseif stamps[buf] and not stamps[buf].missing and not believed[buf] then
    believed[buf] = stamps[buf]
  end
  stamps[buf] = stamp
end

--- An unmodified buffer whose file holds just its text was read from that or written to it, also where no autocommand
--- told of it (`:noautocmd write`), or somebody wrote the same once more.
function M.recognise(buf)
  if vim.bo[buf].modified then return end
  local is = now(buf)
  if is.missing or stamps[buf] and same(stamps[buf], is) or not same_text(buf) then return end
  M.follow(buf, is)
  eols[buf] = ends_in_newline(buf)
end

-- Sets the time of a file to the nanosecond, which libuv cannot. Where that does not work, Neovim asks.
local function set_mtime(path, stamp)
  local ok, ffi = pcall(require, 'ffi')
  if not ok then return end
  pcall(
    ffi.cdef,
    [[ typedef struct { long sec; long nsec; } bosun_timespec;
       int utimensat(int dir, const char *path, const bosun_timespec times[2], int flags); ]]
  )
  local here = jit.os == 'Linux' and -100 or -2
  local omit = jit.os == 'Linux' and 1073741822 or -2
  local made, times = pcall(ffi.new, 'bosun_timespec[2]', { { 0, omit }, { stamp.sec, stamp.nsec } })
  if made then pcall(ffi.C.utimensat, here, path, times, 0) end
end

-- Called right before Neovim writes the file: if it still has the stamp that we followed, nothing is overwritten that
--- the buffer does not know, and Neovim is spared its question by giving the file the time that it expects. The write
--- sets a new one in the next moment.
local function spare_question(buf)
  if not believed[buf] or not stamps[buf] or not M.is(buf, stamps[buf]) then return end
  local path = uv.fs_realpath(vim.api.nvim_buf_get_name(buf))
  if path then set_mtime(path, believed[buf]) end
end

--- Whether the text ends in a newline. 'endofline' says so; where it is off and 'fixendofline' would add one at the
--- next save, the file tells: it is not to change by that alone.
function M.eol(buf)
  local o = vim.bo[buf]
  if o.endofline then return true end
  if o.binary or not o.fixendofline then return false end
  if eols[buf] == nil and not o.modified then eols[buf] = ends_in_newline(buf) end
  return eols[buf] or false
end

--- Whether the text that was put into the buffer ends in a newline.
function M.ends(buf, eol) eols[buf] = eol end

-- The size of the file that Neovim just wrote, where that can be told.
local function written_size(buf)
  local o = vim.bo[buf]
  if o.fileencoding ~= '' and o.fileencoding ~= 'utf-8' then return nil end
  local lines = vim.api.nvim_buf_line_count(buf)
  -- The offset of the end leaves a newline out that is not written, and counts one byte for each that is.
  local ends = o.endofline or (o.fixendofline and not o.binary)
  local breaks = o.fileformat == 'dos' and (ends and lines or lines - 1) or 0
  return vim.api.nvim_buf_get_offset(buf, lines) + (o.bomb and 3 or 0) + breaks
end

-- A read or write by which buffer and disk are the same. A file of no bytes lacks no newline.
local function take(buf, eol)
  stamps[buf], believed[buf], noticed[buf] = now(buf), nil, nil
  eols[buf] = eol or stamps[buf].size == 0
end

--- Begins to take stamps. Called once, by the plugin file, or by the first session where a plugin manager was late.
function M.watch()
  if M.watching then return end
  M.watching = true
  local group = vim.api.nvim_create_augroup('bosun.stamps', {})
  local function on(events, callback)
    vim.api.nvim_create_autocmd(events, { group = group, callback = callback })
  end
  on('BufReadPost', function(args) take(args.buf, vim.bo[args.buf].endofline) end)
  -- 'endofline' may still say what held for a file that is gone.
  on('BufNewFile', function(args) take(args.buf, true) end)
  on('BufWritePost', function(args)
    -- `:write other` leaves the buffer's own file as it was.
    if args.match ~= vim.api.nvim_buf_get_name(args.buf) then return end
    local o = vim.bo[args.buf]
    take(args.buf, o.endofline or (o.fixendofline and not o.binary))
    -- Somebody may have written it once more in the moment since: then this is not the stamp of what we wrote.
    local size = written_size(args.buf)
    local stamp = stamps[args.buf]
    if size and stamp.size and stamp.size > 0 and stamp.size ~= size then
      stamps[args.buf] = { sec = 0, nsec = 0, size = math.max(size, 0) }
    end
  end)
  on('BufWritePre', function(args)
    if args.match == vim.api.nvim_buf_get_name(args.buf) then spare_question(args.buf) end
  end)
  -- Under its new name the buffer was never read: a file that is there already is not its own. `:saveas` writes next.
  on('BufFilePost', function(args) stamps[args.buf] = { missing = true } end)
  on({ 'BufUnload', 'BufWipeout' }, function(args)
    stamps[args.buf], eols[args.buf], believed[args.buf], noticed[args.buf] = nil, nil, nil, nil
  end)
end

return M
