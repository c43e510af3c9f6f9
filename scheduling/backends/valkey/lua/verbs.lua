-- Purpose: the verbs. Each is one atomic step, idempotent by ticket id, and ends in the same way: what has expired
--          goes, whoever may start starts.
-- Twin:    scheduling/core/verbs.py
-- KEYS, ARGV, returns: see calls.lua; `call` is what ARGV 1 says, `events` what is answered

local function start_all(events, now)
  local choice = policy.pick_next(now)
  while choice do
    events[#events + 1] = starts.start(choice, now)
    choice = policy.pick_next(now)
  end
end

function verbs.finish(events, now)
  expiry.expire(events, now)
  start_all(events, now)
  local before = #events
  expiry.time_out(events, now)
  -- Who gave up may have pinned what another only waited for: nobody else would wake that one in time.
  if #events > before then
    start_all(events, now)
  end
end

-- It stands in line: is there a place for it, or does it start anyway?
local function through_the_door(events, ticket, now)
  local choice = policy.pick_next(now)
  local leaver, refusal = door.who_should_go(ticket, choice and choice.ticket == ticket)
  if not leaver then
    return
  end
  local code = leaver == ticket and refusal or 'queue_evicted'
  local told = times.tell_capacity(leaver, refusal == 'gateway_overloaded', now.us - leaver.arrived_us, now)
  endings.leave_line(leaver, now)
  events[#events + 1] = door.left(leaver.ask, code, told)
end

local function new_ticket(ask, now)
  local ticket = { id = ask.id, ask = ask, own = {}, kept_warm = false, paced_before_us = 0 }
  ticket.number, ticket.rank = ask.arrival or run.number(), ask.re_enters and 0 or 1
  ticket.arrived_us = now.us - (ask.age_us or 0)
  ticket.deadline_us = door.deadline_us(ticket)
  return ticket
end

local function ask_whether_it_is_back(ticket, now)
  local choice = probe.pick(ticket, now)
  if not choice then
    return probe.no_room(ticket.ask)
  end
  door.enter_line(ticket, now)
  return starts.start(choice, now)
end

-- call: { ask = { id, provider, model, klass, flow, keys = flow and limits without repeats, owner, purpose, charge =
--   { prompt, cap, callers }, max_wait_us, age_us = since it arrived, arrival, re_enters, holder, box, conversation } }
function verbs.line_up(call, events, now)
  local ask = call.ask
  if store.get('ticket', ask.id) or store.get('lease', ask.id) then
    return
  end
  local known = config.model(ask.model)
  if not (known and known.configured and config.provider(known.provider).lanes) then
    events[#events + 1] = door.profile_missing(ask)
    return
  end
  verbs.finish(events, now)
  local ticket = new_ticket(ask, now)
  if ask.purpose == 'probe' then
    events[#events + 1] = ask_whether_it_is_back(ticket, now)
    return
  end
  local refusal = door.refusal_before_line(ticket, now)
  if refusal then
    events[#events + 1] = refusal
    return
  end
  door.enter_line(ticket, now)
  through_the_door(events, ticket, now)
end

function verbs.give_back(id, ending, actual, now)
  local lease = store.get('lease', id)
  if lease then
    endings.settle(lease, ending, actual, now)
    endings.release(lease, ending == 'served', now)
  end
end

-- call: { id }
function verbs.cancel(call, _, now)
  local ticket = store.get('ticket', call.id)
  if ticket then
    endings.leave_line(ticket, now)
  else
    verbs.give_back(call.id, 'unsent', {}, now)
  end
end

-- call: { id, ending, actual = { prompt, cached, completion } }
function verbs.settle(call, _, now)
  local lease = store.get('lease', call.id)
  if lease then
    endings.settle(lease, call.ending, call.actual, now)
  end
end

-- call: as for settle
function verbs.release(call, _, now)
  verbs.give_back(call.id, call.ending, call.actual, now)
end

-- call: { ids }
function verbs.acknowledge(call, _, now)
  expiry.acknowledge(call.ids, now)
end

-- call: { holder, ids }
function verbs.renew(call, _, now)
  expiry.renew(call.holder, call.ids, now)
end

-- call: {}
function verbs.pump()
  -- the end of every verb does it
end

-- call: { spec (see arrange.lua) }; an older version than the one in force, or the same, changes nothing
function verbs.configure(call, events, now)
  if call.spec.version <= (run.root.configured or -1) then
    arrange.take_over_calendars(call.spec.calendars)
    return
  end
  run.root.configured = call.spec.version
  arrange.take_over(call.spec, now)
  expiry.after_configure(events, now)
end

local function names(call, ask)
  for _, key in ipairs(ask.keys) do
    if key == call.key then
      return true
    end
  end
  return call.named[ask.id] == true
end

-- call: { ids, key = flow or limit ('': none), code }; walks all who wait or run if a key is given
function verbs.expel(call, events, now)
  call.named = {}
  for _, id in ipairs(call.ids) do
    call.named[id] = true
  end
  for _, ticket in ipairs(expiry.all_waiting()) do
    if names(call, ticket.ask) then
      local told = { retry_after_us = times.AT_LEAST_US, estimate = true, reason = '' }
      local left = door.with_queue_time(door.left(ticket.ask, call.code, told), ticket, now)
      endings.leave_line(ticket, now)
      events[#events + 1] = left
    end
  end
  for _, lease in ipairs(leases.all_running()) do
    if names(call, lease.ask) then
      events[#events + 1] = { lost = lease.id, box = lease.ask.box }
    end
  end
end

-- call: { target = { provider, scope, key }, in_us, reason, used_up }
function verbs.close(call, events, now)
  for _, left in ipairs(closings.close(call.target, call.in_us, call.reason, call.used_up, now)) do
    events[#events + 1] = left
  end
end

-- call: { target }
function verbs.reopen(call, _, now)
  closings.reopen(call.target, now)
end
