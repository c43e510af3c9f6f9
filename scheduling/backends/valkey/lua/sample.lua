-- Purpose: a short memory of what something took; percentiles over the last values.
-- Twin:    scheduling/core/sample.py
-- record:  `sample` by model: { recent = oldest first, sorted = ascending }, us
local REMEMBERED = 64

-- The first index whose value is greater than `value`.
local function after(sorted, value)
  local low, high = 1, #sorted + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if sorted[middle] <= value then low = middle + 1 else high = middle end
  end
  return low
end

function sample.add(key, value)
  local of = store.get('sample', key) or store.put('sample', key, { recent = {}, sorted = {} })
  if #of.recent == REMEMBERED then
    table.remove(of.sorted, after(of.sorted, table.remove(of.recent, 1)) - 1)
  end
  table.insert(of.recent, value)
  table.insert(of.sorted, after(of.sorted, value), value)
end

-- The value below which `percent` of those greater than `above` lie; nil if there are none.
function sample.percentile(key, percent, above)
  local of = store.get('sample', key)
  if not of then
    return nil
  end
  local start = after(of.sorted, above or -1)
  local count = #of.sorted - start + 1
  return count > 0 and of.sorted[start + math.floor((count - 1) * percent / 100)] or nil
end
