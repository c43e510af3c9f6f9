-- Purpose: what this call has in hand: the record of the whole relay, and the numbers it gives out.
-- Twin:    scheduling/core/state.py (State)
-- record:  `root`: { epoch, arranged, configured = version of the configuration, number, serials, version, us, wall_us,
--          running, batch, slot_us, entries, uses, tickets, leases = how many, lease_us (nil: leases do not expire),
--          offers, max_running, max_inside }

function run.begin(root)
  run.root = root
end

-- Numbers order arrivals, starts and rests: the same as in the core.
function run.number()
  run.root.number = run.root.number + 1
  return run.root.number
end

-- Serials tell apart what comes after one another under the same name; the core does that by object identity.
function run.serial()
  run.root.serials = run.root.serials + 1
  return run.root.serials
end
