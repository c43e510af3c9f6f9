"""Place in line for streaming callers who ask (`X-Relay-Queue-Events: 1`): SSE comments while they wait.

    : queue {"place":2,"waited_ms":800,"starts_in_ms":3000,"reason":"pace","message":"⏳ Waiting… next request in 3 s"}

renewed every second and on change. Comments are at event boundaries and every SSE client skips them. **Asking commits
the 200 at line-up**: what starts at once or is refused at the door is answered as ever; whoever has been told a place
gets a later refusal as an SSE error event, with code and both times.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

import msgspec

from relay_project.calls import Call, Reply
from relay_project.connection_words import waiting_words
from relay_project.rendering import problem_event
from scheduling.clock import SECOND_US, Clock, Timer
from scheduling.watching import Waiting

Answer = Callable[[Call], Awaitable[Reply]]

RENEW_US = SECOND_US


async def answer_with_queue_events(answer: Answer, call: Call, clock: Clock) -> Reply:
    """As `answer`, but a caller who has to wait is answered at once with a stream that says where it stands."""
    line = _Line(clock)
    answering = asyncio.ensure_future(answer(replace(call, watch=line.show)))
    line.ends_with(answering)
    try:
        await line.news()
    except asyncio.CancelledError:
        await _leave(answering)
        raise
    if answering.done():
        return answering.result()
    headers = [("content-type", "text/event-stream; charset=utf-8"), ("x-relay-request-id", call.id)]
    return Reply(200, headers, _stream(line, answering, call))


async def _stream(line: _Line, answering: asyncio.Future[Reply], call: Call) -> AsyncIterator[bytes]:
    try:
        while not answering.done():
            yield queue_comment(*line.standing(), call.hearer.language)
            await line.news()
        try:
            reply = answering.result()
        except Exception as error:  # noqa: BLE001  the 200 is out: every error is told in the stream
            yield problem_event(error, call.hearer)
            return
        async with aclosing(cast(Any, reply.stream)) as parts:
            async for part in parts:
                yield part
    finally:
        line.close()
        await _leave(answering)


async def _leave(answering: asyncio.Future[Reply]) -> None:
    """The caller has gone. What was granted in the very last moment is given back."""
    if not answering.done():
        answering.cancel()
        await asyncio.gather(answering, return_exceptions=True)
    if not answering.cancelled() and answering.exception() is None:
        await cast(Any, answering.result().stream).aclose()


def queue_comment(waiting: Waiting, passed_us: int, language: str) -> bytes:
    """One SSE comment; `passed_us` since `waiting` was told."""
    predicted_us = waiting.predicted_in_us
    standing = {
        "place": waiting.place,
        "waited_ms": (waiting.waited_us + passed_us) // 1000,
        "starts_in_ms": None if predicted_us is None else max(0, predicted_us - passed_us) // 1000,
        "reason": waiting.reason,
        "message": waiting_words(waiting, passed_us, language),
    }
    return b": queue " + msgspec.json.encode(standing) + b"\n\n"


class _Line:
    """Where one caller stands, and a bell that rings on every change, every second, and at the end."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._bell = asyncio.Event()
        self._waiting: Waiting | None = None
        self._told_us = 0
        self._renewal: Timer | None = None

    def show(self, waiting: Waiting) -> None:
        self._waiting, self._told_us = waiting, self._clock.now_us()
        self._bell.set()

    def ends_with(self, answering: asyncio.Future[Reply]) -> None:
        answering.add_done_callback(lambda _answering: self._bell.set())

    def standing(self) -> tuple[Waiting, int]:
        assert self._waiting is not None, "told a place before it is asked for it"
        return self._waiting, self._clock.now_us() - self._told_us

    async def news(self) -> None:
        if self._waiting is not None:
            self._renewal = self._clock.call_at(self._clock.now_us() + RENEW_US, self._bell.set)
        await self._bell.wait()
        self._bell.clear()
        self.close()

    def close(self) -> None:
        if self._renewal is not None:
            self._renewal.cancel()
