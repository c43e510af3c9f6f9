-- Purpose: the unit of work. A verb reads plain records (msgpack in one hash), changes them as Lua tables, and all that
--          differs is written at its end in one command: a verb that breaks has written no record.
-- Twin:    the objects of scheduling/core/state.py
-- KEYS:    <prefix>state   hash: <kind> SEP <id> -> packed record
local store = {}
local prefix, units, unit_at

function store.begin(key)
  prefix, units, unit_at = key, {}, {}
end

function store.key(name)
  return prefix .. name
end

local function unit_of(kind, id)
  local field = kind .. SEP .. id
  local unit = unit_at[field]
  if not unit then
    local packed = redis.call('HGET', prefix .. 'state', field)
    unit = { field = field, packed = packed, record = packed and cmsgpack.unpack(packed) or nil }
    unit_at[field] = unit
    units[#units + 1] = unit
  end
  return unit
end

-- The record, always the same table within a verb; nil if there is none.
function store.get(kind, id)
  return unit_of(kind, id).record
end

function store.put(kind, id, record)
  unit_of(kind, id).record = record
  return record
end

-- The same for a record that is certainly not there yet.
function store.create(kind, id, record)
  local unit = { field = kind .. SEP .. id, packed = false, record = record }
  unit_at[unit.field] = unit
  units[#units + 1] = unit
  return record
end

function store.drop(kind, id)
  unit_of(kind, id).record = nil
end

-- Read many at once; `get` finds them then.
function store.fetch(kind, ids)
  local fields = {}
  for _, id in ipairs(ids) do
    if not unit_at[kind .. SEP .. id] then
      fields[#fields + 1] = kind .. SEP .. id
    end
  end
  if #fields == 0 then
    return
  end
  local found = redis.call('HMGET', prefix .. 'state', unpack(fields))
  for index, field in ipairs(fields) do
    local packed = found[index]
    local unit = { field = field, packed = packed, record = packed and cmsgpack.unpack(packed) or nil }
    unit_at[field] = unit
    units[#units + 1] = unit
  end
end

-- Ids of all records of a kind that are stored; walks the whole hash, for configuration and pictures only.
function store.ids(kind)
  local ids, start = {}, kind .. SEP
  for _, field in ipairs(redis.call('HKEYS', prefix .. 'state')) do
    if field:sub(1, #start) == start then
      ids[#ids + 1] = field:sub(#start + 1)
    end
  end
  return ids
end

local BATCH = 1000

local function in_batches(command, key, arguments)
  for first = 1, #arguments, BATCH do
    redis.call(command, key, unpack(arguments, first, math.min(first + BATCH - 1, #arguments)))
  end
end

function store.flush()
  local written, dropped = {}, {}
  for _, unit in ipairs(units) do
    local packed = unit.record ~= nil and cmsgpack.pack(unit.record) or false
    if packed and packed ~= unit.packed then
      written[#written + 1], written[#written + 2] = unit.field, packed
    elseif unit.packed and not packed then
      dropped[#dropped + 1] = unit.field
    end
    unit.packed = packed
  end
  in_batches('HSET', prefix .. 'state', written)
  in_batches('HDEL', prefix .. 'state', dropped)
end
