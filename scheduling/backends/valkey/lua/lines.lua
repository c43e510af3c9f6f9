-- Purpose: lines: who waits, and whose turn it is; fair share by virtual time.
-- Twin:    scheduling/core/lines.py (the idea and its bound stand there)
-- KEYS:    <prefix>wait SEP <line id>    sorted set: ticket ids by rank * 2^52 + number
--          <prefix>lined SEP <lines id>  sorted set: pad(head's number) .. flow of lines that are not parked,
--                                        by the head's rank * 2^52 + the line's tag
--          <prefix>idle SEP <lines id>   sorted set: flows without a line, by their tag, while it is ahead of the clock
-- records: `lines` by lines id (model SEP class): { id, model, klass, fair, clock, served, weights, last_cost, count,
--          idle }
--          `line` by line id (lines id SEP flow): { id, lines, model, flow, serial, weight, tag, count, head, rank,
--          number, parked, on = key of the limit it is parked on, at, score = where it is lined up, warm }
local RANK = num.FAR_US

function lines.id(model_key, klass)
  return model_key .. SEP .. klass
end

-- Made once: it goes with the request.
function lines.line_id(ask)
  if not ask.line then
    ask.line = ask.model .. SEP .. ask.klass .. SEP .. ask.flow
  end
  return ask.line
end

function lines.line(id)
  return store.get('line', id)
end

local function lines_of(model_key, klass)
  local id = lines.id(model_key, klass)
  local of = store.get('lines', id)
  if not of then
    of = { id = id, model = model_key, klass = klass, clock = 0, served = 0, weights = 0, count = 0 }
    of.last_cost = num.SECOND_US
    of.fair = config.model(model_key).fair
    store.put('lines', id, of)
  end
  return of
end

local function count_lined(of, change)
  local model = store.get('model', of.model)
  model.lined[of.klass + 1] = model.lined[of.klass + 1] + change
end

local function unsort(of, line)
  if line.at then
    order.drop('lined' .. SEP .. of.id, line.at)
    line.at, line.score = nil, nil
    count_lined(of, -1)
  end
end

local function sort(of, line)
  if line.parked or line.count == 0 then
    return
  end
  local at = num.pad(line.number) .. line.flow
  local score = line.rank * RANK + (of.fair and line.tag or 0)
  if line.at == at and line.score == score then
    return
  end
  if line.at and line.at ~= at then
    order.drop('lined' .. SEP .. of.id, line.at)
  elseif not line.at then
    count_lined(of, 1)
  end
  order.put('lined' .. SEP .. of.id, score, at)
  line.at, line.score = at, score
end

local function remember(of, flow, tag)
  local name = 'idle' .. SEP .. of.id
  if of.idle then
    order.drop(name, flow)
  end
  if tag > of.clock then
    order.put(name, tag, flow)
    of.idle = true
  end
  local first, first_tag = nil, nil
  if of.idle then
    first, first_tag = order.first(name)
  end
  while first and first_tag <= of.clock do
    order.drop(name, first)
    first, first_tag = order.first(name)
  end
end

local function open(of, ask, weight)
  local tag = of.clock
  if of.idle then
    tag = math.max(tag, order.score('idle' .. SEP .. of.id, ask.flow) or 0)
    order.drop('idle' .. SEP .. of.id, ask.flow)
  end
  local line = { id = lines.line_id(ask), lines = of.id, model = of.model, flow = ask.flow, serial = run.serial() }
  line.weight, line.tag, line.count, line.parked = weight, tag, 0, false
  of.weights, of.count = of.weights + weight, of.count + 1
  return store.put('line', line.id, line)
end

local function close(of, line)
  unsort(of, line)
  store.drop('line', line.id)
  of.weights, of.count = of.weights - line.weight, of.count - 1
  if line.on then
    limiters.unpark(line.on, line.id)
  end
  if of.count > 0 then
    remember(of, line.flow, line.tag)
    return
  end
  of.clock, of.served = 0, 0 -- nobody waits: the busy period is over, all are even
  if of.idle then
    order.clear('idle' .. SEP .. of.id)
    of.idle = nil
  end
end

local function set_head(line, ticket_id, score)
  line.head, line.rank, line.number = ticket_id, math.floor(score / RANK), score % RANK
end

function lines.add(ticket, weight)
  local ask = ticket.ask
  local of = lines_of(ask.model, ask.klass)
  local line = lines.line(lines.line_id(ask)) or open(of, ask, weight)
  local score = ticket.rank * RANK + ticket.number
  order.put('wait' .. SEP .. line.id, score, ticket.id, true)
  line.count = line.count + 1
  if line.count == 1 or score < line.rank * RANK + line.number then
    set_head(line, ticket.id, score)
  end
  sort(of, line)
  return line
end

function lines.remove(ticket)
  local ask = ticket.ask
  local of, line = lines_of(ask.model, ask.klass), lines.line(lines.line_id(ask))
  order.drop('wait' .. SEP .. line.id, ticket.id)
  line.count = line.count - 1
  if line.count == 0 then
    close(of, line)
    return
  end
  if line.head == ticket.id then
    set_head(line, order.first('wait' .. SEP .. line.id))
  end
  sort(of, line)
end

-- The line whose head goes next; nil if all are parked.
function lines.first(model_key, klass)
  local at = order.first('lined' .. SEP .. lines.id(model_key, klass))
  return at and lines.line(lines.id(model_key, klass) .. SEP .. at:sub(17))
end

-- The ticket starts: take it out, charge its flow, move the clock. Returns what its tag grew by.
function lines.charge(ticket, cost)
  local ask = ticket.ask
  local of, line = lines_of(ask.model, ask.klass), lines.line(lines.line_id(ask))
  local share = num.ceil_div(cost, line.weight)
  of.clock = math.max(of.clock + of.served, line.tag)
  of.served = math.floor(cost / of.weights)
  of.last_cost = cost
  line.tag = line.tag + share
  lines.remove(ticket)
  return share
end

-- A start that was never sent costs its flow nothing.
function lines.give_back(ask, share)
  local of, line = lines_of(ask.model, ask.klass), lines.line(lines.line_id(ask))
  if line then
    line.tag = math.max(0, line.tag - share)
    sort(of, line)
  elseif of.idle then
    local tag = order.score('idle' .. SEP .. of.id, ask.flow)
    if tag then
      remember(of, ask.flow, tag - share)
    end
  end
end

-- Held up by something of its own only: it pins nothing, the others pass.
function lines.park(line, limiter_key)
  line.parked, line.on = true, limiter_key
  unsort(store.get('lines', line.lines), line)
end

function lines.unpark(line)
  line.parked, line.on = false, nil
  sort(store.get('lines', line.lines), line)
end

-- Fair share or plain first come, first served, from now on; `line_ids`: the lines of this model and class.
function lines.resort(model_key, klass, fair, line_ids)
  local of = lines_of(model_key, klass)
  of.fair = fair
  for _, id in ipairs(line_ids) do
    sort(of, lines.line(id))
  end
end

function lines.is_fair(model_key, klass)
  local of = store.get('lines', lines.id(model_key, klass))
  return of and of.fair
end

function lines.erase(model_key)
  for klass = 0, 2 do
    store.drop('lines', lines.id(model_key, klass))
  end
end
