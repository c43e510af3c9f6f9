-- Purpose: whole numbers. Microseconds and tokens stay below 2^53, where a double holds every integer exactly;
--          divisions round up, because intervals are rounded against us.
-- Twin:    scheduling/core/moment.py
num.SECOND_US, num.MINUTE_US, num.FAR_US = 1000000, 60000000, 4503599627370496
local EXACT = 9007199254740992

function num.ceil_div(dividend, divisor)
  return math.ceil(dividend / divisor)
end

-- Fixed width, so that text sorts as the numbers do.
function num.pad(number)
  return string.format('%016d', number)
end

-- ceil(a * b / c), exact even where a * b is not: long multiplication, bit by bit, modulo c.
function num.scaled(a, b, c)
  local whole, rest = math.floor(b / c), b % c
  if a * rest < EXACT then
    return a * whole + num.ceil_div(a * rest, c)
  end
  local quotient, remainder = 0, 0
  for bit = 52, 0, -1 do
    quotient, remainder = quotient * 2, remainder * 2
    if math.floor(a / 2 ^ bit) % 2 == 1 then
      remainder = remainder + rest
    end
    quotient, remainder = quotient + math.floor(remainder / c), remainder % c
  end
  return a * whole + quotient + (remainder > 0 and 1 or 0)
end
