-- Purpose: when the store is new though it should not be, or was restarted and may have forgotten its last second.
--          Nothing starts until every process that was there has said what it holds, or for 5 s at most. If one is
--          still missing then and all was forgotten, nobody knows what it has charged: windows shorter than a day
--          count as full. What is announced counts from now on: later than it was charged, so never too little.
-- Twin:    none; the core's state lives and dies with its process
-- root:    { gate_us = nothing starts before it (nil: open), missing = boxes not heard of yet, forgot_all, adopt_us =
--          until then leases that are not known are taken over, run_id = the server's, as last told }
local GRACE_US, ADOPT_US = 5 * num.SECOND_US, 10 * num.SECOND_US
local DAY_US = 86400 * num.SECOND_US

function recovery.is_shut(now)
  local gate_us = run.root.gate_us
  return gate_us ~= nil and now.us < gate_us
end

-- Wait for the boxes named.
function recovery.begin(missing, forgot_all, now)
  local root = run.root
  root.missing, root.forgot_all = missing, forgot_all
  root.gate_us, root.adopt_us = now.us + GRACE_US, now.us + ADOPT_US
end

local function fill(axis, now)
  local amount = axis.limit - axes.used(axis, now)
  if axis.mode == 'enforced' and not axis.calendar and axis.length_us < DAY_US and amount > 0 then
    axes.note(axis, amount, now)
  end
end

local function fill_all(now)
  for _, provider_key in ipairs(store.get('roster', '') or {}) do
    for _, id in ipairs(store.get('roster', provider_key).axes) do
      fill(config.axis(id), now)
    end
  end
end

-- Open again if all have said what they hold, or the time is over.
function recovery.open(now)
  local root = run.root
  if not root.gate_us or (now.us < root.gate_us and #root.missing > 0) then
    return
  end
  if root.forgot_all and #root.missing > 0 then
    fill_all(now)
  end
  root.gate_us, root.missing, root.forgot_all = nil, nil, nil
end

function recovery.hear(box)
  local root, left = run.root, {}
  for _, one in ipairs(root.missing or {}) do
    if one ~= box then
      left[#left + 1] = one
    end
  end
  root.missing = root.gate_us and left or nil
end

-- Another run id than it had: the server was restarted, and may have lost its last second.
function recovery.notice_restart(run_id, now)
  local root, missing = run.root, {}
  if root.run_id and root.run_id ~= run_id and not root.gate_us then
    local rows = order.page('boxes', 0)
    for index = 1, #rows, 2 do
      missing[#missing + 1] = rows[index]
    end
    recovery.begin(missing, false, now)
  end
  root.run_id = run_id
end

-- Whether leases of that epoch may be unknown without having been reaped.
function recovery.adopts(epoch, now)
  return epoch ~= run.root.epoch or now.us < (run.root.adopt_us or 0)
end

-- held: { ask, credential (nil), age_us = since it was granted, pace_us, arrival, settled }
function recovery.adopt(held, now)
  local known = config.model(held.ask.model)
  if known then
    leases.adopt(held, known, now)
  end
  return known ~= nil
end

-- charges: { { axis, amount } … } of a process's recent windows
function recovery.charge(charges, now)
  for _, one in ipairs(charges) do
    local axis = config.axis(one.axis)
    if axis then
      axes.note(axis, one.amount, now)
    end
  end
end

local function bring_forward(closable, us)
  if closable and closable.closing then
    closable.closing.until_us = closable.closing.until_us - us
  end
end

-- The clock went on by more than is believed: closings end by the calendar, so they end by that much earlier.
function recovery.catch_up(skipped_us, now)
  for _, provider_key in ipairs(store.get('roster', '') or {}) do
    bring_forward(store.get('provider', provider_key), skipped_us)
    for _, one in ipairs(config.provider(provider_key).credentials) do
      bring_forward(store.get('credential', provider_key .. SEP .. one.id), skipped_us)
    end
    for _, key in ipairs(store.get('roster', provider_key).models) do
      local model = store.get('model', key)
      bring_forward(model, skipped_us)
      readiness.wake(model.pool, now)
    end
  end
end
