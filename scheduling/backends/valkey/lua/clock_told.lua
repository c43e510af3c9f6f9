-- Purpose: now, as a test tells it. Takes the place of clock.lua in a library built for tests; the served one has
--          no such thing.
-- ARGV:    `now` in the call: { us, wall_us }

function clock.now(root, call)
  return { us = math.max(call.now[1], root.us or 0), wall_us = call.now[2], skipped_us = 0 }
end
