-- Purpose: come-back slots: the k-th refused caller is told when place k is expected free.
-- Twin:    scheduling/core/slots.py
-- row:     any record with `slot_us`, the last slot given out
local SLOTS_AHEAD = 512

function slots.take(row, first_us, spacing_us)
  local slot_us = math.max(first_us, row.slot_us + spacing_us)
  row.slot_us = math.min(slot_us, first_us + SLOTS_AHEAD * spacing_us)
  return row.slot_us
end
