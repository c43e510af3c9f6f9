-- Purpose: the unit of work. A verb reads records (msgpack in one hash), changes them as Lua tables, and all that
--          differs is written at its end in one command: a verb that breaks has written no record.
--          Records of things that stay (models, limits, axes; not tickets) remain decoded between calls. They count
--          only if the stamp in the store is the one this library wrote last; anything else - a restart, a flush, a
--          replica that took over, a verb that broke - makes it read anew.
-- Twin:    the objects of scheduling/core/state.py
-- KEYS:    <prefix>state   hash: <kind> SEP <id> -> packed record; `stamp` -> epoch SEP version of the last verb
local prefix, stamp
local records, packed_of = {}, {} -- by kind and id; record false: there is none
local touched, kinds, ids, count = {}, {}, {}, 0 -- what this verb has looked at: by kind and id, and in turn
local ring_kinds, ring_ids, slot = {}, {}, 0 -- what remains, in the order in which it came: the oldest makes room
local in_ring = {} -- by kind and id
local REMAIN = { root = true, roster = true, provider = true, model = true, pool = true, credential = true, axis = true,
  lines = true, limiter = true, sample = true }
local REMAIN_AT_MOST = 8192
local SCHEMA_HELD_S = 15

local function forget_all()
  records, packed_of, touched = {}, {}, {}
  ring_kinds, ring_ids, slot, in_ring = {}, {}, 0, {}
  order.forget()
end

-- Whether there is anything in the store.
function store.begin(key)
  local found = redis.call('HGET', key .. 'state', 'stamp')
  if not found or found ~= stamp or key ~= prefix then
    forget_all()
  end
  prefix, stamp, count = key, nil, 0
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

local function set(kind, id, record)
  records[kind][id] = record
  if not touched[kind][id] then
    touched[kind][id] = true
    count = count + 1
    kinds[count], ids[count] = kind, id
  end
end

local function take_in(kind, id, packed)
  packed_of[kind][id] = packed
  set(kind, id, packed and cmsgpack.unpack(packed) or false)
end

local function known(kind)
  local of_kind = records[kind]
  if not of_kind then
    of_kind = {}
    records[kind], packed_of[kind], touched[kind], in_ring[kind] = of_kind, {}, {}, {}
  end
  return of_kind
end

-- The record, always the same table within a verb; nil if there is none.
function store.get(kind, id)
  local record = known(kind)[id]
  if record == nil then
    take_in(kind, id, redis.call('HGET', prefix .. 'state', kind .. SEP .. id))
    return records[kind][id] or nil
  end
  set(kind, id, record)
  return record or nil
end

function store.put(kind, id, record)
  store.get(kind, id)
  set(kind, id, record)
  return record
end

-- The same for a record that is certainly not stored yet.
function store.create(kind, id, record)
  if known(kind)[id] == nil then
    take_in(kind, id, false)
  end
  set(kind, id, record)
  return record
end

function store.drop(kind, id)
  store.get(kind, id)
  set(kind, id, false)
end

-- Read many at once; `get` finds them then.
function store.fetch(kind, wanted)
  local missing, fields = {}, {}
  for _, id in ipairs(wanted) do
    if known(kind)[id] == nil then
      missing[#missing + 1], fields[#fields + 1] = id, kind .. SEP .. id
    end
  end
  local found = #fields > 0 and redis.call('HMGET', prefix .. 'state', unpack(fields)) or {}
  for index, id in ipairs(missing) do
    take_in(kind, id, found[index])
  end
end

-- Ids of all records of a kind that are stored; walks the whole hash, for configuration and pictures only.
function store.ids(kind)
  local found, start = {}, kind .. SEP
  for _, field in ipairs(redis.call('HKEYS', prefix .. 'state')) do
    if field:sub(1, #start) == start then
      found[#found + 1] = field:sub(#start + 1)
    end
  end
  return found
end

local BATCH = 1000
local written, dropped = {}, {}

local function in_batches(command, arguments, last)
  for first = 1, last, BATCH do
    redis.call(command, prefix .. 'state', unpack(arguments, first, math.min(first + BATCH - 1, last)))
  end
end

local function forget(kind, id)
  records[kind][id], packed_of[kind][id] = nil, nil
end

-- The one that came longest ago makes room; if this verb looks at it too, it comes again.
local function make_room()
  slot = slot % REMAIN_AT_MOST + 1
  local kind, id = ring_kinds[slot], ring_ids[slot]
  if kind then
    in_ring[kind][id] = nil
    if not touched[kind][id] then
      forget(kind, id)
    end
  end
end

local function remain(kind, id, packed)
  packed_of[kind][id] = packed
  if not in_ring[kind][id] then
    make_room()
    ring_kinds[slot], ring_ids[slot], in_ring[kind][id] = kind, id, true
  end
end

-- What of a record has to be written: packed, if it differs; false, if it is gone; nil, if nothing.
local function change(kind, id)
  local record, before = records[kind][id], packed_of[kind][id]
  local packed = record and cmsgpack.pack(record) or false
  if packed and REMAIN[kind] then
    remain(kind, id, packed)
  else
    forget(kind, id)
  end
  if packed ~= before then
    return packed
  end
end

-- Write what has changed, and the stamp.
function store.flush(new_stamp)
  local writes, drops = 2, 0
  written[1], written[2] = 'stamp', new_stamp
  for index = 1, count do
    local kind, id = kinds[index], ids[index]
    touched[kind][id] = nil
    local packed = change(kind, id)
    if packed then
      written[writes + 1], written[writes + 2], writes = kind .. SEP .. id, packed, writes + 2
    elseif packed == false then
      dropped[drops + 1], drops = kind .. SEP .. id, drops + 1
    end
  end
  in_batches('HSET', written, writes)
  in_batches('HDEL', dropped, drops)
  stamp = new_stamp
end
