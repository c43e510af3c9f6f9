-- Purpose: configuration taken over while running: specs become lanes, windows and pools; who waits or runs stays.
-- Twin:    scheduling/core/arrange.py; what a profile's windows mean (plans, slices, bursts) the caller has worked out
-- spec:    { version, relay = { max_running, max_inside }, providers, flows, calendars = { { id, starts } … } }
--   provider: { key, lanes (nil: profile missing), max_waiting, paused, pause_message, pause_sends_away, rules,
--               credentials = { { id, group, lanes, model, paused } … }, models }
--   model:    { key, group, lanes_per_model, wait_timeout_us, rule, fair, paused, pause_message, pause_sends_away,
--               rules, plans = { { scope, tail, measure, mode, reason, limit, length_us, interval_us, burst,
--               per_minute, grain_us, calendar } … } }; `rules` is the lane rules as text, which nobody here reads
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

local function take_over_provider(spec, now)
  local known = config.provider(spec.key)
  local _ = store.get('provider', spec.key) or new_provider(spec.key)
  local roster = store.get('roster', spec.key)
  take_over_credentials(known, spec)
  local laid = lay_out_models(roster, spec)
  wiring.build_axes(roster, spec, laid)
  for _, key in ipairs(roster.models) do
    wiring.wire(laid[key], spec.credentials)
    config.put('model', key, laid[key])
  end
  spec.models, spec.configured = nil, true
  config.put('provider', spec.key, spec)
  wiring.build_pools(roster, laid, now)
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
