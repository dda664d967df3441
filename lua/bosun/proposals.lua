-- What a person makes of the proposals of a question before they allow it.
--
-- Owns those texts, by question and file, until the question is settled. Never decides and never writes a file: the
-- sidecar lets the agent's change land with what is different here. Called by `bosun.diff`.
local M = {}

local function questions() return require('bosun.questions') end

-- By question: by index of the file (zero-based): { from, to, accepted }, texts as { lines, eol }. `to` is nil where
-- the person changed nothing.
local made = {}

local function of(question, index)
  made[question] = made[question] or {}
  made[question][index] = made[question][index] or {}
  return made[question][index]
end

--- Remembers what has become of a file's proposal: `from` as it came, `to` as it is; nil when both are the same.
function M.keep(question, index, from, to)
  local file = of(question, index)
  file.from, file.to = from, to
end

--- What was made of it so far, as { lines, eol }, or nil.
function M.get(question, index) return made[question] and made[question][index] and made[question][index].to end

--- The person accepts this file as it is shown. Gives the index of the next one that they have not, or nil.
function M.accept(question, index, count)
  of(question, index).accepted = true
  for step = 1, count - 1 do
    local other = (index + step) % count
    if not of(question, other).accepted then return other end
  end
end

--- Whether any file of the question was edited.
function M.edited(question)
  for _, file in pairs(made[question] or {}) do
    if file.to then return true end
  end
  return false
end

--- Allows the question once, with what was made of its files. False, and why not.
function M.allow(question)
  local q = questions().get(question)
  if not q then return false, 'this is no longer asked: nothing was written' end
  local once
  for number, option in ipairs(questions().options(q)) do
    if option.kind == 'allow_once' then once = once or number end
  end
  if not once then return false, 'no option allows this once: choose one, or reject' end
  local files = {}
  for index, file in pairs(made[question] or {}) do
    if file.to then
      files[#files + 1] = {
        index = index,
        from = file.from.lines,
        from_eol = file.from.eol,
        to = file.to.lines,
        to_eol = file.to.eol,
      }
    end
  end
  local told = #files == 0 and questions().answer(question, once)
    or #files > 0 and questions().answer_edited(question, files)
  if not told then return false, 'the answer could not be given; your text is kept' end
  return true
end

--- The list has changed: what nobody asks about any more is forgotten.
function M.on_questions()
  local alive = {}
  for _, q in ipairs(require('bosun.state').questions or {}) do
    alive[q.id] = true
  end
  for question in pairs(made) do
    if not alive[question] then made[question] = nil end
  end
end

return M
