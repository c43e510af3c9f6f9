"""Without a socket and without waiting: the application called directly, on a clock that stands still."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from providers.simulator.app import Simulator
from providers.simulator.directives import Behaviour
from providers.simulator.limits.settings import Ceilings
from providers.simulator.options import Options
from scheduling.clock import FakeClock
from tests.providers.simulator.upstream import KEY, chat


class Call:
    """One ASGI call: what was sent so far, and a client that may leave."""

    def __init__(self, simulator: Simulator, document: dict[str, Any]) -> None:
        self.sent: list[dict[str, Any]] = []
        self.leave = asyncio.Event()
        self._body = json.dumps(document).encode()
        self._given = False
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/v1/chat/completions",
            "query_string": b"",
            "headers": [(b"authorization", f"Bearer {KEY}".encode())],
        }
        self.task = asyncio.create_task(simulator(scope, self._receive, self._send))

    @property
    def status(self) -> int | None:
        return self.sent[0]["status"] if self.sent else None

    async def _receive(self) -> dict[str, Any]:
        if not self._given:
            self._given = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self.leave.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self.sent.append(message)


async def test_a_stream_keeps_to_the_clock_token_by_token():
    clock = FakeClock()
    behaviour = Behaviour(ttft_ms=500, tokens_per_s=10, answer_tokens=4)
    call = Call(Simulator(Options(behaviour=behaviour), clock), chat(stream=True))
    await clock.advance(0.499)
    assert call.sent == []
    await clock.advance(0.001)
    assert len(call.sent) == 3  # head, role, first token
    for count in (4, 5, 6):
        await clock.advance(0.1)
        assert len(call.sent) == count if count < 6 else len(call.sent) >= 6
    await call.task
    assert call.sent[-1]["more_body"] is False


async def test_minutes_pass_without_waiting():
    clock = FakeClock()
    simulator = Simulator(Options(ceilings=Ceilings(rpm=2), style="azure"), clock)
    statuses = []
    for _ in range(6):
        call = Call(simulator, chat())
        await call.task
        statuses.append(call.status)
        await clock.advance(20)
    assert statuses == [200, 200, 429, 200, 200, 429]


async def test_a_client_that_leaves_frees_its_place():
    simulator = Simulator(Options(behaviour=Behaviour(ttft_ms=60_000), ceilings=Ceilings(concurrency=1)), FakeClock())
    first = Call(simulator, chat())
    for _ in range(5):
        await asyncio.sleep(0)
    first.leave.set()
    await first.task
    [arrival] = simulator.provider.journal.report()["arrivals"]
    assert (arrival["outcome"], first.sent) == ("aborted_by_client", [])
    second = Call(simulator, chat("sim-small;ttft_ms=0"))
    await second.task
    assert second.status == 200


async def test_a_fault_below_http_says_that_there_is_no_socket():
    call = Call(Simulator(clock=FakeClock()), chat("sim-small;fault=reset_connection"))
    with pytest.raises(ConnectionResetError, match="no socket"):
        await call.task
