"""One attempt on one lane: send, and hold the answer back until it is one.

Providers say no inside a 200 too (an error as the first event, an HTML page, nothing at all), so the caller's status
line waits for the first real output. Until then a refusal is a value and another candidate can be asked.
"""

from __future__ import annotations

from dataclasses import dataclass

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

HELD_READS = 64
HELD_BYTES = 256 * 1024


@dataclass(slots=True)
class Begun:
    """An answer that has begun for real. Whoever takes it must close it."""

    answer: Answer
    head: bytes  # what was held back; to be sent first
    over: bool  # everything has been read, and judged good


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
