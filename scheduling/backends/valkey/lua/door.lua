-- Purpose: at the door: who may stand in line, who is refused, who gives its place to whom.
-- Twin:    scheduling/core/door.py
-- left:    { left = ticket id, box, code, told }

function door.left(ask, code, told)
  return { left = ask.id, box = ask.box, code = code, told = told }
end

function door.profile_missing(ask)
  return door.left(ask, 'lane_profile_missing', { reason = 'configuration' })
end

-- The profile's wait or the caller's own, whichever ends first, from its arrival on.
function door.deadline_us(ticket)
  local wait_us, own_us = config.model(ticket.ask.model).wait_timeout_us, ticket.ask.max_wait_us
  return ticket.arrived_us + (own_us and math.min(wait_us, math.max(0, own_us)) or wait_us)
end

function door.with_queue_time(left, ticket, now)
  local queue_us = now.us - ticket.arrived_us
  left.told.queue_us, left.told.pace_us = queue_us, math.min(starts.paced(ticket, now), queue_us)
  return left
end

function door.paused(ticket)
  local known = config.model(ticket.ask.model)
  local provider = config.provider(known.provider)
  local is_paused = provider.paused or known.paused
  if not is_paused then
    if not known.roads then
      return nil
    end
    for _, road in ipairs(known.roads) do
      if not road.paused then
        return nil
      end
    end
  end
  local message = provider.pause_message ~= '' and provider.pause_message or known.pause_message
  local detail = message ~= '' and { pause_message = message } or nil
  return door.left(ticket.ask, 'provider_paused', { reason = 'paused', detail = detail })
end

local function all_windows(known)
  local lists = { known.windows }
  if known.roads and known.roads[1] then
    lists[2] = known.roads[1].windows
  end
  return lists
end

function door.exceeds_limit(ticket)
  local known, of = config.model(ticket.ask.model), ticket.ask.charge
  for _, windows in ipairs(all_windows(known)) do
    for _, axis in ipairs(windows) do
      if charge.too_large(known.rule, axis.measure, of, axis.limit) then
        local detail = {
          measure = axis.measure,
          estimate = charge.arrival_amount(known.rule, axis.measure, of, axis.limit),
          limit = axis.limit,
          largest_cap = charge.largest_cap(known.rule, axis.measure, of, axis.limit),
        }
        return door.left(ticket.ask, 'request_exceeds_limit', { reason = axis.reason, detail = detail })
      end
    end
  end
end

local function own_limit_reached(ticket, limiter, reached, now)
  local detail = { limit_name = reached.name, limit = reached.limit, of = limiter.key }
  if reached.permanent then
    detail.estimate = limiters.amount(limiter, ticket.ask)
    detail.largest_cap = math.max(0, reached.limit - ticket.ask.charge.prompt)
    return door.left(ticket.ask, 'request_exceeds_limit', { reason = 'flow', detail = detail })
  end
  local retry_after_us = reached.until_us and reached.until_us - now.us or times.AT_LEAST_US
  return door.left(ticket.ask, 'token_limit_reached', {
    retry_after_us = retry_after_us, estimate = not reached.until_us, reason = 'flow', detail = detail })
end

local function own_limit(ticket, now)
  for _, limiter in ipairs(limiters.of(ticket.ask, now)) do
    local reached = limiters.reached(limiter, ticket.ask, lines.line_id(ticket.ask), now)
    if reached then
      return own_limit_reached(ticket, limiter, reached, now)
    end
    table.insert(ticket.own, { key = limiter.key, amount = limiters.amount(limiter, ticket.ask) })
  end
end

-- The used-up closing that rules the model longest; of its credentials only if all of them are closed.
function door.used_up_closing(model, now)
  local known = config.model(model.key)
  local closings = { store.get('provider', known.provider).closing or false, model.closing or false }
  local soonest, soonest_us = false, nil
  for _, road in ipairs(known.roads or {}) do
    local closing = policy.credential(known, road).closing
    local until_us = policy.closed_until(closing)
    if not soonest_us or until_us < soonest_us then
      soonest, soonest_us = closing or false, until_us
    end
  end
  closings[3] = soonest
  local ruling
  for _, closing in ipairs(closings) do
    local counts = closing and closing.used_up and closing.until_us > now.us
    if counts and not (ruling and ruling.until_us >= closing.until_us) then
      ruling = closing
    end
  end
  return ruling
end

