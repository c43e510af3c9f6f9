-- Purpose: a ticket starts; a lease ends. Everything a start takes is taken here, and given back here, once.
-- Twin:    scheduling/core/starts.py
-- KEYS:    <prefix>deadlines              sorted set: pad(number) .. ticket id, by deadline
--          <prefix>expiries               sorted set: pad(number) .. ticket id, by when the lease expires
--          <prefix>running SEP <provider> sorted set: pad(granted_us) .. model SEP ticket id, by lease number
--          <prefix>holds SEP <holder>     sorted set: ticket ids of its leases, by lease number
--          <prefix>talks                  hash: conversation -> credential it had last
--          <prefix>talked                 sorted set: conversations, by their last use
-- records: `ticket` by id: { id, ask, number, rank, entered, arrived_us, deadline_us, paced_before_us, kept_warm, own =
--          { { key, amount } … } }
--          `lease` by ticket id: { id, ask, number, arrival, arrived_us, model, credential, credential_serial,
--          granted_us, pace_us, expires_us, offered, settled, turns = before it { model, provider }, share, postings,
--          own = { { key, stamps } … } }
--          `credential` by provider SEP id: { serial, running, batch, closing }
local OFFER_US, TRIAL_US = 2 * num.SECOND_US, num.SECOND_US
local TALKS_KEPT = 10000

local function leave_own(ticket, now)
  for _, own in ipairs(ticket.own) do
    local limiter = limiters.get(own.key)
    limiters.leave(limiter, own.amount, lines.line_id(ticket.ask))
    limiters.let_rest(limiter, now)
  end
end

local function forget_ticket(ticket)
  local model, root = store.get('model', ticket.ask.model), run.root
  store.drop('ticket', ticket.id)
  order.drop('deadlines', num.pad(ticket.number) .. ticket.id)
  roll.remove(ticket)
  local provider = store.get('provider', ticket.ask.provider)
  provider.waiting, model.waiting, root.tickets = provider.waiting - 1, model.waiting - 1, root.tickets - 1
end

-- Of its wait, how long pace or tokens, not a lane, held its model up.
function starts.paced(ticket, now)
  local model = store.get('model', ticket.ask.model)
  return math.min(readiness.paced_until(model, now) - ticket.paced_before_us, now.us - ticket.arrived_us)
end

local function positive(number)
  return number and number > 0 and number or nil
end

-- What a start costs its flow: the largest share it takes of any of the model's means, in us of them.
local function fair_cost(choice, known, model)
  local limit = positive(known.lanes_per_model) or positive(config.provider(known.provider).lanes) or 1
  local cost = num.ceil_div(positive(model.p50) or num.SECOND_US, limit)
  for _, axis in ipairs(choice.windows) do
    local amount = charge.arrival_amount(known.rule, axis.measure, choice.ticket.ask.charge, axis.limit)
    cost = math.max(cost, num.ceil_div(amount * num.MINUTE_US, math.max(1, axis.per_minute)))
  end
  return cost
end

-- Every lane it holds a place on; a credential that is gone, or came anew, is none.
local function lanes_of(lease)
  local held = { run.root, store.get('provider', lease.ask.provider), store.get('model', lease.model) }
  local credential = lease.credential and store.get('credential', lease.ask.provider .. SEP .. lease.credential)
  if credential and credential.serial == lease.credential_serial then
    held[4] = credential
  end
  return held
end

local function charge_axis(lease, axis, known, now)
  local amount = charge.arrival_amount(known.rule, axis.measure, lease.ask.charge, axis.limit)
  local held = charge.is_produced(known.rule, axis.measure)
  table.insert(lease.postings, axes.post(axis, lease.number, amount, now, held))
end

local function expiry_of(lease)
  return num.pad(lease.number) .. lease.id
end

-- A lease lives on until `us` from now, if leases expire here at all.
function starts.extend(lease, us, now)
  if us then
    lease.expires_us = now.us + us
    order.put('expiries', lease.expires_us, expiry_of(lease))
  end
end

local function remember_conversation(ask, credential)
  if ask.conversation == '' or not credential then
    return
  end
  local root = run.root
  root.uses = root.uses + 1
  local is_new = redis.call('HSET', store.key('talks'), ask.conversation, credential.credential)
  root.talks = root.talks + is_new
  order.put('talked', root.uses, ask.conversation)
  if root.talks > TALKS_KEPT then
    local oldest = order.first('talked')
    order.drop('talked', oldest)
    redis.call('HDEL', store.key('talks'), oldest)
    root.talks = root.talks - 1
  end
