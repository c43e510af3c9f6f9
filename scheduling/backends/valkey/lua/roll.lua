-- Purpose: who waits in a scope (a provider, or the relay): what the door needs to choose who should rather go.
-- Twin:    scheduling/core/state.py (Roll), scheduling/core/door.py (_rather)
-- KEYS:    <prefix>young SEP <class> SEP <scope>   sorted set: ticket id SEP flow, by number
--          <prefix>flows SEP <class> SEP <scope>   sorted set: flows, by how many of their tickets wait
-- scope:   a provider's key, or '' for the relay
local PAGE = 64

local function name(kind, klass, scope)
  return kind .. SEP .. klass .. SEP .. scope
end

local function count(scope, ask, change)
  local flows = name('flows', ask.klass, scope)
  local waiting = order.score(flows, ask.flow)
  local left = (waiting or 0) + change
  if left > 0 then
    order.put(flows, left, ask.flow, not waiting)
  else
    order.drop(flows, ask.flow)
  end
end

function roll.add(ticket)
  local ask = ticket.ask
  for _, scope in ipairs({ '', ask.provider }) do
    order.put(name('young', ask.klass, scope), ticket.number, ticket.id .. SEP .. ask.flow, true)
    count(scope, ask, 1)
  end
end

function roll.remove(ticket)
  local ask = ticket.ask
  for _, scope in ipairs({ '', ask.provider }) do
    order.drop(name('young', ask.klass, scope), ticket.id .. SEP .. ask.flow)
    count(scope, ask, -1)
  end
end

local function split(member)
  local at = member:find(SEP, 1, true)
  return member:sub(1, at - 1), member:sub(at + 1)
end

local function youngest(klass, scope)
  local row = order.page(name('young', klass, scope), 0, 1, true)
  return row[1] and (split(row[1]))
end

-- The youngest of the flow that has most waiting, if that is at least two more than the newcomer's.
local function of_the_greediest(ask, scope)
  local flows, young = name('flows', ask.klass, scope), name('young', ask.klass, scope)
  local most = tonumber(order.page(flows, 0, 1, true)[2])
  local own = order.score(flows, ask.flow) - 1 -- without the newcomer itself
  if most < own + 2 then
    return nil
  end
  for start = 0, math.huge, PAGE do
    local rows = order.page(young, start, PAGE, true)
    for index = 1, #rows, 2 do
      local ticket_id, flow = split(rows[index])
      if order.score(flows, flow) == most then
        return ticket_id
      end
    end
  end
end

-- Id of someone waiting who should rather go than the newcomer; nil: nobody.
function roll.rather(ask, scope)
  for klass = 2, 1, -1 do
    local ticket_id = klass > ask.klass and youngest(klass, scope)
    if ticket_id then
      return ticket_id
    end
  end
  if config.model(ask.model).fair then
    return of_the_greediest(ask, scope)
  end
end
