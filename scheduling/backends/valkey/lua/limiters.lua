-- Purpose: a user's, token's or team's own limits: refused at the door when reached; their own concurrency parks lines.
-- Twin:    scheduling/core/limiters.py
-- KEYS:    <prefix>parked SEP <key>   sorted set: line ids in the order of parking
--          <prefix>resting            sorted set: keys of limits nobody uses, by when they may be dropped
-- records: `limiter` by key: { key, serial, concurrency, rpm, tpm, running, lines = lines with waiting tickets,
--          parkings, requests, tokens = books of two sliding windows of a minute }
--          `waits` by key SEP line id: how many of its tickets wait in that line
-- stamps:  { requests, tokens, amount }: where a start was entered, to be corrected at settle
local PARKED_AT_MOST = 2

local looked_at = { length_us = num.MINUTE_US, grain_us = 1 }

-- One of its two windows; good until the next is asked for.
local function window(limiter, name)
  looked_at.id, looked_at.book = name .. limiter.serial, limiter[name]
  return looked_at
end

local function waiting_in(limiter, line_id)
  return store.get('waits', limiter.key .. SEP .. line_id) or 0
end

local function parked_name(key)
  return 'parked' .. SEP .. key
end

function limiters.get(key)
  return store.get('limiter', key)
end

function limiters.take_over(limiter, flow)
  limiter.concurrency, limiter.rpm, limiter.tpm = flow.concurrency, flow.rpm, flow.tpm
end

-- Those that bind a ticket; made when first needed.
function limiters.of(ask, now)
  local found = {}
  for _, key in ipairs(ask.keys) do
    local flow = config.flow(key)
    if flow and (flow.concurrency or flow.rpm or flow.tpm) then
      local limiter = limiters.get(key)
      if not limiter then
        limiter = { key = key, serial = run.serial(), running = 0, lines = 0, parkings = 0 }
        limiter.requests, limiter.tokens = sliding.new_book(), sliding.new_book()
        limiters.take_over(limiter, flow)
        store.put('limiter', key, limiter)
        limiters.let_rest(limiter, now)
      end
      found[#found + 1] = limiter
    end
  end
  return found
end

-- Nobody uses it at the moment: in a minute there is nothing left of it to remember.
function limiters.let_rest(limiter, now)
  if limiter.running == 0 and limiter.lines == 0 then
    run.number()
    order.put('resting', now.us + num.MINUTE_US, limiter.key)
  end
end

function limiters.is_full(limiter)
  return limiter.concurrency ~= nil and limiter.running >= limiter.concurrency
end

function limiters.is_idle(limiter, now)
  return limiter.running == 0 and limiter.lines == 0
    and sliding.used(window(limiter, 'requests'), now) == 0
    and sliding.used(window(limiter, 'tokens'), now) == 0
end

function limiters.erase(limiter)
  sliding.erase(window(limiter, 'requests'))
  sliding.erase(window(limiter, 'tokens'))
  store.drop('limiter', limiter.key)
end

-- Own tokens: prompt and cap; a guessed cap fills the limit at most.
function limiters.amount(limiter, ask)
  local total = ask.charge.prompt + ask.charge.cap
  if not limiter.tpm or ask.charge.callers then
    return total
  end
  return math.min(total, math.max(limiter.tpm, ask.charge.prompt))
end

local function reached(name, limit, until_us)
  return { name = name, limit = limit, until_us = until_us and until_us < num.FAR_US and until_us or nil }
end

-- Why the limit refuses this ticket at the door; nil: it does not.
function limiters.reached(limiter, ask, line_id, now)
  local amount = limiters.amount(limiter, ask)
  if limiter.tpm and amount > limiter.tpm then
    return { name = 'tpm', limit = limiter.tpm, permanent = true }
  end
  if limiter.rpm then
    local until_us = sliding.earliest(window(limiter, 'requests'), 1, limiter.rpm, now)
    if until_us > now.us then
      return reached('rpm', limiter.rpm, until_us)
    end
  end
  if limiter.tpm then
    local until_us = sliding.earliest(window(limiter, 'tokens'), amount, limiter.tpm, now)
    if until_us > now.us then
      return reached('tpm', limiter.tpm, until_us)
    end
  end
  if limiter.concurrency then
    if limiter.running + waiting_in(limiter, line_id) >= limiter.concurrency + PARKED_AT_MOST then
      return reached('concurrency', limiter.concurrency, nil)
    end
  end
end

function limiters.enter(limiter, amount, line_id)
  local waiting = waiting_in(limiter, line_id)
  store.put('waits', limiter.key .. SEP .. line_id, waiting + 1)
  limiter.lines = limiter.lines + (waiting == 0 and 1 or 0)
  limiter.requests.held = limiter.requests.held + 1
  limiter.tokens.held = limiter.tokens.held + amount
end

-- It stands in line no more: it starts, or goes without a trace.
function limiters.leave(limiter, amount, line_id)
  local waiting = waiting_in(limiter, line_id) - 1
  if waiting > 0 then
    store.put('waits', limiter.key .. SEP .. line_id, waiting)
  else
    store.drop('waits', limiter.key .. SEP .. line_id)
    limiter.lines = limiter.lines - 1
  end
  limiter.requests.held = limiter.requests.held - 1
  limiter.tokens.held = limiter.tokens.held - amount
end

function limiters.start(limiter, amount, now)
  limiter.running = limiter.running + 1
  local requests = sliding.add(window(limiter, 'requests'), 1, now)
  return { requests = requests, tokens = sliding.add(window(limiter, 'tokens'), amount, now), amount = amount }
end

function limiters.settle(limiter, stamps, amount)
  sliding.adjust(window(limiter, 'tokens'), stamps.tokens, amount - stamps.amount)
  stamps.amount = amount
end

function limiters.forget(limiter, stamps)
  sliding.adjust(window(limiter, 'requests'), stamps.requests, -1)
  sliding.adjust(window(limiter, 'tokens'), stamps.tokens, -stamps.amount)
end

function limiters.park(limiter, line_id)
  limiter.parkings = limiter.parkings + 1
  order.put(parked_name(limiter.key), limiter.parkings, line_id)
end

function limiters.unpark(key, line_id)
  order.drop(parked_name(key), line_id)
end

-- The lines this limit held up, in the order of parking; they are no longer its own.
function limiters.take_parked(limiter)
  local name, parked = parked_name(limiter.key), {}
  local line_id = order.first(name)
  while line_id do
    parked[#parked + 1] = line_id
    order.drop(name, line_id)
    line_id = order.first(name)
  end
  return parked
end
