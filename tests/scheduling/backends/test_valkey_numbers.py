"""Whole numbers in the library, where a double would round."""

from __future__ import annotations

import random

from scheduling.backends.valkey.library import built, library
from tests.scheduling.backends.stores import Store

ASKED = """
redis.register_function('@LIBRARY@_scaled', function(_, args)
  return string.format('%.0f', num.scaled(tonumber(args[1]), tonumber(args[2]), tonumber(args[3])))
end)
redis.register_function('@LIBRARY@_ceil', function(_, args)
  return string.format('%.0f', num.ceil_div(tonumber(args[1]), tonumber(args[2])))
end)
"""


def test_products_that_a_double_cannot_hold_are_divided_exactly(store: Store) -> None:
    told = library(told_clock=True)
    asked = built(told.text.partition("\n")[2].replace(told.name, "@LIBRARY@") + ASKED)
    store.load(asked)
    rng = random.Random(7)
    for _ in range(500):
        a, b, c = (rng.randrange(1, 10 ** rng.randint(1, 12)) for _ in range(3))
        if a * b // c >= 1 << 53:
            continue
        assert int(store.client.fcall(asked.function("scaled"), 0, a, b, c)) == -(-a * b // c), (a, b, c)


def test_quotients_are_rounded_up_exactly_up_to_2_to_the_53rd(store: Store) -> None:
    told = library(told_clock=True)
    asked = built(told.text.partition("\n")[2].replace(told.name, "@LIBRARY@") + ASKED)
    store.load(asked)
    rng = random.Random(8)
    for _ in range(500):
        divisor = rng.randrange(1, 10 ** rng.randint(1, 9))
        dividend = min((1 << 53) - 1, divisor * rng.randrange(1, 10 ** rng.randint(1, 15)) + rng.choice((-1, 0, 1)))
        assert int(store.client.fcall(asked.function("ceil"), 0, dividend, divisor)) == -(-dividend // divisor)
