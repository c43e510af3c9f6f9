-- Purpose: what happens because time has passed: deadlines, leases that were not renewed, blocked heads that are due.
-- Twin:    scheduling/core/expiry.py
-- lost:    { lost = ticket id, box, arrival }
local NOTHING_KNOWN = {}

-- Nobody renewed it: an offer that was not acknowledged was never sent; a lease was, and its charges stay.
local function reap(lease, now)
  endings.settle(lease, lease.offered and 'unsent' or 'failed', NOTHING_KNOWN, now)
  endings.release(lease, false, now)
  return { lost = lease.id, box = lease.ask.box, arrival = lease.arrival }
end

local function cool(member, now)
  order.drop('warming', member)
  local line = lines.line(member:sub(33))
  if line and line.warm == member then
    line.warm = nil
    if line.parked and not line.on then
      endings.unpark_line(line, now)
    end
  end
end

-- Call `act` with the first of an order for as long as that is due.
local function each_due(name, now, act)
  local member, at_us = order.first(name)
  while member and at_us <= now.us do
    act(member)
    member, at_us = order.first(name)
  end
end

-- Reap what was not renewed, wake what is due. Comes before the starts of a verb.
function expiry.expire(events, now)
  recovery.open(now)
  each_due('expiries', now, function(member)
    table.insert(events, reap(store.get('lease', member:sub(17)), now))
  end)
  each_due('dues', now, function(member)
    readiness.wake(tonumber(member), now)
  end)
  each_due('warming', now, function(member)
    cool(member, now)
  end)
  endings.drop_rested(now)
end

-- Whoever has waited to its deadline goes. After the starts: at its very deadline a ticket may still start.
function expiry.time_out(events, now)
  each_due('deadlines', now, function(member)
    local ticket = store.get('ticket', member:sub(17))
    local told = times.tell_capacity(ticket, false, ticket.deadline_us - ticket.arrived_us, now)
    endings.leave_line(ticket, now)
    table.insert(events, door.left(ticket.ask, 'provider_queue_timeout', told))
  end)
end

-- When the next thing is due; nil: nothing is due by time.
function expiry.next_due_us()
  local soonest_us = run.root.gate_us
  for _, name in ipairs({ 'deadlines', 'expiries', 'dues', 'warming' }) do
    local _, at_us = order.first(name)
    if at_us and not (soonest_us and soonest_us <= at_us) then
      soonest_us = at_us
    end
  end
  return soonest_us
end

function expiry.acknowledge(ticket_ids, now)
  for _, id in ipairs(ticket_ids) do
    local lease = store.get('lease', id)
    if lease and lease.offered then
      lease.offered = false
      leases.extend(lease, run.root.lease_us, now)
    end
  end
end

-- Longer for those named; of this holder's others, those that are no longer offers are released.
function expiry.renew(holder, ticket_ids, now)
  local named, rows = {}, order.page('holds' .. SEP .. holder, 0)
  for _, id in ipairs(ticket_ids) do
    named[id] = true
  end
  for index = 1, #rows, 2 do
    local lease = store.get('lease', rows[index])
    if named[lease.id] then
      lease.offered = false
      leases.extend(lease, run.root.lease_us, now)
    elseif not lease.offered then
      endings.settle(lease, 'failed', NOTHING_KNOWN, now)
      endings.release(lease, false, now)
    end
  end
end

local function left_by_configuration(ticket)
  local known = config.model(ticket.ask.model)
  local provider = config.provider(known.provider)
  if not (provider.configured and known.configured and provider.lanes) then
    return door.profile_missing(ticket.ask)
  elseif provider.pause_sends_away or known.pause_sends_away then
    return door.paused(ticket)
  end
  return door.exceeds_limit(ticket)
end

-- All waiting tickets in the order in which they came.
function expiry.all_waiting()
  local tickets = {}
  for klass = 0, 2 do
    local rows = order.page('young' .. SEP .. klass .. SEP, 0)
    for index = 1, #rows, 2 do
      tickets[#tickets + 1] = store.get('ticket', rows[index]:sub(1, rows[index]:find(SEP, 1, true) - 1))
    end
  end
  table.sort(tickets, function(one, other) return one.entered < other.entered end)
  return tickets
end

-- Those in line under the new rules: other deadlines; too large, paused or without a profile, they go.
function expiry.after_configure(events, now)
  for _, key in ipairs(store.ids('limiter')) do
    endings.unpark(limiters.get(key), now)
  end
  for _, ticket in ipairs(expiry.all_waiting()) do
    local left = left_by_configuration(ticket)
    if left then
      door.with_queue_time(left, ticket, now)
      endings.leave_line(ticket, now)
      table.insert(events, left)
    else
      ticket.deadline_us = door.deadline_us(ticket)
      order.put('deadlines', ticket.deadline_us, num.pad(ticket.number) .. ticket.id)
    end
  end
end
