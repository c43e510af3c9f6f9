-- Purpose: closed targets: not before a time.
-- Twin:    scheduling/core/closings.py
-- target:  { provider, scope, key }; closing: { until_us, reason, used_up }

local function models_of(provider_key)
  local models = {}
  for index, key in ipairs(store.get('roster', provider_key).models) do
    models[index] = store.get('model', key)
  end
  return models
end

local function models_meant(provider_key, key)
  local named, meant = config.model(key), {}
  local group = named and named.provider == provider_key and named.group or key
  for _, model in ipairs(models_of(provider_key)) do
    if config.model(model.key).group == group then
      meant[#meant + 1] = model
    end
  end
  return meant
end

local function credentials_meant(provider_key, key)
  local credentials, meant = config.provider(provider_key).credentials, {}
  for _, known in ipairs(credentials) do
    if known.id == key then
      return { store.get('credential', provider_key .. SEP .. key) }
    end
  end
  for _, known in ipairs(credentials) do
    if known.group == key then
      meant[#meant + 1] = store.get('credential', provider_key .. SEP .. known.id)
    end
  end
  return meant
end

local function targets(target)
  if target.scope == 'provider' then
    return { store.get('provider', target.provider) }
  elseif target.scope == 'model' then
    return models_meant(target.provider, target.key)
  end
  return credentials_meant(target.provider, target.key)
end

local function wake_all(provider_key, now)
  for _, model in ipairs(models_of(provider_key)) do
    readiness.wake(model.pool, now)
  end
end

-- Waiting tickets of a provider: class by class, in the order in which they came.
local function waiting(provider_key)
  local tickets = {}
  for klass = 0, 2 do
    local of_class, rows = {}, order.page('young' .. SEP .. klass .. SEP .. provider_key, 0)
    for index = 1, #rows, 2 do
      of_class[#of_class + 1] = store.get('ticket', rows[index]:sub(1, rows[index]:find(SEP, 1, true) - 1))
    end
    table.sort(of_class, function(one, other) return one.entered < other.entered end)
    for _, ticket in ipairs(of_class) do
      tickets[#tickets + 1] = ticket
    end
  end
  return tickets
end

local function sent_away(ticket, now)
  local queue_us, code, told = now.us - ticket.arrived_us, nil, nil
  local used_up = door.used_up_closing(store.get('model', ticket.ask.model), now)
  if used_up then
    if used_up.until_us <= ticket.deadline_us or ticket.ask.klass == 2 then
      return nil
    end
    code, told = 'insufficient_quota', times.tell_until(ticket, used_up.until_us, 'closed', queue_us, now)
  else
    local start_us, reason = door.certain_start(ticket, now)
    if start_us <= ticket.deadline_us then
      return nil
    end
    code, told = 'provider_queue_timeout', times.tell_until(ticket, start_us, reason, queue_us, now)
  end
  endings.leave_line(ticket, now)
  return door.left(ticket.ask, code, told)
end

-- Close every target that is meant, `in_us` from now; answers who leaves for it.
function closings.close(target, in_us, reason, used_up, now)
  local left = {}
  if not store.get('provider', target.provider) or in_us <= 0 then
    return left
  end
  for _, closable in ipairs(targets(target)) do
    if not closable.closing or closable.closing.until_us < now.us + in_us then
      closable.closing = { until_us = now.us + in_us, reason = reason, used_up = used_up }
    end
  end
  wake_all(target.provider, now)
  for _, ticket in ipairs(waiting(target.provider)) do
    left[#left + 1] = sent_away(ticket, now)
  end
  return left
end

function closings.reopen(target, now)
  if store.get('provider', target.provider) then
    for _, closable in ipairs(targets(target)) do
      closable.closing = nil
    end
    wake_all(target.provider, now)
  end
end
