-- Purpose: what was charged in a window, and when there is room again. Sliding windows keep one amount a stamp, and a
--          list of the stamps in ascending order; a calendar keeps one count a period, in the record itself.
-- Twin:    scheduling/core/windows.py
-- KEYS:    <prefix>stamps SEP <window id>   list of stamps; the amounts are records of kind `charged`
-- window:  { id, length_us, grain_us, calendar, book }; book is part of a stored record:
--          { total, held, first, last } for sliding windows, { held, counts } for calendars
local PAGE = 64
local OPENS_AFTER_US = 5 * num.SECOND_US

local function stamps_key(window)
  return store.key('stamps') .. SEP .. window.id
end

local function charged_id(window, stamp)
  return window.id .. SEP .. stamp
end

local function now_text(now)
  now.text = now.text or num.pad(now.us)
  return now.text
end

function sliding.new_book()
  return { total = 0, held = 0 }
end

-- Charges `amount`; returns the stamp under which it can be corrected (text, as the list keeps it).
function sliding.add(window, amount, now)
  local grain_us, book = window.grain_us, window.book
  local stamp = grain_us == 1 and now_text(now) or num.pad(num.ceil_div(now.us, grain_us) * grain_us)
  local id = charged_id(window, stamp)
  if book.last == stamp then
    store.put('charged', id, store.get('charged', id) + amount)
  else
    redis.call('RPUSH', stamps_key(window), stamp)
    store.create('charged', id, amount)
    book.first, book.last = book.first or stamp, stamp
  end
  book.total = book.total + amount
  return stamp
end

function sliding.adjust(window, stamp, delta)
  local id = charged_id(window, stamp)
  local amount = store.get('charged', id)
  if amount then
    delta = math.max(delta, -amount)
    store.put('charged', id, amount + delta)
    window.book.total = window.book.total + delta
  end
end

local function trim(window, now)
  local book, left_us, key = window.book, now.us - window.length_us, stamps_key(window)
  while book.first and tonumber(book.first) <= left_us do
    local id = charged_id(window, book.first)
    book.total = book.total - (store.get('charged', id) or 0)
    store.drop('charged', id)
    redis.call('LPOP', key)
    book.first = redis.call('LINDEX', key, 0) or nil
  end
  if not book.first then
    book.last = nil
  end
end

function sliding.used(window, now)
  trim(window, now)
  return window.book.total + window.book.held
end

function sliding.earliest(window, amount, limit, now, forgiven)
  local missing = sliding.used(window, now) - (forgiven or 0) + amount - limit
  if missing <= 0 then
    return now.us
  end
  local start = 0
  while true do
    local stamps, ids = redis.call('LRANGE', stamps_key(window), start, start + PAGE - 1), {}
    for index, stamp in ipairs(stamps) do
      ids[index] = charged_id(window, stamp)
    end
    store.fetch('charged', ids)
    for index, stamp in ipairs(stamps) do
      missing = missing - store.get('charged', ids[index])
      if missing <= 0 then
        return tonumber(stamp) + window.length_us
      end
    end
    if #stamps < PAGE then
      return num.FAR_US
    end
    start = start + PAGE
  end
end

function sliding.erase(window)
  for _, stamp in ipairs(redis.call('LRANGE', stamps_key(window), 0, -1)) do
    store.drop('charged', charged_id(window, stamp))
  end
  redis.call('DEL', stamps_key(window))
end

function calendar.new_book()
  return { held = 0, counts = {} }
end

-- The start and the end (epoch us) of the period that holds `wall_us`. Beyond the last known one, periods are as long
-- as that was; whoever configures sends a year ahead.
local function bounds(window, wall_us)
  local starts = config.calendar(window.calendar)
  local low, high = 1, #starts
  while low < high do
    local middle = math.ceil((low + high) / 2)
    if starts[middle] <= wall_us then low = middle else high = middle - 1 end
  end
  if low < #starts then
    return starts[low], starts[low + 1]
  end
  local length_us = starts[low] - starts[low - 1]
  local passed = math.floor((wall_us - starts[low]) / length_us)
  return starts[low] + passed * length_us, starts[low] + (passed + 1) * length_us
end

local function periods(window, now)
  return (bounds(window, now.wall_us)), (bounds(window, now.wall_us - OPENS_AFTER_US))
end

local function count_of(window, start)
  for _, count in ipairs(window.book.counts) do
    if count.start == start then
      return count
    end
  end
end

function calendar.add(window, amount, now)
  local current, ruling = periods(window, now)
  for _, start in ipairs(current == ruling and { current } or { current, ruling }) do
    local count = count_of(window, start)
    if not count then
      count = { start = start, amount = 0 }
      table.insert(window.book.counts, count)
    end
    count.amount = count.amount + amount
  end
  return current
end

function calendar.adjust(window, start, delta)
  local count = count_of(window, start)
  if count then
    count.amount = math.max(0, count.amount + delta)
  end
end

function calendar.used(window, now)
  local current, ruling = periods(window, now)
  local kept = {}
  for _, count in ipairs(window.book.counts) do
    if count.start >= ruling then
      kept[#kept + 1] = count
    end
  end
  if #kept < #window.book.counts then
    window.book.counts = kept
  end
  local now_counted, ruling_counted = count_of(window, current), count_of(window, ruling)
  local most = math.max(now_counted and now_counted.amount or 0, ruling_counted and ruling_counted.amount or 0)
  return most + window.book.held
end

function calendar.earliest(window, amount, limit, now, forgiven)
  if calendar.used(window, now) - (forgiven or 0) + amount <= limit then
    return now.us
  end
  if window.book.held + amount > limit then
    return num.FAR_US
  end
  local _, end_us = bounds(window, now.wall_us - OPENS_AFTER_US)
  return now.us + end_us + OPENS_AFTER_US - now.wall_us
end

function calendar.erase()
  -- its counts went with the record
end
