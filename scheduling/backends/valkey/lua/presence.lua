-- Purpose: the verbs of a process that is there, comes, or goes.
-- Twin:    none; a core lives and dies with its process
-- KEYS, ARGV, returns: see calls.lua

-- call: {}; takes the mail. Returns unknown: this box was taken for dead, it has to announce itself
function verbs.poll(call, events, now)
  for _, event in ipairs(mail.take(call.box)) do
    events[#events + 1] = event
  end
  local buried = mail.bury(now)
  store.hold_schema()
  return { unknown = not mail.hear(call.box, now), changed = buried }
end

-- call: {}; this process goes in order, and takes nothing with it
function verbs.leave(call, _, now)
  mail.leave(call.box, now)
  for _, lease in ipairs(leases.all_running()) do
    if lease.ask.box == call.box then
      verbs.give_back(lease.id, 'failed', {}, now)
    end
  end
end

-- Leases it holds: known, taken over, or over.
local function hear_held(call, events, adopts, now)
  for _, held in ipairs(call.held) do
    local id = held.ask.id
    if store.get('lease', id) then
      expiry.acknowledge({ id }, now)
    elseif not (adopts and recovery.adopt(held, now)) then
      events[#events + 1] = { lost = id, box = call.box }
    end
  end
end

-- Tickets it waits with: in line, running meanwhile, or not there.
local function hear_waiting(call, events)
  for _, id in ipairs(call.waiting) do
    local lease = store.get('lease', id)
    if lease then
      events[#events + 1] = leases.granted(lease)
    elseif not store.get('ticket', id) then
      events[#events + 1] = { unknown = id, box = call.box }
    end
  end
end

-- call: { run_id, epoch = under which it holds what it holds, held (see recovery.lua), waiting = ticket ids, charges }
-- Events: granted for a waiting ticket that runs, lost for a lease that is over, { unknown } for a ticket not in line
function verbs.announce(call, events, now)
  recovery.notice_restart(call.run_id, now)
  local adopts = recovery.adopts(call.epoch, now)
  mail.hear(call.box, now)
  recovery.hear(call.box)
  if call.epoch ~= run.root.epoch then
    recovery.charge(call.charges, now)
  end
  hear_held(call, events, adopts, now)
  hear_waiting(call, events)
end
