-- Purpose: items in ascending order. A sorted set: the score decides, then the member; a second number that decides
--          stands padded at the front of the member. Changes wait until the verb's end (most of what a ticket that
--          starts at once puts in, it takes out again); reading sees through them.
-- Twin:    scheduling/core/order.py
-- KEYS:    <prefix><name>   sorted set
local pending, names = {}, {}
local firsts, count = {}, 0 -- known firsts, by name: they hold between calls as long as records do (store.lua)
local KNOWN_AT_MOST = 5000

function order.begin()
  pending, names = {}, {}
  if count > KNOWN_AT_MOST then
    order.forget()
  end
end

function order.forget()
  firsts, count = {}, 0
end

local function changes_of(name)
  local changes = pending[name]
  if not changes then
    changes = { at = {}, list = {} }
    pending[name] = changes
    names[#names + 1] = name
  end
  firsts[name] = nil
  return changes
end

local function note(name, member, score, fresh)
  local changes = changes_of(name)
  local change = changes.at[member]
  if not change then
    change = { member = member, is_stored = not fresh }
    changes.at[member] = change
    changes.list[#changes.list + 1] = change
  end
  change.score = score
end

-- `fresh`: as far as the records tell, the member is not there yet.
function order.put(name, score, member, fresh)
  note(name, member, score, fresh)
end

function order.drop(name, member)
  note(name, member, nil)
end

function order.score(name, member)
  local changes = pending[name]
  local change = changes and changes.at[member]
  if change then
    return change.score
  end
  local score = redis.call('ZSCORE', store.key(name), member)
  return score and tonumber(score) or nil
end

local function first_stored(name, changes)
  local index = 0
  while true do
    local row = redis.call('ZRANGE', store.key(name), index, index, 'WITHSCORES')
    if not row[1] then
      return nil
    end
    if not (changes and changes.at[row[1]]) then
      return row[1], tonumber(row[2])
    end
    index = index + 1
  end
end

-- Member and score of the first; nil if there is none.
function order.first(name)
  local known = firsts[name]
  if not known then
    local changes = pending[name]
    local member, score = first_stored(name, changes)
    for _, change in ipairs(changes and changes.list or {}) do
      local mine = change.score
      if mine and (not score or mine < score or (mine == score and change.member < member)) then
        member, score = change.member, mine
      end
    end
    known = { member, score }
    firsts[name], count = known, count + 1
  end
  return known[1], known[2]
end

-- Everything goes: nobody reads the order again before it is filled anew.
function order.clear(name)
  redis.call('DEL', store.key(name))
  pending[name], firsts[name] = nil, nil
end

local function write(name, changes)
  local added, removed = {}, {}
  for _, change in ipairs(changes.list) do
    if change.score then
      added[#added + 1], added[#added + 2] = change.score, change.member
    elseif change.is_stored then
      removed[#removed + 1] = change.member
    end
  end
  for start = 1, #added, 1000 do
    redis.call('ZADD', store.key(name), unpack(added, start, math.min(start + 999, #added)))
  end
  for start = 1, #removed, 1000 do
    redis.call('ZREM', store.key(name), unpack(removed, start, math.min(start + 999, #removed)))
  end
end

-- Write what waits: at the verb's end, or before a question that only the sorted set can answer.
function order.flush()
  for _, name in ipairs(names) do
    local changes = pending[name]
    pending[name] = nil
    if changes then
      write(name, changes)
    end
  end
  names = {}
end

-- Members and scores in turn, from the first on (`reverse`: from the last): `count` of them from `start` on, or all.
function order.page(name, start, count, reverse)
  order.flush()
  local range = reverse and 'ZREVRANGE' or 'ZRANGE'
  return redis.call(range, store.key(name), start, count and start + count - 1 or -1, 'WITHSCORES')
end
