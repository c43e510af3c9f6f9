-- Purpose: a ticket leaves the line, a lease ends: everything a start took is given back here, once.
-- Twin:    scheduling/core/starts.py

-- The ticket goes without having started: no trace.
function endings.leave_line(ticket, now)
  local model = store.get('model', ticket.ask.model)
  starts.leave_own(ticket, now)
  lines.remove(ticket)
  starts.forget_ticket(ticket)
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
function endings.settle(lease, ending, actual, now)
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

function endings.unpark_line(line, now)
  local model = store.get('model', line.model)
  lines.unpark(line)
  readiness.wake(model.pool, now)
  readiness.refresh(model)
end

-- The own limit has room again: its lines stand in the order again (some may be parked anew).
function endings.unpark(limiter, now)
  for _, line_id in ipairs(limiters.take_parked(limiter)) do
    endings.unpark_line(lines.line(line_id), now)
  end
end

-- Give every place back; lines that its flow's own limits held up may go on.
function endings.release(lease, ran, now)
  local model = store.get('model', lease.model)
  leases.leave(lease)
  for _, lane in ipairs(leases.lanes_of(lease)) do
    lanes.give_back(lane, lease.ask.klass)
  end
  if ran then
    sample.add(model.key, now.us - lease.granted_us)
    model.p50 = sample.percentile(model.key, 50)
  end
  for _, own in ipairs(lease.own) do
    local limiter = limiters.get(own.key)
    limiter.running = limiter.running - 1
    endings.unpark(limiter, now)
    limiters.let_rest(limiter, now)
  end
  readiness.wake(model.pool, now)
  readiness.refresh(model)
end

-- Own limits of which nothing is remembered any more are dropped: the store does not grow with the users ever seen.
function endings.drop_rested(now)
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
