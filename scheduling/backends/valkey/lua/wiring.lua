-- Purpose: how models hang together: which axes there are, who uses which, and who therefore shares a pool.
-- Twin:    scheduling/core/arrange.py (_build_axes, _wire, _build_pools)
-- laid:    what is known of each model, by key, as arrange.lua lays it out

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

function wiring.build_axes(roster, spec, laid)
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

function wiring.wire(model, credentials)
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
function wiring.build_pools(roster, laid, now)
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
