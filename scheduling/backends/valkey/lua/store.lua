-- Purpose: the unit of work. A verb reads records (msgpack in one hash), changes them as Lua tables, and all that differs
--          is written at its end in one command: a verb that breaks has written no record.
--          Records of things that stay (models, limits, axes; not tickets) remain decoded between calls. They count only
--          if the stamp in the store is the one this library wrote last; anything else - a restart, a flush, a replica
--          that took over, a verb that broke - makes it read anew.
-- Twin:    the objects of scheduling/core/state.py
-- KEYS:    <prefix>state   hash: <kind> SEP <id> -> packed record; `stamp` -> epoch SEP version of the last verb
local prefix
local units, touched, count, stamp = {}, {}, 0, nil
local REMAIN = { root = true, roster = true, provider = true, model = true, pool = true, credential = true, axis = true,
  lines = true, limiter = true, sample = true }
local REMAIN_AT_MOST = 5000
local SCHEMA_HELD_S = 15

-- Whether there is anything in the store.
function store.begin(key)
  local found = redis.call('HGET', key .. 'state', 'stamp')
  if not found or found ~= stamp or key ~= prefix or count > REMAIN_AT_MOST then
    units, count = {}, 0
    order.forget()
  end
  prefix, touched, stamp = key, {}, nil
  order.begin()
  return found ~= false
end

function store.key(name)
  return prefix .. name
end

-- The records' schema stands outside of them, for other releases to see: <hash tag>:schema, kept while polls come in.
function store.hold_schema()
  local tag, schema = prefix:match('^(%b{}):(%d+):')
  redis.call('SET', tag .. ':schema', schema, 'EX', SCHEMA_HELD_S)
end

local function new_unit(kind, id, packed)
  local unit = { kind = kind, id = id, packed = packed, record = packed and cmsgpack.unpack(packed) or nil }
  units[kind] = units[kind] or {}
  units[kind][id] = unit
  count = count + 1
  return unit
end

local function touch(unit)
  if not unit.is_touched then
    unit.is_touched = true
    touched[#touched + 1] = unit
  end
  return unit
end

local function known(kind, id)
  local of_kind = units[kind]
  return of_kind and of_kind[id]
end

local function unit_of(kind, id)
  local unit = known(kind, id)
  return touch(unit or new_unit(kind, id, redis.call('HGET', prefix .. 'state', kind .. SEP .. id)))
end

-- The record, always the same table within a verb; nil if there is none.
function store.get(kind, id)
  return unit_of(kind, id).record
end

function store.put(kind, id, record)
  unit_of(kind, id).record = record
  return record
end

-- The same for a record that is certainly not stored yet.
function store.create(kind, id, record)
  touch(known(kind, id) or new_unit(kind, id, false)).record = record
  return record
end

function store.drop(kind, id)
  unit_of(kind, id).record = nil
end

-- Read many at once; `get` finds them then.
function store.fetch(kind, ids)
  local missing, fields = {}, {}
  for _, id in ipairs(ids) do
    if not known(kind, id) then
      missing[#missing + 1], fields[#fields + 1] = id, kind .. SEP .. id
    end
  end
  local found = #fields > 0 and redis.call('HMGET', prefix .. 'state', unpack(fields)) or {}
  for index, id in ipairs(missing) do
    touch(new_unit(kind, id, found[index]))
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

local function in_batches(command, arguments)
  for first = 1, #arguments, BATCH do
    redis.call(command, prefix .. 'state', unpack(arguments, first, math.min(first + BATCH - 1, #arguments)))
  end
end

local function forget(unit)
  units[unit.kind][unit.id] = nil
  count = count - 1
end

-- Write what has changed, and the stamp.
function store.flush(new_stamp)
  local written, dropped = { 'stamp', new_stamp }, {}
  for _, unit in ipairs(touched) do
    local packed = unit.record ~= nil and cmsgpack.pack(unit.record) or false
    if packed and packed ~= unit.packed then
      written[#written + 1], written[#written + 2] = unit.kind .. SEP .. unit.id, packed
    elseif unit.packed and not packed then
      dropped[#dropped + 1] = unit.kind .. SEP .. unit.id
    end
    unit.packed, unit.is_touched = packed, false
    if not (packed and REMAIN[unit.kind]) then
      forget(unit)
    end
  end
  in_batches('HSET', written)
  in_batches('HDEL', dropped)
  stamp = new_stamp
end
