"""A whole use case in memory: a fake clock, the real coordinator on the memory backend, a scripted upstream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from accounts.outbox.record import UsageRecord
from providers.adapters.openai_chat.decode import ChatBodyReader, ChatStreamReader
from providers.contract import (
    Answer,
    ChatRequest,
    Credential,
    Deadlines,
    Refusal,
    RefusalKind,
    Target,
    UpstreamFault,
)
from relay_project.calls import Call
from relay_project.learning.learning import Learning
from relay_project.learning.rows import Shared
from relay_project.quota.states import OpenState, QuotaStates
from relay_project.relay import Parts, Relay
from relay_project.rendering import Hearer
from relay_project.snapshot import Caller, Configuration, ModelEntry, ProviderEntry, RoleEntry
from relay_project.tasks import TaskOwner
from scheduling.backends.memory import MemoryBackend
from scheduling.clock import FakeClock
from scheduling.coordinator import Coordinator
from scheduling.core.learned import Finding, LimitKey
from scheduling.core.spec import (
    Class,
    CredentialSpec,
    LaneRules,
    ModelSpec,
    OnDisconnect,
    ProviderSpec,
    RelaySpec,
    SchedulerSpec,
)
from scheduling.core.tickets import TargetRef

SECOND_US = 1_000_000
IN_BAND_ERROR = Refusal(RefusalKind.OVERLOADED, status=200, message="overloaded")

TEXT = b'data: {"choices":[{"index":0,"delta":{"content":"hello"}}]}\n\n'
STOP = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":2}}\n\n'
DONE = b"data: [DONE]\n\n"
ERROR = b'data: {"error":{"message":"overloaded"}}\n\n'
WHOLE = (
    b'{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}],'
    b'"usage":{"prompt_tokens":5,"completion_tokens":1}}'
)

Step = bytes | UpstreamFault | asyncio.Event


@dataclass
class Upstream:
    """An adapter that plays scripts in order; counts what is open, as a real upstream would."""

    scripts: list[Refusal | list[Step]]
    dialect: str = "openai_chat"
    asked: list[Target] = field(default_factory=list)
    requests: list[ChatRequest] = field(default_factory=list)
    limits: dict[str, str] = field(default_factory=dict)  # headers of every answer
    open: int = 0
    peak: int = 0
    closed_early: int = 0

    async def chat(self, target: Target, request: ChatRequest, deadlines: Deadlines) -> Answer | Refusal:
        self.asked.append(target)
        self.requests.append(request)
        script = self.scripts[min(len(self.asked), len(self.scripts)) - 1]
        await asyncio.sleep(0)
        if isinstance(script, Refusal):
            return script
        self.open += 1
        self.peak = max(self.peak, self.open)
        reader = (
            ChatStreamReader(lambda _error: IN_BAND_ERROR, wants_usage_chunk=request.wants_usage_chunk)
            if request.stream
            else ChatBodyReader(lambda _error: IN_BAND_ERROR)
        )
        play = _Play(self, script)
        return Answer(200, [("content-type", "text/event-stream")], play, reader, play.close, self.limits)

    async def list_models(self, target: Target, deadlines: Deadlines) -> list[str] | Refusal:
        return ["m"]


class _Play:
    def __init__(self, upstream: Upstream, script: list[Step]) -> None:
        self._upstream = upstream
        self._steps = iter(script)
        self._open = True
        self._cut = asyncio.Event()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        for step in self._steps:
            if isinstance(step, asyncio.Event):
                await self._wait(step)
            elif isinstance(step, UpstreamFault):
                raise step
            else:
                await asyncio.sleep(0)
                return step
        self._end(early=False)
        raise StopAsyncIteration

    async def _wait(self, event: asyncio.Event) -> None:
        waits = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(self._cut.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
        if self._cut.is_set():
            raise UpstreamFault(Refusal(RefusalKind.SERVER_ERROR, evidence="closed_here"))

    def close(self) -> None:
        self._end(early=True)
        self._cut.set()

    def _end(self, *, early: bool) -> None:
        if self._open:
            self._open = False
            self._upstream.open -= 1
            self._upstream.closed_early += early


class Books:
    def __init__(self) -> None:
        self.intents: list[UsageRecord] = []
        self.rows: list[UsageRecord] = []

    def intend(self, record: UsageRecord) -> None:
        self.intents.append(record)

    def settle(self, record: UsageRecord) -> None:
        self.rows.append(record)


def rules(**figures: object) -> LaneRules:
    base: dict[str, object] = {
        "lanes": 1,
        "lanes_per_model": None,
        "max_waiting": 8,
        "wait_timeout_us": 2 * SECOND_US,
        "run_timeout_us": 30 * SECOND_US,
    }
    return LaneRules(**(base | figures))  # type: ignore[arg-type]


def configuration(lane_rules: LaneRules, *, providers: tuple[str, ...] = ("one", "two")) -> Configuration:
    """Each provider has a model named as it is; the role `fast-chat` goes through them in order."""
    models = {f"{slug}/m": _model(slug) for slug in providers}
    return Configuration(
        version=1,
        callers={},
        providers={slug: _provider(slug) for slug in providers},
        models=models,
        models_by_name={model.public_name: model for model in models.values()},
        roles={"fast-chat": RoleEntry("fast-chat", "", "ordered", 5.0, tuple(models))},
        scheduler=SchedulerSpec(
            version=1,
            relay=RelaySpec(),
            providers={slug: _provider_spec(slug, lane_rules) for slug in providers},
        ),
    )


def _provider(slug: str) -> ProviderEntry:
    return ProviderEntry(
        slug=slug,
        name=slug.title(),
        dialect="openai_chat",
        base_url="http://upstream/v1",
        enabled=True,
        credentials={f"key-{slug}": Credential(f"key-{slug}", "main", "sk")},
        headers={},
        vendor="openai",
        quota_groups={f"key-{slug}": "main"},
        account_wide=False,
        silence_s=None,
    )


def _provider_spec(slug: str, lane_rules: LaneRules) -> ProviderSpec:
    return ProviderSpec(
        key=slug,
        rules=lane_rules,
        models={f"{slug}/m": ModelSpec(f"{slug}/m", f"{slug}/m", lane_rules)},
        credentials=(CredentialSpec(id=f"key-{slug}", quota_group="main"),),
    )


def _model(slug: str) -> ModelEntry:
    return ModelEntry(
        key=f"{slug}/m",
        public_name=slug,
        provider=slug,
        upstream_name="m",
        enabled=True,
        context_window=None,
        max_output=None,
        capabilities=frozenset(),
        input_microusd_per_mtok=2_000_000,
        output_microusd_per_mtok=8_000_000,
        cached_input_microusd_per_mtok=None,
        created_s=0,
        split_advice="",
        advised_concurrency=None,
        limit_group=f"{slug}/m",
    )


CALLER = Caller(user_id=7, token_id=3, team_id=None, flow="user:7", limits=("user:7",), scopes=frozenset({"chat"}))


class Rows:
    """Quota states as rows, in memory."""

    def __init__(self) -> None:
        self.kept: list[OpenState] = []
        self.cleared: list[TargetRef] = []

    async def keep(self, state: OpenState) -> None:
        self.kept.append(state)

    async def clear(self, target: TargetRef, why: str, now: datetime) -> None:
        self.cleared.append(target)


class LearnedRows:
    """Learned limits as rows, in memory; several worlds may share them."""

    def __init__(self) -> None:
        self.shared = Shared({}, 0)

    async def read(self, now: datetime) -> Shared:
        alive = {key: one for key, one in self.shared.findings.items() if one.until_us > now.timestamp() * 1e6}
        return Shared(alive, self.shared.revision)

    async def write(self, changes: Mapping[LimitKey, Finding | None], revision: int, now: datetime) -> None:
        merged = {**self.shared.findings, **changes}
        found = {key: finding for key, finding in merged.items() if finding is not None}
        self.shared = Shared(found, max(revision, self.shared.revision + 1))


class World:
    def __init__(self, *scripts: Refusal | list[Step], **figures: object) -> None:
        self.clock = FakeClock()
        self.upstream = Upstream(list(scripts))
        self.books = Books()
        self.tasks = TaskOwner(self.clock)
        self.coordinator = Coordinator(MemoryBackend(self.clock), self.clock)
        self.configuration = configuration(rules(**figures))
        assert self.configuration.scheduler is not None
        self.learned = LearnedRows()
        self.learning = Learning(self.coordinator, self.learned, self.tasks)
        self.learning.take_over(self.configuration.scheduler)
        self.rows = Rows()
        self.quota = QuotaStates(self.coordinator, self.rows, self.tasks)
        self.parts = Parts(
            configuration=lambda: self.configuration,
            coordinator=self.coordinator,
            adapters={"openai_chat": self.upstream},
            books=self.books,
            tasks=self.tasks,
            quota=self.quota,
            learning=self.learning,
        )
        self.relay = Relay(self.parts)
        self._number = 0

    @classmethod
    async def open(cls, *scripts: Refusal | list[Step], **figures: object) -> World:
        world = cls(*scripts, **figures)
        await world.coordinator.start()
        return world

    def call(self, model: str = "one", *, stream: bool = True, headers: dict[str, str] | None = None) -> Call:
        self._number += 1
        body = {"model": model, "stream": stream, "messages": [{"role": "user", "content": "hi"}]}
        return Call(
            caller=CALLER,
            hearer=Hearer("openai", "en", f"req_{self._number}"),
            body=json.dumps(body).encode(),
            headers=headers or {},
        )

    async def ask(self, call: Call | None = None) -> bytes:
        """The whole answer, as a caller reads it."""
        reply = await self.relay.answer(call or self.call())
        async with aclosing(cast(Any, reply.stream)) as stream:  # as the slim handler does
            return b"".join([part async for part in stream])

    def is_quiet(self) -> bool:
        """Nothing runs, nothing waits, nothing is open."""
        picture = self.coordinator.snapshot()
        return (picture.running, picture.waiting, self.upstream.open) == (0, 0, 0)

    async def until(self, condition: Callable[[], bool]) -> None:
        for _ in range(500):
            if condition():
                return
            await asyncio.sleep(0)
        raise AssertionError("it never came to that")


__all__ = ["CALLER", "DONE", "ERROR", "STOP", "TEXT", "USAGE", "WHOLE", "Class", "OnDisconnect", "World"]
