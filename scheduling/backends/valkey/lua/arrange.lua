-- Purpose: configuration taken over while running: specs become lanes, windows and pools; who waits or runs stays.
-- Twin:    scheduling/core/arrange.py; what a profile's windows mean (plans, slices, bursts) the caller has worked out
-- spec:    { version, relay = { max_running, max_inside }, providers, flows, calendars = { { id, starts } … } }
--   provider: { key, lanes (nil: profile missing), max_waiting, paused, pause_message, pause_sends_away, rules,
--               credentials = { { id, group, lanes, model, paused } … }, models }
--   model:    { key, group, lanes_per_model, wait_timeout_us, rule, fair, paused, pause_message, pause_sends_away, rules,
--               plans = { { scope, tail, measure, mode, reason, limit, length_us, interval_us, burst, per_minute,
--               grain_us, calendar } … } }; `rules` is the lane rules as text, which nobody here reads
--   flow:     { key, weight, concurrency, rpm, tpm }
-- records: `roster` '' : provider keys in the order in which they came; `roster` by provider: { models, axes }

local function new_provider(key)
  local roster = store.get('roster', '') or {}
  table.insert(roster, key)
  store.put('roster', '', roster)
  store.put('roster', key, { models = {}, axes = {} })
  return store.put('provider', key, { key = key, running = 0, batch = 0, waiting = 0, slot_us = 0, turn = run.number(),
    ready = { 0, 0, 0 }, at = { false, false, false } })
end

local function new_model(key)
  return store.put('model', key, { key = key, running = 0, batch = 0, waiting = 0, turn = run.number(), pool = 0,
    paced_us = 0, lined = { 0, 0, 0 }, at = { false, false, false } })
end

local function take_over_credentials(known, spec)
  local named = {}
  for _, one in ipairs(spec.credentials) do
    local id = spec.key .. SEP .. one.id
    named[one.id] = true
    if not store.get('credential', id) then
      store.put('credential', id, { serial = run.serial(), running = 0, batch = 0 })
    end
  end
  for _, one in ipairs(known and known.credentials or {}) do
    if not named[one.id] then
      store.drop('credential', spec.key .. SEP .. one.id)
    end
  end
end

