-- Purpose: now. The relay's time goes on with the server's clock, and is believed up to 5 s a step: processes that
--          are there call twice a second, so a longer step means that all of them stood still, or that somebody set
--          the clock. So no clock makes leases expire or windows empty; what hangs on the calendar is told apart.
-- Twin:    Moment in scheduling/core/moment.py
-- Returns: { us = never goes back, wall_us = the server's clock, skipped_us = of the last step, what is not believed }
local STEP_AT_MOST_US = 5 * num.SECOND_US

function clock.now(root)
  local time = redis.call('TIME')
  local wall_us = time[1] * num.SECOND_US + time[2]
  local step_us = math.max(0, wall_us - (root.wall_us or wall_us))
  local believed_us = math.min(step_us, STEP_AT_MOST_US)
  return { us = (root.us or wall_us) + believed_us, wall_us = wall_us, skipped_us = step_us - believed_us }
end
