-- Purpose: the verbs. Each is one atomic step, idempotent by ticket id, and ends in the same way: what has expired goes,
--          whoever may start starts.
-- Twin:    scheduling/core/verbs.py
-- KEYS:    1: the prefix of all keys, its hash tag in front
-- ARGV:    1: the call, msgpack: { box = mailbox of the caller (nil: it takes all events itself), … }
-- Returns: msgpack: { events, due_us, version, configured, epoch, now_us, wall_us, … } or { lost = true }: the store is
--          empty, see recovery.lua

local function start_all(events, now)
  local choice = policy.pick_next(now)
  while choice do
    events[#events + 1] = starts.start(choice, now)
    choice = policy.pick_next(now)
  end
end

local function pump(events, now)
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
  starts.leave_line(leaver, now)
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
  pump(events, now)
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

local function give_back(id, ending, actual, now)
  local lease = store.get('lease', id)
  if lease then
    starts.settle(lease, ending, actual, now)
    starts.release(lease, ending == 'served', now)
  end
end

-- call: { id }
function verbs.cancel(call, _, now)
  local ticket = store.get('ticket', call.id)
  if ticket then
    starts.leave_line(ticket, now)
  else
    give_back(call.id, 'unsent', {}, now)
  end
end

-- call: { id, ending, actual = { prompt, cached, completion } }
function verbs.settle(call, _, now)
  local lease = store.get('lease', call.id)
  if lease then
    starts.settle(lease, call.ending, call.actual, now)
  end
end

-- call: as for settle
function verbs.release(call, _, now)
  give_back(call.id, call.ending, call.actual, now)
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
      starts.leave_line(ticket, now)
      events[#events + 1] = left
    end
  end
  for _, lease in ipairs(starts.all_running()) do
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

-- call: {}; takes the mail. Returns unknown: this box was taken for dead, it has to announce itself
function verbs.poll(call, events, now)
  for _, event in ipairs(mail.take(call.box)) do
    events[#events + 1] = event
  end
  mail.bury(now)
  store.hold_schema()
  return { unknown = not mail.hear(call.box, now) }
end

-- call: {}; this process goes in order, and takes nothing with it
function verbs.leave(call, _, now)
  mail.leave(call.box, now)
  for _, lease in ipairs(starts.all_running()) do
    if lease.ask.box == call.box then
      give_back(lease.id, 'failed', {}, now)
    end
  end
end

-- call: { run_id, epoch = under which it holds what it holds, held (see recovery.lua), waiting = ticket ids, charges }
-- Events: granted for a waiting ticket that runs, lost for a lease that is over, { unknown } for a ticket not in line
function verbs.announce(call, events, now)
  local adopts = recovery.adopts(call.epoch, now)
  recovery.notice_restart(call.run_id, now)
  adopts = adopts or recovery.adopts(call.epoch, now)
  mail.hear(call.box, now)
  recovery.hear(call.box)
  if call.epoch ~= run.root.epoch then
    recovery.charge(call.charges, now)
  end
  for _, held in ipairs(call.held) do
    local known = store.get('lease', held.ask.id) or (adopts and recovery.adopt(held, now))
    if not known then
      events[#events + 1] = { lost = held.ask.id, box = call.box }
    end
  end
  for _, id in ipairs(call.waiting) do
    local lease = store.get('lease', id)
    if lease then
      events[#events + 1] = starts.granted(lease)
    elseif not store.get('ticket', id) then
      events[#events + 1] = { unknown = id, box = call.box }
    end
  end
end

local function answer(events, now)
  local root = run.root
  root.us, root.wall_us, root.calls = now.us, now.wall_us, root.calls + 1
  return { events = events, due_us = expiry.next_due_us(), version = root.version, configured = root.configured,
    epoch = root.epoch, now_us = now.us, wall_us = now.wall_us }
end

local function begin(keys, args)
  local call = cmsgpack.unpack(args[1])
  if not store.begin(keys[1]) then
    return call, nil
  end
  local root = store.get('root', '')
  run.begin(root)
  config.begin(root)
  return call, root
end

local function finish(reply)
  local root = run.root
  order.flush()
  store.flush(root.epoch .. SEP .. root.calls)
  return cmsgpack.pack(reply)
end

-- `quiet`: if nothing happens to anybody, it is no change.
local function call_of(verb, quiet)
  return function(keys, args)
    local call, root = begin(keys, args)
    if not root then
      return cmsgpack.pack({ lost = true })
    end
    local now, events = clock.now(root, call), {}
    if now.skipped_us > 0 then
      recovery.catch_up(now.skipped_us, now)
    end
    local more = verb(call, events, now)
    pump(events, now)
    if not quiet or #events > 0 then
      root.version = root.version + 1
    end
    local reply = answer(mail.sort(events, call.box), now)
    reply.unknown = more and more.unknown or nil
    return finish(reply)
  end
end

-- ARGV 1: { epoch, lease_us, offers, missing = boxes that were there before (nil: the caller's database knows no store) }
-- Makes the store's first record. If there is one nothing happens, but that a store older than the database takes the
-- next configuration whatever its version. Returns msgpack { epoch, founded }.
local function found(keys, args)
  local call, root = begin(keys, args)
  if root then
    root.configured = call.missing and root.configured or nil
    root.calls = root.calls + 1
    return finish({ epoch = root.epoch, founded = false })
  end
  root = { epoch = call.epoch, arranged = call.epoch, number = 0, serials = 0, version = 0, calls = 0, running = 0,
    batch = 0, slot_us = 0, entries = 0, uses = 0, talks = 0, tickets = 0, leases = 0, max_running = 10,
    max_inside = 16, lease_us = call.lease_us, offers = call.offers }
  store.put('root', '', root)
  run.begin(root)
  local now = clock.now(root, call)
  root.us, root.wall_us = now.us, now.wall_us
  if call.missing then
    recovery.begin(call.missing, true, now)
  end
  return finish({ epoch = root.epoch, founded = true })
end

redis.register_function('@LIBRARY@_line_up', call_of(verbs.line_up))
redis.register_function('@LIBRARY@_cancel', call_of(verbs.cancel))
redis.register_function('@LIBRARY@_settle', call_of(verbs.settle))
redis.register_function('@LIBRARY@_release', call_of(verbs.release))
redis.register_function('@LIBRARY@_acknowledge', call_of(verbs.acknowledge))
redis.register_function('@LIBRARY@_renew', call_of(verbs.renew))
redis.register_function('@LIBRARY@_pump', call_of(verbs.pump))
redis.register_function('@LIBRARY@_configure', call_of(verbs.configure))
redis.register_function('@LIBRARY@_expel', call_of(verbs.expel))
redis.register_function('@LIBRARY@_close', call_of(verbs.close))
redis.register_function('@LIBRARY@_reopen', call_of(verbs.reopen))
redis.register_function('@LIBRARY@_announce', call_of(verbs.announce))
redis.register_function('@LIBRARY@_leave', call_of(verbs.leave))
redis.register_function('@LIBRARY@_poll', call_of(verbs.poll, true))
redis.register_function('@LIBRARY@_found', found)