end

-- The first start after a used-up closing is a trial: the others wait for its first byte or a second.
local function try_reopening(closable, now)
  local closing = closable.closing
  if closing then
    closable.closing = closing.used_up
      and { until_us = now.us + TRIAL_US, reason = closing.reason, used_up = false } or nil
  end
end

local function running_member(lease)
  return num.pad(lease.granted_us) .. lease.model .. SEP .. lease.id
end

local function new_lease(choice, now)
  local ticket, road = choice.ticket, choice.credential
  local lease = { id = ticket.id, ask = ticket.ask, number = run.number(), arrival = ticket.number,
    arrived_us = ticket.arrived_us, model = ticket.ask.model, granted_us = now.us, expires_us = num.FAR_US,
    offered = false, settled = false, postings = {}, own = {} }
  if road then
    lease.credential = road.credential
    lease.credential_serial = policy.credential(config.model(lease.model), road).serial
  end
  return lease
end

-- Take what it needs: places, charges, its turn in the line.
local function take(lease, choice, known, model, now)
  local ticket, ask = choice.ticket, lease.ask
  for _, lane in ipairs(lanes_of(lease)) do
    lanes.take(lane, ask.klass)
  end
  leave_own(ticket, now)
  for _, axis in ipairs(choice.windows) do
    charge_axis(lease, axis, known, now)
  end
  for _, axis in ipairs(choice.estimates) do
    charge_axis(lease, axis, known, now)
  end
  for _, own in ipairs(ticket.own) do
    table.insert(lease.own, { key = own.key, stamps = limiters.start(limiters.get(own.key), own.amount, now) })
  end
  lease.share = lines.charge(ticket, fair_cost(choice, known, model))
  forget_ticket(ticket)
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

local function enter(lease, now)
  local root = run.root
  store.put('lease', lease.id, lease)
  root.leases = root.leases + 1
  order.put('running' .. SEP .. lease.ask.provider, lease.number, running_member(lease), true)
  order.put('holds' .. SEP .. lease.ask.holder, lease.number, lease.id, true)
  lease.offered = root.offers and root.lease_us ~= nil
  starts.extend(lease, root.lease_us and (root.offers and OFFER_US or root.lease_us), now)
end

-- A lease that its holder has and the store forgot; what it was charged is announced apart from it.
function starts.adopt(held, known, now)
  local ask = held.ask
  local credential = held.credential and store.get('credential', known.provider .. SEP .. held.credential)
  local lease = { id = ask.id, ask = ask, number = run.number(), arrival = held.arrival, model = ask.model,
    granted_us = now.us - held.age_us, arrived_us = now.us - held.age_us, pace_us = held.pace_us, settled = held.settled,
    turns = { 0, 0 }, share = 0, postings = {}, own = {} }
  if credential then
    lease.credential, lease.credential_serial = held.credential, credential.serial
  end
  for _, lane in ipairs(lanes_of(lease)) do
    lanes.take(lane, ask.klass)
  end
  for _, limiter in ipairs(limiters.of(ask, now)) do
    local amount = limiters.amount(limiter, ask)
    table.insert(lease.own, { key = limiter.key, stamps = limiters.start(limiter, amount, now) })
  end
  enter(lease, now)
  starts.extend(lease, run.root.lease_us, now)
  lease.offered = false
  readiness.refresh(store.get('model', lease.model))
end

-- Tells the holder that it runs.
function starts.granted(lease)
  return { granted = lease.id, box = lease.ask.box, provider = config.model(lease.model).provider, model = lease.model,
    credential = lease.credential, rules = config.model(lease.model).rules, granted_us = lease.granted_us,
    queue_us = lease.granted_us - lease.arrived_us, pace_us = lease.pace_us, arrival = lease.arrival,
    charges = charges_of(lease) }
end

function starts.start(choice, now)
  local ticket = choice.ticket
  local known, model = config.model(ticket.ask.model), store.get('model', ticket.ask.model)
  local provider = store.get('provider', known.provider)
  local lease = new_lease(choice, now)
  take(lease, choice, known, model, now)
  enter(lease, now)
  lease.turns = { model.turn, provider.turn }
  model.turn, provider.turn = lease.number, lease.number
  remember_conversation(lease.ask, choice.credential)
  if lease.ask.purpose ~= 'probe' then
    try_reopening(model, now)
    try_reopening(provider, now)
    try_reopening(choice.credential and policy.credential(known, choice.credential) or {}, now)
  end
  readiness.refresh(model)
  lease.pace_us = starts.paced(ticket, now)
  return starts.granted(lease)
