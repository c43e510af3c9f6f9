-- Purpose: items in ascending order. A sorted set: the score decides, then the member; a second number that decides
--          stands padded at the front of the member. Changes wait until the verb's end (most of what a ticket that
--          starts at once puts in, it takes out again); reading sees through them.
-- Twin:    scheduling/core/order.py
-- KEYS:    <prefix><name>   sorted set
-- Changes that wait lie in arrays that are used again and again: what a verb allocates is most of what it costs.
local waiting, names, members, scores, stored = 0, {}, {}, {}, {} -- score false: taken out
local WAITING_AT_MOST = 64
-- The first of an order, where that is known; it holds between calls as long as records do (store.lua). false: empty.
local first_member, first_score, known = {}, {}, 0
local KNOWN_AT_MOST = 5000

function order.begin()
  waiting = 0
  if known > KNOWN_AT_MOST then
    order.forget()
  end
end

function order.forget()
  first_member, first_score, known = {}, {}, 0
end

local function find(name, member)
  for index = waiting, 1, -1 do
    if members[index] == member and names[index] == name then
      return index
    end
  end
end

local function note(name, member, score, fresh)
  first_member[name] = nil
  local index = find(name, member)
  if not index then
    if waiting == WAITING_AT_MOST then
      order.flush()
    end
    waiting = waiting + 1
    index = waiting
    names[index], members[index], stored[index] = name, member, not fresh
  end
  scores[index] = score
end

-- `fresh`: as far as the records tell, the member is not there yet.
function order.put(name, score, member, fresh)
  note(name, member, score, fresh)
end

function order.drop(name, member)
  note(name, member, false, false)
end

function order.score(name, member)
  local index = find(name, member)
  if index then
    return scores[index] or nil
  end
  local score = redis.call('ZSCORE', store.key(name), member)
  return score and tonumber(score) or nil
end

-- The first that is stored and has not changed.
local function first_stored(name)
  local index = 0
  while true do
    local row = redis.call('ZRANGE', store.key(name), index, index, 'WITHSCORES')
    if not row[1] or not find(name, row[1]) then
      return row[1], tonumber(row[2])
    end
    index = index + 1
  end
end

-- Member and score of the first; nil if there is none.
function order.first(name)
  local member = first_member[name]
  if member == nil then
    local score
    member, score = first_stored(name)
    for index = 1, waiting do
      local mine = names[index] == name and scores[index]
      if mine and (not member or mine < score or (mine == score and members[index] < member)) then
        member, score = members[index], mine
      end
    end
    first_member[name], first_score[name], known = member or false, score, known + 1
  end
  return member or nil, first_score[name]
end

-- Everything goes.
function order.clear(name)
  order.flush()
  redis.call('DEL', store.key(name))
  first_member[name] = nil
end

-- Write what waits: at the verb's end, or before a question that only the sorted set can answer.
function order.flush()
  for index = 1, waiting do
    if scores[index] then
      redis.call('ZADD', store.key(names[index]), scores[index], members[index])
    elseif stored[index] then
      redis.call('ZREM', store.key(names[index]), members[index])
    end
  end
  waiting = 0
end

-- Members and scores in turn, from the first on (`reverse`: from the last): `count` of them from `start` on, or all.
function order.page(name, start, count, reverse)
  order.flush()
  local range = reverse and 'ZREVRANGE' or 'ZRANGE'
  return redis.call(range, store.key(name), start, count and start + count - 1 or -1, 'WITHSCORES')
end
