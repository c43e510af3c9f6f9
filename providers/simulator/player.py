"""Plays a plan on an exchange, to the clock."""

from __future__ import annotations

from providers.simulator.clock import SECOND_US, Clock
from providers.simulator.exchange import Exchange
from providers.simulator.plan import Cut, Data, Head, Plan, Raw, Reset, Silence, Step, Wait
from providers.simulator.progress import Progress


class Player:
    def __init__(self, exchange: Exchange, clock: Clock, progress: Progress) -> None:
        self._exchange = exchange
        self._clock = clock
        self._progress = progress
        self._due_us = clock.now_us()

    async def play(self, plan: Plan) -> None:
        """The request counts as ended just before its last byte goes out: whoever reads that byte and asks again at
        once finds the place free.
        """
        *steps, last = plan
        for step in steps:
            await self._do(step)
        await self._do_last(last)

    async def _do(self, step: Step) -> None:
        match step:
            case Wait(seconds):
                await self._wait(seconds)
            case Head(status, headers):
                self._progress.began(status)
                await self._exchange.start(status, headers)
            case Data(payload, tokens):
                self._progress.produced(tokens)
                await self._exchange.write(payload)
            case Raw(payload):
                self._progress.began(None)
                self._exchange.write_raw(payload)
            case Cut() | Reset():
                await self._break_off(step)
            case Silence():
                await self._exchange.say_nothing()

    async def _do_last(self, step: Step) -> None:
        match step:
            case Data(payload, tokens):
                self._progress.produced(tokens)
                self._progress.finished()
                await self._exchange.finish(payload)
            case Head():
                self._progress.finished()
                await self._do(step)
                await self._exchange.finish()
            case _:
                await self._do(step)

    async def _wait(self, seconds: float) -> None:
        """Until a moment counted from the last one due, so that late wakings do not add up."""
        self._due_us += round(seconds * SECOND_US)
        left_us = self._due_us - self._clock.now_us()
        if left_us > 0:
            await self._clock.sleep(left_us / SECOND_US)

    async def _break_off(self, step: Cut | Reset) -> None:
        self._progress.broken_off()
        if isinstance(step, Cut):
            self._exchange.cut()
        else:
            self._exchange.reset()
        await self._exchange.say_nothing()  # the server tells of the broken connection as of a client that left
