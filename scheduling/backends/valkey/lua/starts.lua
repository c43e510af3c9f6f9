-- Purpose: a ticket starts: everything a start takes is taken here.
-- Twin:    scheduling/core/starts.py
-- KEYS:    <prefix>deadlines   sorted set: pad(number) .. ticket id, by deadline
--          <prefix>talks       hash: conversation -> credential it had last
--          <prefix>talked      sorted set: conversations, by their last use
-- records: `ticket` by id: { id, ask, number, rank, entered, arrived_us, deadline_us, paced_before_us, kept_warm, own =
--          { { key, amount } … } }
local TRIAL_US = num.SECOND_US
local TALKS_KEPT = 10000

-- It stands in line no more, as far as its flow's own limits go.
function starts.leave_own(ticket, now)
  for _, own in ipairs(ticket.own) do
    local limiter = limiters.get(own.key)
    limiters.leave(limiter, own.amount, lines.line_id(ticket.ask))
    limiters.let_rest(limiter, now)
  end
end

function starts.forget_ticket(ticket)
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

local function charge_axis(lease, axis, known, now)
  local amount = charge.arrival_amount(known.rule, axis.measure, lease.ask.charge, axis.limit)
  local held = charge.is_produced(known.rule, axis.measure)
  table.insert(lease.postings, axes.post(axis, lease.number, amount, now, held))
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
  for _, lane in ipairs(leases.lanes_of(lease)) do
    lanes.take(lane, ask.klass)
  end
  starts.leave_own(ticket, now)
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
  starts.forget_ticket(ticket)
end

function starts.start(choice, now)
  local ticket = choice.ticket
  local known, model = config.model(ticket.ask.model), store.get('model', ticket.ask.model)
  local provider = store.get('provider', known.provider)
  local lease = new_lease(choice, now)
  take(lease, choice, known, model, now)
  leases.enter(lease, now)
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
  return leases.granted(lease)
end
