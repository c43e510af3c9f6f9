-- Purpose: events for others. What a verb does to another process's tickets is put in that process's mailbox, and the
--          process is nudged; it takes its mail with the next `poll`, nudged or not. Processes poll twice a second: one
--          that has not for 10 s is dead, and nobody stands in line for it any longer.
-- KEYS:    <prefix>mail SEP <box>   list of packed events, for a minute
--          <prefix>boxes            sorted set: mailboxes by when they were last heard of
-- Channel: <prefix>nudge SEP <box>
local KEPT_S = 60
local SILENT_US = 10 * num.SECOND_US

-- Those of `box` are answered, the others posted. Without a box everything is answered.
function mail.sort(events, box)
  local mine, nudged = {}, {}
  for _, event in ipairs(events) do
    if not box or event.box == box then
      mine[#mine + 1] = event
    else
      local key = store.key('mail') .. SEP .. event.box
      redis.call('RPUSH', key, cmsgpack.pack(event))
      if not nudged[event.box] then
        nudged[event.box] = true
        redis.call('EXPIRE', key, KEPT_S)
        redis.call('PUBLISH', store.key('nudge') .. SEP .. event.box, '')
      end
    end
  end
  return mine
end

function mail.take(box)
  local key, letters = store.key('mail') .. SEP .. box, {}
  for index, packed in ipairs(redis.call('LRANGE', key, 0, -1)) do
    letters[index] = cmsgpack.unpack(packed)
  end
  if #letters > 0 then
    redis.call('DEL', key)
  end
  return letters
end

-- Note that it lives. Answers whether it was known to.
function mail.hear(box, now)
  local known = order.score('boxes', box) ~= nil
  order.put('boxes', now.us, box)
  return known
end

-- It goes in order: what it waits for goes too.
function mail.leave(box, now)
  order.drop('boxes', box)
  redis.call('DEL', store.key('mail') .. SEP .. box)
  for _, ticket in ipairs(expiry.all_waiting()) do
    if ticket.ask.box == box then
      endings.leave_line(ticket, now)
    end
  end
end

-- Whoever is silent for too long is dead. Its leases expire by themselves. Answers whether there was anybody.
function mail.bury(now)
  local box, heard_us = order.first('boxes')
  local buried = false
  while box and heard_us <= now.us - SILENT_US do
    mail.leave(box, now)
    buried = true
    box, heard_us = order.first('boxes')
  end
  return buried
end
