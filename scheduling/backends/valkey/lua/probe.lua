-- Purpose: the relay's own question whether something used up is back: it starts at once or not at all.
-- Twin:    scheduling/core/probe.py

local function has_lanes(known, model, klass)
  local root, provider = run.root, store.get('provider', known.provider)
  return lanes.has_room(root, root.max_running, 2, klass)
    and lanes.has_room(provider, config.provider(known.provider).lanes, 1, klass)
    and lanes.has_room(model, known.lanes_per_model, 1, klass)
end

local function is_free(road, known, pool, ask, now)
  return not road.paused and lanes.has_room(policy.credential(known, road), road.lanes, 1, ask.klass)
    and not policy.hindrance(road.windows, known, pool, ask, now)
end

-- Of several credentials the one that is closed for longest; the first of those that tie.
local function pick_road(known, pool, ask, now)
  local best, best_us
  for _, road in ipairs(known.roads) do
    if is_free(road, known, pool, ask, now) then
      local closed_us = policy.closed_until(policy.credential(known, road).closing)
      if not best or closed_us > best_us then
        best, best_us = road, closed_us
      end
    end
  end
  return best
end

-- What a probe starts on; nil if there is no room for it now.
function probe.pick(ticket, now)
  local ask = ticket.ask
  local known, model = config.model(ask.model), store.get('model', ask.model)
  local pool = store.get('pool', model.pool)
  local paused = config.provider(known.provider).paused or known.paused
  if recovery.is_shut(now) or paused or not has_lanes(known, model, ask.klass) then
    return nil
  end
  if policy.hindrance(known.windows, known, pool, ask, now) then
    return nil
  end
  local road = known.roads and pick_road(known, pool, ask, now)
  if known.roads and not road then
    return nil
  end
  return policy.choice(ticket, known, road)
end

function probe.no_room(ask)
  return door.left(ask, 'provider_queue_full', { retry_after_us = times.AT_LEAST_US, estimate = true, reason = '' })
end
