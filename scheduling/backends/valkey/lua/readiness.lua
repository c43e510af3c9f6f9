-- Purpose: which models may start something now: kept up to date with every change, so that picking never searches.
-- Twin:    scheduling/core/readiness.py, and State's Roll and Pool
-- KEYS:    <prefix>ready SEP <class>                  sorted set: providers by turn
--          <prefix>ready SEP <class> SEP <provider>   sorted set: models by running * 2^39 + turn
--          <prefix>dues                               sorted set: pad(pool) by when its first head is due
-- records: `model` by key: { key, running, batch, waiting, turn, pool, closing, paced_us, since_us, p50, blocked =
--          { due_us, reason }, lined = per class lines in the order, at = per class its score in the order, or false }
--          `provider` by key: { key, running, batch, waiting, slot_us, turn, closing, ready = per class, at }
--          `pool` by number: { asleep = keys of blocked models, pins = { { axis, until_us } … }, due_us }
-- Bounds:  at most 16,383 running on a model and 2^39 numbers (at 60 starts a second: 90 years).
local READY = { [0] = 'ready' .. SEP .. '0', 'ready' .. SEP .. '1', 'ready' .. SEP .. '2' }
local TURNS = 2 ^ 39

-- Put it at its score, or take it out (false); returns by how many more are there now.
local function place(of, klass, score, name)
  local before = of.at[klass + 1]
  of.at[klass + 1] = score
  if score then
    order.put(name, score, of.key, not before)
  else
    order.drop(name, of.key)
  end
  return (score and 1 or 0) - (before and 1 or 0)
end

function readiness.refresh_provider(provider)
  local limit = config.provider(provider.key).lanes
  for klass = 0, 2 do
    local may = provider.ready[klass + 1] > 0 and lanes.has_room(provider, limit, 1, klass)
    local score = may and provider.turn
    if provider.at[klass + 1] ~= score then
      place(provider, klass, score, READY[klass])
    end
  end
end

local function place_model(model, provider, klass, score)
  if model.at[klass + 1] ~= score then
    local change = place(model, klass, score, READY[klass] .. SEP .. provider.key)
    provider.ready[klass + 1] = provider.ready[klass + 1] + change
  end
end

function readiness.refresh(model)
  local known = config.model(model.key)
  local provider, score = store.get('provider', known.provider), model.running * TURNS + model.turn
  for klass = 0, 2 do
    local may = not model.blocked and model.lined[klass + 1] > 0
      and lanes.has_room(model, known.lanes_per_model, 1, klass)
    place_model(model, provider, klass, may and score)
  end
  readiness.refresh_provider(provider)
end

function readiness.leave_order(model)
  local provider = store.get('provider', config.model(model.key).provider)
  for klass = 0, 2 do
    place_model(model, provider, klass, false)
  end
  readiness.refresh_provider(provider)
end

local PACED = { pace = true, tokens = true }

-- Total time in which pace, not a lane, held this model up.
function readiness.paced_until(model, now)
  return model.paced_us + (model.since_us and now.us - model.since_us or 0)
end

function readiness.note_paced(model, reason, now)
  if PACED[reason] then
    model.since_us = model.since_us or now.us
  elseif model.since_us then
    model.paced_us = readiness.paced_until(model, now)
    model.since_us = nil
  end
end

function readiness.is_paced(reason)
  return PACED[reason] == true
end

function readiness.new_pool(number)
  return store.put('pool', number, { number = number, asleep = {}, pins = {} })
end

function readiness.drop_due(pool)
  if pool.due_us then
    order.drop('dues', num.pad(pool.number))
    pool.due_us = nil
  end
end

-- Its head cannot start before `due_us`: the model sleeps until then, or until its pool is woken.
function readiness.block(model, due_us, reason, now)
  local pool = store.get('pool', model.pool)
  table.insert(pool.asleep, model.key)
  model.blocked = { due_us = due_us, reason = reason }
  readiness.note_paced(model, reason, now)
  if due_us < num.FAR_US and (not pool.due_us or due_us < pool.due_us) then
    order.put('dues', due_us, num.pad(pool.number))
    pool.due_us = due_us
  end
  readiness.refresh(model)
end

-- Something about the pool's axes or lines changed: look at all its heads again.
function readiness.wake(pool_number, now)
  local pool = store.get('pool', pool_number)
  if #pool.asleep == 0 then
    return
  end
  local asleep = pool.asleep
  pool.asleep, pool.pins = {}, {}
  readiness.drop_due(pool)
  for _, key in ipairs(asleep) do
    store.get('model', key).blocked = nil
  end
  for _, key in ipairs(asleep) do
    local model = store.get('model', key)
    readiness.note_paced(model, nil, now)
    readiness.refresh(model)
  end
end

-- A pool whose models now stand in others.
function readiness.drop_pool(pool_number)
  local pool = store.get('pool', pool_number)
  for _, key in ipairs(pool and pool.asleep or {}) do
    local model = store.get('model', key)
    if model then
      model.blocked = nil
    end
  end
  if pool then
    readiness.drop_due(pool)
    store.drop('pool', pool_number)
  end
end

function readiness.pin(pool, axis_id, until_us)
  for _, pin in ipairs(pool.pins) do
    if pin.axis == axis_id then
      return
    end
  end
  table.insert(pool.pins, { axis = axis_id, until_us = until_us })
end

function readiness.pinned_until(pool, axis_id)
  for _, pin in ipairs(pool.pins) do
    if pin.axis == axis_id then
      return pin.until_us
    end
  end
end