local function line_ids_of(model_key, klass)
  local start, found = lines.id(model_key, klass) .. SEP, {}
  for _, id in ipairs(store.ids('line')) do
    if id:sub(1, #start) == start then
      found[#found + 1] = id
    end
  end
  return found
end

local function take_over_model(roster, spec)
  if not store.get('model', spec.key) then
    new_model(spec.key)
    table.insert(roster.models, spec.key)
  end
  for klass = 0, 2 do
    local fair = lines.is_fair(spec.key, klass)
    if fair ~= nil and fair ~= spec.fair then
      lines.resort(spec.key, klass, spec.fair, line_ids_of(spec.key, klass))
    end
  end
end

local function forget_model(key)
  local model = store.get('model', key)
  readiness.leave_order(model)
  readiness.drop_pool(model.pool)
  store.drop('model', key)
  store.drop('sample', key)
  lines.erase(key)
  config.drop('model', key)
end

-- Laid out: what will be known of each model, by key. What is gone stays while something waits or runs on it.
local function lay_out_models(roster, spec)
  local laid = {}
  for _, model in ipairs(spec.models) do
    take_over_model(roster, model)
    model.provider, model.configured = spec.key, true
    laid[model.key] = model
  end
  local kept = {}
  for _, key in ipairs(roster.models) do
    local model = store.get('model', key)
    if not laid[key] and model.waiting == 0 and model.running == 0 then
      forget_model(key)
    else
      kept[#kept + 1] = key
      if not laid[key] then
        laid[key] = config.bare_model(key)
        laid[key].configured = false
      end
    end
  end
  roster.models = kept
  return laid
end

local function groups_of(model, credentials)
  local groups, known = { { 'provider', '' }, { 'model', model.group }, { 'credential', '' } }, { [''] = true }
  for _, one in ipairs(credentials) do
    if not known[one.group] then
      known[one.group] = true
      groups[#groups + 1] = { 'credential', one.group }
    end
  end
  return groups
end

local function axis_id(provider_key, plan, group)
  return provider_key .. SEP .. plan.scope .. SEP .. group .. SEP .. plan.tail
end

-- One plan per axis; where models that share one name different limits, the lowest rules.
local function plans_of(roster, spec, laid)
  local ids, plan_of = {}, {}
  for _, key in ipairs(roster.models) do
    for _, group in ipairs(groups_of(laid[key], spec.credentials)) do
      for _, plan in ipairs(laid[key].plans) do
        if plan.scope == group[1] then
          local id = axis_id(spec.key, plan, group[2])
          if not plan_of[id] then
            ids[#ids + 1] = id
          end
          if not plan_of[id] or plan.limit < plan_of[id].limit then
            plan_of[id] = plan
          end
        end
      end
    end
  end
  return ids, plan_of
end

local function build_axis(id, plan)
  local old, axis = config.axis(id), { id = id }
  for name, value in pairs(plan) do -- a copy; the order does not matter
    axis[name] = value
  end
  if not old or (old.interval_us == 0) ~= (plan.interval_us == 0) then
    if old then
      axes.erase(old)
    end
    axis.serial = run.serial()
    axes.build(axis)
  else
    axis.serial, axis.grain_us = old.serial, old.grain_us
    axes.retune(axis, old.interval_us)
  end
  config.put('axis', id, axis)
end

local function build_axes(roster, spec, laid)
  local ids, plan_of = plans_of(roster, spec, laid)
  for _, id in ipairs(roster.axes) do
    if not plan_of[id] then
      axes.erase(config.axis(id))
      config.drop('axis', id)
    end
  end
  for _, id in ipairs(ids) do
    build_axis(id, plan_of[id])
  end
  roster.axes = ids
end

-- The model's axes on these groups: those that bind, and those that are only shown. Equal windows are one axis.
local function axis_ids(model, groups)
  local enforced, estimates, known = {}, {}, {}
  for _, group in ipairs(groups) do
    for _, plan in ipairs(model.plans) do
      if plan.scope == group[1] then
        local ids, id = plan.mode == 'enforced' and enforced or estimates, axis_id(model.provider, plan, group[2])
        if not known[id] then
          ids[#ids + 1], known[id] = id, true
        end
      end
    end
  end
  return enforced, estimates
end

-- Those bound to the model, if any is; else those that are not bound.
local function usable(credentials, model_key)
  local bound, free = {}, {}
  for _, one in ipairs(credentials) do
    if one.model == model_key then
      bound[#bound + 1] = one
    elseif not one.model then
      free[#free + 1] = one
    end
  end
  return #bound > 0 and bound or free
end

local function wire(model, credentials)
  local groups = { { 'provider', '' }, { 'model', model.group } }
  if #credentials == 0 then
    groups[3] = { 'credential', '' }
  end
  model.window_ids, model.estimate_ids = axis_ids(model, groups)
  model.roads = #credentials > 0 and {} or nil
  for index, one in ipairs(model.roads and usable(credentials, model.key) or {}) do
    local road = { credential = one.id, lanes = one.lanes, paused = one.paused }
    road.window_ids, road.estimate_ids = axis_ids(model, { { 'credential', one.group } })
    model.roads[index] = road
  end
end

-- What makes models share a pool: their axes and their credentials.
local function shared_by(model)
  local shared = {}
  for _, id in ipairs(model.window_ids) do
    shared[#shared + 1] = id
  end
  for _, road in ipairs(model.roads or {}) do
    shared[#shared + 1] = road.credential
    for _, id in ipairs(road.window_ids) do
      shared[#shared + 1] = id
    end
  end
  return shared
end

-- Models that share an axis or a credential share a pool. All are awake: everything is looked at anew.
local function build_pools(roster, laid, now)
  local into, pool_of = {}, {}
  local function kept(pool)
    while into[pool] do
      pool = into[pool]
    end
    return pool
  end
  for _, key in ipairs(roster.models) do
    local model = store.get('model', key)
    readiness.note_paced(model, nil, now)
    readiness.drop_pool(model.pool)
    model.blocked, model.pool = nil, run.number()
  end
  for _, key in ipairs(roster.models) do
    for _, shared in ipairs(shared_by(laid[key])) do
      local mine = kept(store.get('model', key).pool)
      local known = kept(pool_of[shared] or mine)
      pool_of[shared] = known
      if known ~= mine then
        into[mine] = known
      end
    end
  end
  for _, key in ipairs(roster.models) do
    local model = store.get('model', key)
    model.pool = kept(model.pool)
    readiness.new_pool(model.pool)
  end
end

local function take_over_provider(spec, now)
  local known = config.provider(spec.key)
  local _ = store.get('provider', spec.key) or new_provider(spec.key)
  local roster = store.get('roster', spec.key)
  take_over_credentials(known, spec)
  local laid = lay_out_models(roster, spec)
  build_axes(roster, spec, laid)
  for _, key in ipairs(roster.models) do
    wire(laid[key], spec.credentials)
    config.put('model', key, laid[key])
  end
  spec.models, spec.configured = nil, true
  config.put('provider', spec.key, spec)
  build_pools(roster, laid, now)
end

-- A provider that is no longer configured goes, unless something waits or runs on it.
local function retire_provider(key)
  local provider, known, roster = store.get('provider', key), config.provider(key), store.get('roster', key)
  if provider.running > 0 or provider.waiting > 0 then
    known.configured = false
    config.put('provider', key, known)
    return false
  end
  for _, model_key in ipairs(roster.models) do
    forget_model(model_key)
  end
  for _, id in ipairs(roster.axes) do
    axes.erase(config.axis(id))
    config.drop('axis', id)
  end
  for _, one in ipairs(known.credentials) do
    store.drop('credential', key .. SEP .. one.id)
  end
  config.drop('provider', key)
  store.drop('roster', key)
  store.drop('provider', key)
  return true
end

local function retire_providers(spec)
  local named, kept = {}, {}
  for _, provider in ipairs(spec.providers) do
    named[provider.key] = true
  end
  for _, key in ipairs(store.get('roster', '') or {}) do
    if named[key] or not retire_provider(key) then
      kept[#kept + 1] = key
    end
  end
  store.put('roster', '', kept)
end

local function take_over_flows(flows)
  local named = {}
  for _, flow in ipairs(flows) do
    named[flow.key] = true
    config.put('flow', flow.key, flow)
  end
  for _, key in ipairs(config.ids('flow')) do
    if not named[key] then
      config.drop('flow', key)
    end
  end
  for _, key in ipairs(store.ids('limiter')) do
    limiters.take_over(limiters.get(key), config.flow(key) or {})
  end
end

function arrange.take_over_calendars(calendars)
  for _, one in ipairs(calendars) do
    config.put('calendar', one.id, one.starts)
  end
end

-- Make `spec` the one in force.
function arrange.take_over(spec, now)
  local root = run.root
  root.max_running, root.max_inside = spec.relay.max_running, spec.relay.max_inside
  arrange.take_over_calendars(spec.calendars)
  for _, provider in ipairs(spec.providers) do
    take_over_provider(provider, now)
  end
  retire_providers(spec)
  take_over_flows(spec.flows)
  config.renew(root)
  for _, provider_key in ipairs(store.get('roster', '')) do
    for _, key in ipairs(store.get('roster', provider_key).models) do
      readiness.refresh(store.get('model', key))
    end
  end
end
