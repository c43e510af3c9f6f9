-- Purpose: when to come back: what a caller who did not get through is told.
-- Twin:    scheduling/core/times.py
-- told:    { retry_after_us, estimate, queue_us, pace_us, reason, closed_in_us, detail }
times.AT_LEAST_US = num.SECOND_US

-- What the ticket waits for, seen from the widest axis to the narrowest.
local function why_waiting(ticket, model, known, now)
  if recovery.is_shut(now) then
    return 'recovering'
  end
  local ask, line = ticket.ask, lines.line(lines.line_id(ticket.ask))
  if line and line.parked then
    return line.on and 'flow' or 'credential'
  end
  if model.blocked then
    return model.blocked.reason
  end
  if not lanes.has_room(model, known.lanes_per_model, 1, ask.klass) then
    return 'model'
  end
  local provider = store.get('provider', known.provider)
  if not lanes.has_room(provider, config.provider(known.provider).lanes, 1, ask.klass) then
    return 'provider'
  end
  return 'relay'
end

local function pace_us(known, ask)
  local most, first_road = nil, known.roads and known.roads[1]
  for _, windows in ipairs({ known.windows, first_road and first_road.windows or {} }) do
    for _, axis in ipairs(windows) do
      local amount = charge.arrival_amount(known.rule, axis.measure, ask.charge, axis.limit)
      most = math.max(most or 0, axes.spacing_us(axis, amount))
    end
  end
  return most or num.SECOND_US
end

local function running_on(provider_key)
  local running, rows = {}, order.page('running' .. SEP .. provider_key, 0)
  for index = 1, #rows, 2 do
    local granted_us, model = rows[index]:sub(1, 16), rows[index]:sub(17)
    model = model:sub(1, model:find(SEP, 1, true) - 1)
    running[#running + 1] = { granted_us = tonumber(granted_us), model = model }
  end
  return running
end

-- How long a running call will go on, by what calls of its model took that ran at least as long; nil: unknown.
local function remaining_us(lease, now)
  local ran_us = now.us - lease.granted_us
  local whole_us = sample.percentile(lease.model, 90, ran_us)
  return whole_us and whole_us - ran_us
end

local function lane_places(provider_keys, model_key, now)
  local count, soonest_us = 0, nil
  for _, provider_key in ipairs(provider_keys) do
    for _, lease in ipairs(running_on(provider_key)) do
      count = count + 1
      local left_us = remaining_us(lease, now)
      soonest_us = left_us and math.min(soonest_us or left_us, left_us) or soonest_us
    end
  end
  local typical_us = sample.percentile(model_key, 90)
  return {
    first_us = now.us + math.max(times.AT_LEAST_US, soonest_us or times.AT_LEAST_US),
    spacing_us = typical_us and math.max(1, num.ceil_div(typical_us, math.max(1, count))) or times.AT_LEAST_US,
    estimate = true,
  }
end

local function places(ticket, model, known, reason, relay, now)
  local timed = readiness.is_paced(reason) or reason == 'closed'
  if not relay and timed and model.blocked.due_us < num.FAR_US then
    local first_us = math.max(model.blocked.due_us, now.us)
    return { first_us = first_us, spacing_us = pace_us(known, ticket.ask), estimate = false }
  end
  return lane_places(relay and store.get('roster', '') or { known.provider }, model.key, now)
end

-- For one who found no place, or gave it up, or waited in vain: the next free slot.
function times.tell_capacity(ticket, relay, queue_us, now)
  local model, known = store.get('model', ticket.ask.model), config.model(ticket.ask.model)
  local reason = relay and 'relay' or why_waiting(ticket, model, known, now)
  local free = places(ticket, model, known, reason, relay, now)
  local row = relay and run.root or store.get('provider', known.provider)
  return {
    retry_after_us = slots.take(row, free.first_us, free.spacing_us) - now.us,
    estimate = free.estimate,
    queue_us = queue_us,
    pace_us = math.min(starts.paced(ticket, now), queue_us),
    reason = reason,
  }
end

-- For one who has to wait for a time that is known exactly.
function times.tell_until(ticket, until_us, reason, queue_us, now)
  local known = until_us < num.FAR_US
  return {
    retry_after_us = known and math.max(0, until_us - now.us) or times.AT_LEAST_US,
    estimate = not known,
    queue_us = queue_us,
    pace_us = math.min(starts.paced(ticket, now), queue_us),
    reason = reason,
    closed_in_us = reason == 'closed' and until_us - now.us or nil,
  }
end
