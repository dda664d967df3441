-- Hunks as the sidecar would tell of them, for the specs of the review.
local M = {}

--- Opens a file of twelve lines, `l1` to `l12`, of which an agent changed line 3, added 6 and 7, and took lines out
--- above line 10. Returns its buffer and its path.
function M.open(e)
  local lines = {}
  for i = 1, 12 do
    lines[i] = 'l' .. i
  end
  local path = e:file('a.txt', table.concat(lines, '\n') .. '\n')
  local buf = e:open(path)
  M.tell(e, buf, M.hunks())
  return buf, path
end

--- One hunk, with what is not said left at its usual value.
function M.hunk(id, first, last, removed, more)
  return vim.tbl_extend('force', {
    id = id,
    session = 's1',
    turn = 1,
    author = 'agent',
    first = first,
    last = last,
    removed = removed,
    live_words = {},
    removed_words = {},
  }, more or {})
end

--- The three hunks of `open`.
function M.hunks()
  return {
    M.hunk(1, 2, 3, { 'old 3' }, { live_words = { { 2, 0, 1 } }, removed_words = { { 0, 0, 3 } } }),
    M.hunk(2, 5, 7, {}, { turn = 2 }),
    M.hunk(3, 9, 9, { 'gone a', 'gone b' }),
  }
end

--- Tells of the hunks of a buffer, at its present tick unless another is given.
function M.tell(e, buf, hunks, tick)
  e:lua(
    [[
    local buf, hunks, tick = ...
    require('bosun.inbox').recv('review', {
      path = vim.api.nvim_buf_get_name(buf),
      buf = buf,
      tick = tick or vim.api.nvim_buf_get_changedtick(buf),
      created = false,
      gone = #hunks == 0,
      hunks = hunks,
    })
    require('bosun.inbox').recv('review_counts', {
      sessions = { { session = 's1', files = 1, hunks = #hunks } },
      files = #hunks > 0 and 1 or 0,
      hunks = #hunks,
    })
  ]],
    buf,
    hunks,
    tick
  )
end

--- What is drawn in a buffer, line by line: { row, kind = text or group }, sorted.
function M.drawn(e, buf)
  return e:lua(
    [[
    local out = {}
    local ns = vim.api.nvim_get_namespaces()['bosun.review']
    for _, m in ipairs(vim.api.nvim_buf_get_extmarks(..., ns, 0, -1, { details = true })) do
      local d = m[4]
      if d.sign_text then
        out[#out + 1] = ('%d-%d sign %s %s %s'):format(
          m[2], d.end_row, vim.trim(d.sign_text), d.sign_hl_group, d.line_hl_group or '-')
      end
      if d.hl_group then out[#out + 1] = ('%d word %d-%d'):format(m[2], m[3], d.end_col) end
      for _, line in ipairs(d.virt_lines or {}) do
        local text = {}
        for _, chunk in ipairs(line) do text[#text + 1] = chunk[1] end
        out[#out + 1] = ('%d %s %s'):format(m[2], d.virt_lines_above and 'above' or 'below', table.concat(text, '|'))
      end
      if d.virt_text then out[#out + 1] = ('%d note %s'):format(m[2], d.virt_text[1][1]) end
    end
    table.sort(out)
    return out
  ]],
    buf
  )
end

return M
