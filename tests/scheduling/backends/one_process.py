"""A relay process of its own, for tests: calls through the shared store, each line of output one start or end.

`python -m tests.scheduling.backends.one_process URL NAMESPACE NAME CALLS HOLD_S`
"""

from __future__ import annotations

import asyncio
import sys

from scheduling.backends.valkey.backend import ValkeyBackend
from scheduling.backends.valkey.epoch import ForgetfulKeeper
from scheduling.clock import SystemClock
from scheduling.coordinator import Coordinator
from scheduling.core.tickets import Actual
from scheduling.errors import Rejection
from tests.scheduling.backends.benches import ask
from tests.scheduling.relays import S, provider, relay, rpm, rules

SPEC = relay(provider(of=rules(lanes=5, max_waiting=200, wait_timeout_us=60 * S, windows=(rpm(60, window_us=2 * S),))))


def say(*words: object) -> None:
    print(*words, flush=True)


async def call(coordinator: Coordinator, clock: SystemClock, ticket_id: str, hold_s: float) -> None:
    try:
        async with coordinator.admit(ask(ticket_id)) as lease:
            say("start", clock.now_us(), ticket_id)
            lease.on_lost(lambda: say("lost", clock.now_us(), ticket_id))
            await asyncio.sleep(hold_s)
            say("end", clock.now_us(), ticket_id)
            lease.settle(Actual(1, 0, 1))
    except Rejection as rejection:
        say("refused", clock.now_us(), ticket_id, rejection.code)


async def main(url: str, namespace: str, name: str, calls: int, hold_s: float) -> None:
    clock = SystemClock()
    coordinator = Coordinator(ValkeyBackend(url, clock, ForgetfulKeeper(), namespace=namespace), clock)
    await coordinator.start()
    coordinator.configure(SPEC)
    await asyncio.gather(*(call(coordinator, clock, f"{name}{number}", hold_s) for number in range(calls)))
    await coordinator.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4], int(sys.argv[4]), float(sys.argv[5])))
