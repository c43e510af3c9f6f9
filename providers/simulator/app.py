"""The simulator as an ASGI application."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from providers.simulator.clock import Clock, LoopClock
from providers.simulator.control import control
from providers.simulator.exchange import ClientGone, Exchange, Receive, Send
from providers.simulator.journal import Arrival, Outcome
from providers.simulator.options import Options
from providers.simulator.player import Player
from providers.simulator.progress import Progress
from providers.simulator.provider import Decision, SimulatedProvider


class Simulator:
    """`provider` is there for tests in the same process: its journal, script and limits need no HTTP."""

    def __init__(self, options: Options | None = None, clock: Clock | None = None) -> None:
        self._clock = clock or LoopClock()
        self.provider = SimulatedProvider(options or Options(), self._clock)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise NotImplementedError(f"the simulator speaks HTTP, not {scope['type']}")
        at_us = self.provider.now_us()
        exchange = Exchange(scope, receive, send, self.provider.http_date)
        try:
            request = await exchange.read()
        except ClientGone:
            return
        if request.path.startswith("/_"):
            await exchange.reply(control(self.provider, request))
            return
        arrival = self.provider.arrive(request, at_us)
        await self._serve(exchange, arrival, self.provider.decide(request, arrival))

    async def _serve(self, exchange: Exchange, arrival: Arrival, decision: Decision) -> None:
        def settle(outcome: Outcome) -> None:
            self.provider.settle(arrival, decision.admission, outcome)

        progress = Progress(arrival, decision.outcome, self.provider.now_us, settle)
        exchange.when_lost(progress.left)
        try:
            await exchange.unless_left(Player(exchange, self._clock, progress).play(decision.plan))
        finally:
            progress.left()
