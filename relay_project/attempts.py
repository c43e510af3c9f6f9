"""One attempt on one lane: send, and hold the answer back until it is one.

Providers say no inside a 200 too (an error as the first event, an HTML page, nothing at all), so the caller's status
line waits for the first real output. Until then a refusal is a value and another candidate can be asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from providers.contract import (
    Adapter,
    Answer,
    ChatRequest,
    Deadlines,
    End,
    Refusal,
    RefusalKind,
    Target,
    UpstreamFault,
)
from relay_project.refusal_codes import EMPTY
from scheduling.coordinator import Lease
from scheduling.errors import Evicted

T = TypeVar("T")

HELD_READS = 64
HELD_BYTES = 256 * 1024


@dataclass(slots=True)
class Begun:
    """An answer that has begun for real. Whoever takes it must close it."""

    answer: Answer
    head: bytes  # what was held back; to be sent first
    over: bool  # everything has been read, and judged good

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The answer's own, with its length where all of it is here."""
        length = [("content-length", str(len(self.head)))] if self.over else []
        return [*self.answer.headers, *length]


async def begin(adapter: Adapter, target: Target, request: ChatRequest, deadlines: Deadlines) -> Begun | Refusal:
    """Send one request. Nothing is left open if it comes to a refusal or is cancelled."""
    answer = await adapter.chat(target, request, deadlines)
    if isinstance(answer, Refusal):
        return answer
    begun: Begun | Refusal | None = None
    try:
        begun = await _hold_back(answer, whole=not request.stream)
        return begun
    except UpstreamFault as fault:
        return fault.refusal
    except ValueError as error:  # larger than any answer may be
        return Refusal(RefusalKind.SERVER_ERROR, status=answer.status, evidence="answer", message=str(error))
    finally:
        if not isinstance(begun, Begun):
            answer.close()


async def while_held(lease: Lease, work: Awaitable[T]) -> T:
    """Await `work`. If the lease is taken away meanwhile (token revoked, reaped), stop it and raise `Evicted`."""
    task = asyncio.current_task()
    assert task is not None, "a call is handled inside a task"
    awaited = True

    def stop() -> None:
        if awaited:
            task.cancel()

    lease.on_lost(stop)
    try:
        return await work
    except asyncio.CancelledError:
        # Only if nobody else (the caller leaving, the server going down) has cancelled it too.
        if lease.is_lost and task.uncancel() == 0:
            raise taken_away(lease) from None
        raise
    finally:
        awaited = False


def taken_away(lease: Lease) -> Evicted:
    return Evicted(code="ticket_cancelled", provider=lease.provider, model=lease.model)


async def _hold_back(answer: Answer, *, whole: bool) -> Begun | Refusal:
    reader = answer.reader
    held = bytearray()
    reads = 0
    async for chunk in answer.chunks:
        held += reader.feed(chunk)
        reads += 1
        if reader.facts.content_seen:
            return Begun(answer, bytes(held), over=False)
        if reader.facts.error is not None:
            return reader.facts.error
        if not whole and (reads >= HELD_READS or len(held) >= HELD_BYTES):
            return Begun(answer, bytes(held), over=False)
    held += reader.close()
    return _judge(answer, bytes(held))


def _judge(answer: Answer, body: bytes) -> Begun | Refusal:
    """The answer ended before it was let through: it is whole, or it is none."""
    facts = answer.reader.facts
    if answer.reader.end() in (End.COMPLETE, End.RECOVERED):
        return Begun(answer, body, over=True)
    return facts.error or EMPTY
