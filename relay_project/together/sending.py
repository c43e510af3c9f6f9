"""One call of a trial: sent like anybody's, timed from its grant to its end, judged by its code word."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import msgspec

from accounts.outbox.record import UsageRecord
from accounts.outcomes import Outcome
from relay_project.calls import Call
from relay_project.errors import ProviderSaidNo, RelayError
from relay_project.problems import problem_of
from relay_project.relay import Parts, Relay
from relay_project.rendering import Hearer
from relay_project.snapshot import Caller
from relay_project.together.measure import Ended, Verdict, judge
from scheduling.core.spec import Class
from scheduling.errors import Rejection

MAX_TOKENS: Final = 256  # room for a model that thinks before it says a word
PROMPT: Final = "Answer with exactly this code word and nothing else: {word}"
_BIRDS: Final = (
    *("HERON", "OSPREY", "PLOVER", "CURLEW", "LINNET", "MARTIN", "DUNLIN", "GANNET", "JACANA", "KESTREL"),
    *("LAPWING", "MALLARD", "PETREL", "PINTAIL", "REDWING", "SISKIN", "TURACO", "WIGEON", "WRYNECK", "AVOCET"),
)
_ANSWERED: Final = frozenset({Outcome.COMPLETED, Outcome.RECOVERED})


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be tried, and who wants to know."""

    model: str  # public name
    count: int  # calls at once
    caller: Caller
    language: str


def code_words(count: int) -> list[str]:
    """Such as HERON-4821: no two alike, and none part of another."""
    numbers = secrets.SystemRandom().sample(range(1000, 10_000), count)
    return [f"{_BIRDS[place % len(_BIRDS)]}-{number}" for place, number in enumerate(numbers)]


class Sending:
    """It keeps its own books: the row goes where all go, and its times are noted on the way."""

    def __init__(self, parts: Parts, asked: Asked, word: str, started: Callable[[], None]) -> None:
        self._parts = parts
        self._asked = asked
        self._started = started
        self._clock = parts.tasks.clock
        self._record: UsageRecord | None = None
        self.request_id = f"test_{secrets.token_hex(12)}"
        self.word = word
        self.started_us: int | None = None
        self.ended_us: int | None = None

    @property
    def is_running(self) -> bool:
        return self.started_us is not None and self.ended_us is None

    async def go(self, words: Sequence[str]) -> Ended:
        """`words`: all that are sent together, so that a mixed-up answer is seen."""
        try:
            said = _content_of(await self._ask())
        except ProviderSaidNo as no:
            return self._end(Verdict.FAILED, why=str(no.refusal.kind))
        except (Rejection, RelayError) as error:
            return self._end(Verdict.NOT_SENT, why=problem_of(error).code)
        failed = self._failure()
        if failed:
            return self._end(Verdict.FAILED, said, why=failed)
        return self._end(judge(self.word, said, words), said)

    def intend(self, record: UsageRecord) -> None:
        self.started_us = self._clock.now_us()
        self._started()
        self._parts.books.intend(record)

    def settle(self, record: UsageRecord) -> None:
        self.ended_us = self._clock.now_us()
        self._record = record
        self._parts.books.settle(record)

    async def _ask(self) -> bytes:
        call = Call(
            caller=self._asked.caller,
            hearer=Hearer("openai", self._asked.language, self.request_id),
            body=_body(self._asked.model, self.word),
            purpose="test",
            klass=Class.NORMAL,
        )
        reply = await Relay(replace(self._parts, books=self)).answer(call)
        async with aclosing(cast(Any, reply.stream)) as stream:
            return b"".join([part async for part in stream])

    def _failure(self) -> str:
        """A refusal that the relay waited out still tells that it was too much at once."""
        assert self._record is not None, "a call that has ended has settled"
        failed = [attempt for attempt in self._record.attempts if attempt["outcome"] not in _ANSWERED]
        return str(failed[0]["reason"] or failed[0]["outcome"]) if failed else ""

    def _end(self, verdict: Verdict, said: str = "", *, why: str = "") -> Ended:
        started = self.started_us is not None
        return Ended(
            word=self.word,
            verdict=verdict,
            said=said,
            why=why,
            queue_ms=self._record.queue_ms if self._record else 0,
            started_us=self.started_us,
            ended_us=self.ended_us if started else None,
        )


def _body(model: str, word: str) -> bytes:
    return msgspec.json.encode(
        {
            "model": model,
            "max_tokens": MAX_TOKENS,
            "messages": [{"role": "user", "content": PROMPT.format(word=word)}],
        }
    )


def _content_of(body: bytes) -> str:
    """What the model said; "" where the answer has no words."""
    try:
        return str(msgspec.json.decode(body)["choices"][0]["message"]["content"] or "")
    except (msgspec.DecodeError, KeyError, IndexError, TypeError):
        return ""
