-- Purpose: even spacing of starts (GCRA).
-- Twin:    scheduling/core/pacer.py
-- axis:    from the configuration: { interval_us, burst }; book: { due_us, before_us, last_us, last_number }

function pacer.begin(book)
  book.due_us, book.before_us, book.last_us, book.last_number = 0, 0, 0, -1
end

function pacer.earliest(axis, book)
  return book.due_us - (axis.burst - 1) * axis.interval_us
end

function pacer.start(axis, book, number, now)
  book.before_us, book.last_us, book.last_number = book.due_us, now.us, number
  book.due_us = math.max(book.due_us, now.us) + axis.interval_us
end

function pacer.forget(book, number)
  if number == book.last_number then
    book.due_us, book.last_number = book.before_us, -1
  end
end

-- Another limit: what is still to be waited after the last start scales with it.
function pacer.retune(book, old_interval_us, interval_us)
  local ahead_us = book.due_us - book.last_us
  if ahead_us > 0 then
    book.due_us = book.last_us + num.scaled(ahead_us, interval_us, old_interval_us)
  end
  book.before_us = math.min(book.before_us, book.due_us)
end
