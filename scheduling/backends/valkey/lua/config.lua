-- Purpose: what is configured, as `arrange.lua` laid it out: providers, models, axes, own limits. Read by every verb
--          and changed by configure only, so decoded once and kept between calls until another one is in force.
-- Twin:    the spec, windows and roads held by ProviderState, ModelState and WindowAxis
-- KEYS:    <prefix>config   hash: <kind> SEP <id> -> packed record
local kept, kept_for = {}, nil -- decoded records by kind and id, and the arrangement they are of

function config.begin(root)
  if kept_for ~= root.arranged then
    kept, kept_for = {}, root.arranged
  end
end

local function get(kind, id)
  local of_kind = kept[kind]
  if not of_kind then
    of_kind = {}
    kept[kind] = of_kind
  end
  local record = of_kind[id]
  if not record then
    local packed = redis.call('HGET', store.key('config'), kind .. SEP .. id)
    record = packed and cmsgpack.unpack(packed) or nil
    of_kind[id] = record
  end
  return record
end

function config.provider(key)
  return get('provider', key)
end

-- A model as it is stored, to be laid out anew.
function config.bare_model(key)
  return cmsgpack.unpack(redis.call('HGET', store.key('config'), 'model' .. SEP .. key))
end

-- A model with its axes in place of their ids.
function config.model(key)
  local model = get('model', key)
  if model and not model.wired then
    config.wire(model)
  end
  return model
end

function config.axis(id)
  return get('axis', id)
end

function config.flow(key)
  return get('flow', key)
end

-- Starts of a calendar's periods, epoch us, ascending.
function config.calendar(id)
  return get('calendar', id)
end

local function axes_of(ids)
  local axes = {}
  for index, id in ipairs(ids) do
    axes[index] = config.axis(id)
  end
  return axes
end

function config.wire(model)
  model.windows, model.estimates = axes_of(model.window_ids), axes_of(model.estimate_ids)
  for _, road in ipairs(model.roads or {}) do
    road.windows, road.estimates = axes_of(road.window_ids), axes_of(road.estimate_ids)
  end
  model.wired = true
end

local function forget(kind, id)
  if kept[kind] then
    kept[kind][id] = nil
  end
end

function config.put(kind, id, record)
  redis.call('HSET', store.key('config'), kind .. SEP .. id, cmsgpack.pack(record))
  forget(kind, id)
end

-- Another arrangement is in force from now on.
function config.renew(root)
  root.arranged = root.epoch .. ':' .. run.serial()
  kept, kept_for = {}, nil
end

-- Ids of all records of a kind.
function config.ids(kind)
  local ids, start = {}, kind .. SEP
  for _, field in ipairs(redis.call('HKEYS', store.key('config'))) do
    if field:sub(1, #start) == start then
      ids[#ids + 1] = field:sub(#start + 1)
    end
  end
  return ids
end

function config.drop(kind, id)
  redis.call('HDEL', store.key('config'), kind .. SEP .. id)
  forget(kind, id)
end