local function used_up(ticket, now)
  local closing = door.used_up_closing(store.get('model', ticket.ask.model), now)
  if closing and closing.until_us > ticket.deadline_us then
    return door.left(ticket.ask, 'insufficient_quota', times.tell_until(ticket, closing.until_us, 'closed', 0, now))
  end
end

local function certain(axis, ticket, known, now)
  local amount = charge.arrival_amount(known.rule, axis.measure, ticket.ask.charge, axis.limit)
  local start_us = axes.earliest(axis, amount, now)
  if start_us <= ticket.deadline_us then
    return start_us
  end
  return axes.earliest(axis, amount, now, axes.open_amount(axis))
end

-- The latest of a time and what the windows allow; the first reason of those that tie.
local function latest(start_us, reason, windows, ticket, known, now)
  for _, axis in ipairs(windows) do
    local axis_us = certain(axis, ticket, known, now)
    if axis_us > start_us then
      start_us, reason = axis_us, axis.reason
    end
  end
  return start_us, reason
end

local function certain_road(ticket, known, now)
  local soonest_us, soonest_reason
  for _, road in ipairs(known.roads) do
    local closed_us = policy.closed_until(policy.credential(known, road).closing)
    local start_us, reason = latest(closed_us, 'closed', road.windows, ticket, known, now)
    if not soonest_us or start_us < soonest_us then
      soonest_us, soonest_reason = start_us, reason
    end
  end
  return soonest_us, soonest_reason
end

-- A lower bound of the start by what is certain, as if everything still running gave all its charges back.
function door.certain_start(ticket, now)
  local model, known = store.get('model', ticket.ask.model), config.model(ticket.ask.model)
  local provider = store.get('provider', known.provider)
  local closed_us = math.max(policy.closed_until(provider.closing), policy.closed_until(model.closing))
  local start_us, reason = latest(closed_us, 'closed', known.windows, ticket, known, now)
  if known.roads and known.roads[1] then
    local road_us, road_reason = certain_road(ticket, known, now)
    if road_us > start_us then
      return road_us, road_reason
    end
  end
  return start_us, reason
end

local function certainly_late(ticket, now)
  local start_us, reason = door.certain_start(ticket, now)
  if start_us > math.max(ticket.deadline_us, now.us) then
    return door.left(ticket.ask, 'provider_queue_timeout', times.tell_until(ticket, start_us, reason, 0, now))
  end
end

-- What refuses the ticket whatever the lanes look like.
function door.refusal_before_line(ticket, now)
  return door.paused(ticket) or door.exceeds_limit(ticket) or own_limit(ticket, now)
    or used_up(ticket, now) or certainly_late(ticket, now)
end

local function weight_of(ask)
  local weight = 1
  for _, key in ipairs(ask.keys) do
    local flow = config.flow(key)
    weight = weight * (flow and flow.weight or 1)
  end
  return math.max(1, weight)
end

function door.enter_line(ticket, now)
  local ask, root = ticket.ask, run.root
  local model, provider = store.get('model', ask.model), store.get('provider', ask.provider)
  local line = lines.add(ticket, weight_of(ask))
  for _, own in ipairs(ticket.own) do
    limiters.enter(limiters.get(own.key), own.amount, line.id)
    order.drop('resting', own.key)
  end
  root.entries = root.entries + 1
  ticket.entered = root.entries
  store.create('ticket', ticket.id, ticket)
  order.put('deadlines', ticket.deadline_us, num.pad(ticket.number) .. ticket.id, true)
  roll.add(ticket)
  provider.waiting, model.waiting, root.tickets = provider.waiting + 1, model.waiting + 1, root.tickets + 1
  ticket.paced_before_us = readiness.paced_until(model, now)
  readiness.wake(model.pool, now)
  readiness.refresh(model)
end

-- If a bound is passed: who leaves, and what the newcomer is told if it is the one; nil: there is a place.
function door.who_should_go(newcomer, can_start)
  local root, ask = run.root, newcomer.ask
  local relay_full = root.tickets + root.leases > root.max_inside
  local max_waiting = config.provider(ask.provider).max_waiting
  local line_full = not can_start and max_waiting and store.get('provider', ask.provider).waiting > max_waiting
  if not (relay_full or line_full) then
    return nil
  end
  local leaver = roll.rather(ask, line_full and ask.provider or '')
  local code = relay_full and 'gateway_overloaded' or 'provider_queue_full'
  return leaver and store.get('ticket', leaver) or newcomer, code
end
