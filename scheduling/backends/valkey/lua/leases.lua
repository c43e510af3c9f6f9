-- Purpose: leases: what a running ticket holds, how long, and how its holder is told.
-- Twin:    scheduling/core/state.py (Lease)
-- KEYS:    <prefix>expiries               sorted set: pad(number) .. ticket id, by when the lease expires
--          <prefix>running SEP <provider> sorted set: pad(granted_us) .. model SEP ticket id, by lease number
--          <prefix>holds SEP <holder>     sorted set: ticket ids of its leases, by lease number
-- records: `lease` by ticket id: { id, ask, number, arrival, arrived_us, model, credential, credential_serial,
--          granted_us, pace_us, expires_us, offered, settled, turns = before it { model, provider }, share, postings,
--          own = { { key, stamps } … } }
--          `credential` by provider SEP id: { serial, running, batch, closing }
local OFFER_US = 2 * num.SECOND_US

-- Every lane it holds a place on; a credential that is gone, or came anew, is none.
function leases.lanes_of(lease)
  local held = { run.root, store.get('provider', lease.ask.provider), store.get('model', lease.model) }
  local credential = lease.credential and store.get('credential', lease.ask.provider .. SEP .. lease.credential)
  if credential and credential.serial == lease.credential_serial then
    held[4] = credential
  end
  return held
end

local function expiry_of(lease)
  return num.pad(lease.number) .. lease.id
end

local function running_member(lease)
  return num.pad(lease.granted_us) .. lease.model .. SEP .. lease.id
end

-- A lease lives on until `us` from now, if leases expire here at all.
function leases.extend(lease, us, now)
  if us then
    lease.expires_us = now.us + us
    order.put('expiries', lease.expires_us, expiry_of(lease))
  end
end

function leases.enter(lease, now)
  local root = run.root
  store.put('lease', lease.id, lease)
  root.leases = root.leases + 1
  order.put('running' .. SEP .. lease.ask.provider, lease.number, running_member(lease), true)
  order.put('holds' .. SEP .. lease.ask.holder, lease.number, lease.id, true)
  lease.offered = root.offers and root.lease_us ~= nil
  leases.extend(lease, root.lease_us and (root.offers and OFFER_US or root.lease_us), now)
end

-- It is over: nobody holds it any longer. Its places are another matter.
function leases.leave(lease)
  store.drop('lease', lease.id)
  run.root.leases = run.root.leases - 1
  order.drop('expiries', expiry_of(lease))
  order.drop('running' .. SEP .. lease.ask.provider, running_member(lease))
  order.drop('holds' .. SEP .. lease.ask.holder, lease.id)
end

-- A lease that its holder has and the store forgot; what it was charged is announced apart from it.
function leases.adopt(held, known, now)
  local ask = held.ask
  local credential = held.credential and store.get('credential', known.provider .. SEP .. held.credential)
  local lease = { id = ask.id, ask = ask, number = run.number(), arrival = held.arrival, model = ask.model,
    granted_us = now.us - held.age_us, arrived_us = now.us - held.age_us, pace_us = held.pace_us,
    settled = held.settled, turns = { 0, 0 }, share = 0, postings = {}, own = {} }
  if credential then
    lease.credential, lease.credential_serial = held.credential, credential.serial
  end
  for _, lane in ipairs(leases.lanes_of(lease)) do
    lanes.take(lane, ask.klass)
  end
  for _, limiter in ipairs(limiters.of(ask, now)) do
    local amount = limiters.amount(limiter, ask)
    table.insert(lease.own, { key = limiter.key, stamps = limiters.start(limiter, amount, now) })
  end
  leases.enter(lease, now)
  leases.extend(lease, run.root.lease_us, now)
  lease.offered = false
  readiness.refresh(store.get('model', lease.model))
end

-- What it was charged, for its holder to remember in case the store forgets.
local function charges_of(lease)
  local charges = {}
  for index, posting in ipairs(lease.postings) do
    local axis = axes.of(posting)
    charges[index] = { axis = posting.axis, amount = posting.amount, length_us = axis and axis.length_us or 0 }
  end
  return charges
end

-- Tells the holder that it runs.
function leases.granted(lease)
  return { granted = lease.id, box = lease.ask.box, provider = config.model(lease.model).provider, model = lease.model,
    credential = lease.credential, rules = config.model(lease.model).rules, granted_us = lease.granted_us,
    queue_us = lease.granted_us - lease.arrived_us, pace_us = lease.pace_us, arrival = lease.arrival,
    charges = charges_of(lease) }
end

-- All leases in the order of their starts.
function leases.all_running()
  local found = {}
  for _, provider_key in ipairs(store.get('roster', '') or {}) do
    local rows = order.page('running' .. SEP .. provider_key, 0)
    for index = 1, #rows, 2 do
      local model_and_id = rows[index]:sub(17)
      found[#found + 1] = store.get('lease', model_and_id:sub(model_and_id:find(SEP, 1, true) + 1))
    end
  end
  table.sort(found, function(one, other) return one.number < other.number end)
  return found
end
