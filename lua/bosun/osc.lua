-- Takes the orders to the owner of a terminal out of what a program writes to it: OSC sequences.
--
-- Owns one bit of memory for each stream. The editor obeys OSC 52 in any terminal buffer (it sets the clipboard, or
-- raises E319 where there is none), and no autocommand or option prevents that. All OSC go but links (OSC 8), because
-- nothing else in them belongs on a screen. The sidecar filters too; this one stands where the editor would obey.
-- Called by `bosun.terminal`.
local M = {}

-- What may stand between ESC and the rest of its sequence without ending it.
local NEXT = '[^%z\1-\23\25\28-\31\127]'

--- A filter for one stream: takes bytes as they come, cut anywhere, and returns those that may pass.
function M.filter()
  local held, inside = '', false
  return function(bytes)
    bytes, held = held .. bytes, ''
    local out, at = {}, 1
    while at <= #bytes do
      if inside then
        local stop = bytes:find('[\7\24\26\27]', at)
        if not stop then break end
        inside = false
        -- An ESC begins the end (ESC \), which does nothing by itself, or something else.
        at = bytes:byte(stop) == 27 and stop or stop + 1
      else
        local esc = bytes:find('\27', at, true)
        if not esc then
          out[#out + 1] = bytes:sub(at)
          break
        end
        local follows = bytes:find(NEXT, esc + 1)
        local rest = follows and bytes:sub(follows, follows + 2) or ''
        if rest:sub(1, 1) == ']' or rest == '' then
          -- Controls between are obeyed before the sequence is, so they may go first.
          out[#out + 1] = bytes:sub(at, esc - 1)
          out[#out + 1] = bytes:sub(esc + 1, (follows or #bytes + 1) - 1)
          if rest == ']8;' then
            out[#out + 1] = '\27]8;'
            at = follows + 3
          elseif vim.startswith(']8;', rest) then
            held = '\27' .. rest
            break
          else
            inside, at = true, follows + 1
          end
        else
          -- An ESC after an ESC begins anew; the first would take the letter behind an OSC that is left out.
          local again = bytes:byte(follows) == 27
          out[#out + 1] = bytes:sub(at, again and esc - 1 or follows - 1)
          if again then out[#out + 1] = bytes:sub(esc + 1, follows - 1) end
          at = follows
        end
      end
    end
    return table.concat(out)
  end
end

return M
