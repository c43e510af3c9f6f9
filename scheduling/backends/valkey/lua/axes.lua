-- Purpose: the things a start needs room on: lanes count who runs, an axis is a ledger and perhaps a pacer before it.
-- Twin:    scheduling/core/axes.py
-- lane:    any record with { running, batch }
-- axis:    from the configuration: { id, serial, measure, reason, limit, length_us, interval_us (0: not paced),
--          burst, grain_us, calendar, per_minute }; its book is the record `axis`, with `open` = what is charged by
--          leases that are not settled yet
-- posting: { axis, serial, number, amount, stamp (nil: held) }
local BATCH_CLASS = 2

function lanes.has_room(lane, limit, spare, klass)
  if not limit then
    return true
  end
  if lane.running >= limit then
    return false
  end
  return klass ~= BATCH_CLASS or lane.batch < math.max(1, limit - spare)
end

function lanes.take(lane, klass)
  lane.running = lane.running + 1
  lane.batch = lane.batch + (klass == BATCH_CLASS and 1 or 0)
end

function lanes.give_back(lane, klass)
  lane.running = lane.running - 1
  lane.batch = lane.batch - (klass == BATCH_CLASS and 1 or 0)
end

local function book_of(axis)
  return store.get('axis', axis.id)
end

-- Made once for an axis as configured, and its book put in anew.
local function window_of(axis)
  local window = axis.window
  if not window then
    window = { id = 'a' .. axis.serial, length_us = axis.length_us, grain_us = axis.grain_us, calendar = axis.calendar }
    axis.window = window
  end
  window.book = book_of(axis)
  return window
end

local function kind_of(axis)
  return axis.calendar and calendar or sliding
end

function axes.build(axis)
  local book = kind_of(axis).new_book()
  book.open = 0
  if axis.interval_us > 0 then
    pacer.begin(book)
  end
  store.put('axis', axis.id, book)
end

function axes.erase(axis)
  kind_of(axis).erase(window_of(axis))
  store.drop('axis', axis.id)
end

function axes.retune(axis, old_interval_us)
  if axis.interval_us > 0 then
    pacer.retune(book_of(axis), old_interval_us, axis.interval_us)
  end
end

function axes.earliest(axis, amount, now, forgiven)
  local start_us = kind_of(axis).earliest(window_of(axis), amount, axis.limit, now, forgiven)
  if axis.interval_us > 0 then
    return math.max(start_us, pacer.earliest(axis, book_of(axis)))
  end
  return start_us
end

-- What all that runs and is not settled was charged: with it given back, `earliest` is a lower bound.
function axes.open_amount(axis)
  return book_of(axis).open
end

function axes.used(axis, now)
  return kind_of(axis).used(window_of(axis), now)
end

-- Something was charged of which no start is known here.
function axes.note(axis, amount, now)
  if axis.interval_us > 0 then
    pacer.start(axis, book_of(axis), -1, now)
  end
  kind_of(axis).add(window_of(axis), amount, now)
end

function axes.post(axis, number, amount, now, held)
  local book = book_of(axis)
  local posting = { axis = axis.id, serial = axis.serial, number = number, amount = amount }
  if axis.interval_us > 0 then
    pacer.start(axis, book, number, now)
  end
  if held then
    book.held = book.held + amount
  else
    posting.stamp = kind_of(axis).add(window_of(axis), amount, now)
  end
  book.open = book.open + amount
  return posting
end

-- The axis a posting is on; nil if it is gone, or another one by the same name came after it.
function axes.of(posting)
  local axis = config.axis(posting.axis)
  return axis and axis.serial == posting.serial and axis or nil
end

function axes.settle(axis, posting, amount, now)
  local window = window_of(axis)
  window.book.open = window.book.open - posting.amount
  if posting.stamp then
    kind_of(axis).adjust(window, posting.stamp, amount - posting.amount)
  else
    window.book.held = window.book.held - posting.amount
    posting.stamp = kind_of(axis).add(window, amount, now)
  end
  posting.amount = amount
end

-- Settled, and its charge stays.
function axes.keep(axis, posting)
  local book = book_of(axis)
  book.open = book.open - posting.amount
end

function axes.forget(axis, posting)
  local window = window_of(axis)
  window.book.open = window.book.open - posting.amount
  if posting.stamp then
    kind_of(axis).adjust(window, posting.stamp, -posting.amount)
  else
    window.book.held = window.book.held - posting.amount
  end
  if axis.interval_us > 0 then
    pacer.forget(window.book, posting.number)
  end
end

function axes.spacing_us(axis, amount)
  local share_us = num.scaled(amount, axis.length_us, math.max(1, axis.limit))
  return axis.interval_us > 0 and math.max(share_us, axis.interval_us) or share_us
end
