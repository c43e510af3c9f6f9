-- Purpose: the functions of the library: read what is there, do one verb, write what has changed, answer.
-- KEYS:    1: the prefix of all keys, the hash tag in front; every key touched begins with it
-- ARGV:    1: the call, msgpack: { box = mailbox of the caller (nil: it takes all events itself), … as the verb says }
-- Returns: msgpack: { events, due_us, version, configured, epoch, now_us, wall_us, unknown } or { lost = true }: the
--          store is empty, see recovery.lua
--   event: granted (leases.lua), left (door.lua), lost (expiry.lua), unknown (presence.lua)

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
    local more = verb(call, events, now) or {}
    verbs.finish(events, now)
    if not quiet or more.changed or #events > 0 or now.skipped_us > 0 then
      root.version = root.version + 1
    end
    local reply = answer(mail.sort(events, call.box), now)
    reply.unknown = more.unknown
    return finish(reply)
  end
end

-- ARGV 1: { epoch, lease_us, offers, missing = boxes that were there before (nil: the caller's database knows of none) }
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