end

-- The ticket goes without having started: no trace.
function starts.leave_line(ticket, now)
  local model = store.get('model', ticket.ask.model)
  leave_own(ticket, now)
  lines.remove(ticket)
  forget_ticket(ticket)
  readiness.wake(model.pool, now)
  readiness.refresh(model)
end

local function forget_charges(lease)
  for _, posting in ipairs(lease.postings) do
    local axis = axes.of(posting)
    if axis then
      axes.forget(axis, posting)
    end
  end
  for _, own in ipairs(lease.own) do
    limiters.forget(limiters.get(own.key), own.stamps)
  end
  local model, provider = store.get('model', lease.model), store.get('provider', lease.ask.provider)
  lines.give_back(lease.ask, lease.share)
  if model.turn == lease.number then
    model.turn = lease.turns[1]
  end
  if provider.turn == lease.number then
    provider.turn = lease.turns[2]
  end
  readiness.refresh(model)
end

local function correct_charges(lease, ending, actual, now)
  local rule = config.model(lease.model).rule
  for _, posting in ipairs(lease.postings) do
    local axis = axes.of(posting)
    local amount = axis and charge.settled_amount(rule, axis.measure, ending, actual)
    if axis and (amount or not posting.stamp) then
      axes.settle(axis, posting, amount or posting.amount, now)
    elseif axis then
      axes.keep(axis, posting)
    end
  end
  local own_amount = charge.settled_amount('reserve_and_settle', 'total_tokens', ending, actual)
  for _, own in ipairs(own_amount and lease.own or {}) do
    limiters.settle(limiters.get(own.key), own.stamps, own_amount)
  end
end

-- Correct what was charged to what it came to. Once; a second settle changes nothing.
function starts.settle(lease, ending, actual, now)
  if lease.settled then
    return
  end
  lease.settled = true
  if ending == 'unsent' then
    forget_charges(lease)
  else
    correct_charges(lease, ending, actual, now)
  end
  readiness.wake(store.get('model', lease.model).pool, now)
end

function starts.unpark_line(line, now)
  local model = store.get('model', line.model)
  lines.unpark(line)
  readiness.wake(model.pool, now)
  readiness.refresh(model)
end

-- The own limit has room again: its lines stand in the order again (some may be parked anew).
function starts.unpark(limiter, now)
  for _, line_id in ipairs(limiters.take_parked(limiter)) do
    starts.unpark_line(lines.line(line_id), now)
  end
end

-- Give every place back; lines that its flow's own limits held up may go on.
function starts.release(lease, ran, now)
  local model, root = store.get('model', lease.model), run.root
  store.drop('lease', lease.id)
  root.leases = root.leases - 1
  order.drop('expiries', expiry_of(lease))
  order.drop('running' .. SEP .. lease.ask.provider, running_member(lease))
  order.drop('holds' .. SEP .. lease.ask.holder, lease.id)
  for _, lane in ipairs(lanes_of(lease)) do
    lanes.give_back(lane, lease.ask.klass)
  end
  if ran then
    sample.add(model.key, now.us - lease.granted_us)
    model.p50 = sample.percentile(model.key, 50)
  end
  for _, own in ipairs(lease.own) do
    local limiter = limiters.get(own.key)
    limiter.running = limiter.running - 1
    starts.unpark(limiter, now)
    limiters.let_rest(limiter, now)
  end
  readiness.wake(model.pool, now)
  readiness.refresh(model)
end

-- All leases in the order of their starts.
function starts.all_running()
  local leases = {}
  for _, provider_key in ipairs(store.get('roster', '') or {}) do
    local rows = order.page('running' .. SEP .. provider_key, 0)
    for index = 1, #rows, 2 do
      local model_and_id = rows[index]:sub(17)
      leases[#leases + 1] = store.get('lease', model_and_id:sub(model_and_id:find(SEP, 1, true) + 1))
    end
  end
  table.sort(leases, function(one, other) return one.number < other.number end)
  return leases
end

-- Own limits of which nothing is remembered any more are dropped: the store does not grow with the users ever seen.
function starts.drop_rested(now)
  local key, at_us = order.first('resting')
  while key and at_us <= now.us do
    order.drop('resting', key)
    local limiter = limiters.get(key)
    if limiter and limiters.is_idle(limiter, now) then
      limiters.erase(limiter)
    end
    key, at_us = order.first('resting')
  end
end
