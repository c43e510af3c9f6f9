-- Purpose: who goes next: the one decision over all axes.
-- Twin:    scheduling/core/policy.py (the order of the walk and what pins stand there)
-- choice:    { ticket, credential = the road's, or nil, windows, estimates = axes to be charged }
-- hindrance: { until_us, reason, pins = axes, keeps_warm }
local KEPT_WARM_US = 2 * num.SECOND_US

function policy.closed_until(closing)
  return closing and closing.until_us or 0
end

local function shut(known, model, now)
  local provider = store.get('provider', known.provider)
  if config.provider(known.provider).paused or known.paused then
    return { until_us = num.FAR_US, reason = 'paused', pins = {} }
  end
  local until_us = math.max(policy.closed_until(provider.closing), policy.closed_until(model.closing))
  return until_us > now.us and { until_us = until_us, reason = 'closed', pins = {} } or nil
end

-- What of these windows holds the request up; nil: all have room.
function policy.hindrance(windows, known, pool, ask, now)
  local until_us, reason, pins = now.us, 'pace', {}
  for _, axis in ipairs(windows) do
    local amount = charge.arrival_amount(known.rule, axis.measure, ask.charge, axis.limit)
    local start_us = axes.earliest(axis, amount, now)
    if start_us > now.us then
      pins[#pins + 1] = axis
    else
      local pinned_us = readiness.pinned_until(pool, axis.id)
      start_us = pinned_us and math.max(pinned_us, now.us + 1) or start_us
    end
    if start_us > until_us then
      until_us, reason = start_us, axis.reason
    end
  end
  return until_us > now.us and { until_us = until_us, reason = reason, pins = pins } or nil
end

-- The credential's record; roads name those that are configured, so it is there.
function policy.credential(known, road)
  return store.get('credential', known.provider .. SEP .. road.credential)
end

local function road_hindrance(road, known, pool, ask, now)
  if road.paused then
    return { until_us = num.FAR_US, reason = 'paused', pins = {} }
  end
  local credential = policy.credential(known, road)
  local closed_us = policy.closed_until(credential.closing)
  if closed_us > now.us then
    return { until_us = closed_us, reason = 'closed', pins = {} }
  end
  if not lanes.has_room(credential, road.lanes, 1, ask.klass) then
    return { until_us = num.FAR_US, reason = 'credential', pins = {} }
  end
  return policy.hindrance(road.windows, known, pool, ask, now)
end

-- No credential is free: wait for the first; all axes in the way are pinned, for any of them will do.
local function join(hindered)
  local joined = { until_us = num.FAR_US, reason = 'credential', pins = {} }
  for index, one in ipairs(hindered) do
    if index == 1 or one.until_us < joined.until_us then
      joined.until_us, joined.reason = one.until_us, one.reason
    end
    for _, axis in ipairs(one.pins) do
      table.insert(joined.pins, axis)
    end
  end
  return joined
end

-- Rather the conversation's last one, then the least loaded, then the first.
local function best_of(free, last, known)
  local best, best_running
  for _, road in ipairs(free) do
    local running = policy.credential(known, road).running
    if not best or (road.credential == last and best.credential ~= last)
      or ((road.credential == last) == (best.credential == last) and running < best_running) then
      best, best_running = road, running
    end
  end
  return best
end

local function pick_road(ticket, known, pool, now)
  local ask, free, hindered, warm = ticket.ask, {}, {}, nil
  local last = ask.conversation ~= '' and redis.call('HGET', store.key('talks'), ask.conversation) or nil
  for _, road in ipairs(known.roads) do
    local hindered_by = road_hindrance(road, known, pool, ask, now)
    if not hindered_by then
      free[#free + 1] = road
    else
      hindered[#hindered + 1] = hindered_by
      if road.credential == last and hindered_by.until_us <= now.us + KEPT_WARM_US then
        warm = hindered_by
      end
    end
  end
  if #free == 0 then
    return nil, join(hindered)
  end
  if warm and not ticket.kept_warm then
    return nil, { until_us = warm.until_us, reason = warm.reason, pins = {}, keeps_warm = true }
  end
  return best_of(free, last, known)
end

local function both(one, other)
  local all = {}
  for _, axis in ipairs(one) do
    all[#all + 1] = axis
  end
  for _, axis in ipairs(other) do
    all[#all + 1] = axis
  end
  return all
end

function policy.choice(ticket, known, road)
  if not road then
    return { ticket = ticket, windows = known.windows, estimates = known.estimates }
  end
  return { ticket = ticket, credential = road, windows = both(known.windows, road.windows),
    estimates = both(known.estimates, road.estimates) }
end

-- Whether a head starts now, given room on its lanes and in its own limits: a choice, or nil and a hindrance.
local function judge(ticket, model, now)
  local known, pool = config.model(model.key), store.get('pool', model.pool)
  local hindered_by = shut(known, model, now) or policy.hindrance(known.windows, known, pool, ticket.ask, now)
  if hindered_by then
    return nil, hindered_by
  end
  if not known.roads then
    return policy.choice(ticket, known, nil)
  end
  local road, road_hindered_by = pick_road(ticket, known, pool, now)
  if not road then
    return nil, road_hindered_by
  end
  return policy.choice(ticket, known, road)
end

local function full_limiter(ticket)
  for _, own in ipairs(ticket.own) do
    local limiter = limiters.get(own.key)
    if limiters.is_full(limiter) then
      return limiter
    end
  end
end

local function keep_warm(ticket, line, until_us)
  ticket.kept_warm = true
  if line.warm then
    order.drop('warming', line.warm)
  end
  line.warm = num.pad(ticket.number) .. num.pad(line.serial) .. line.id
  order.put('warming', until_us, line.warm)
end

-- A model found blocked goes to sleep, a line found held up is parked.
local function try(model, line, now)
  local ticket = store.get('ticket', line.head)
  local limiter = full_limiter(ticket)
  if limiter then
    limiters.park(limiter, line.id)
    lines.park(line, limiter.key)
    readiness.refresh(model)
    return nil
  end
  local choice, hindered_by = judge(ticket, model, now)
  if choice then
    return choice
  end
  if hindered_by.keeps_warm then
    keep_warm(ticket, line, hindered_by.until_us)
    lines.park(line, nil)
    readiness.refresh(model)
    return nil
  end
  local pool = store.get('pool', model.pool)
  for _, axis in ipairs(hindered_by.pins) do
    readiness.pin(pool, axis.id, hindered_by.until_us)
  end
  readiness.block(model, hindered_by.until_us, hindered_by.reason, now)
end

-- The next ticket that may start now; nil: nobody.
function policy.pick_next(now)
  local root = run.root
  if recovery.is_shut(now) then
    return nil
  end
  for klass = 0, 2 do
    if lanes.has_room(root, root.max_running, 2, klass) then
      local provider = order.first('ready' .. SEP .. klass)
      while provider do
        local key = order.first('ready' .. SEP .. klass .. SEP .. provider)
        local choice = try(store.get('model', key), lines.first(key, klass), now)
        if choice then
          return choice
        end
        provider = order.first('ready' .. SEP .. klass)
      end
    end
  end
end
