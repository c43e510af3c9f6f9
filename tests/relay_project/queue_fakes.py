"""A relay made of pictures: what the queue's edges need of a running process, and nothing that runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from relay_project.snapshot import Caller
from scheduling.clock import Clock, FakeClock
from scheduling.core.snapshot import (
    LeaseView,
    ModelView,
    ProviderView,
    QueueSnapshot,
    TicketView,
    WindowView,
)

AT_WALL_MS = 1_790_000_000_000  # 2026-09-21T14:13:20Z
HOUR_MS = 3_600_000


def window(used: int, limit: int, measure: str = "requests", **more: object) -> WindowView:
    fields: dict[str, object] = {"scope": "model", "window_s": 60.0, "mode": "enforced"} | more
    return WindowView(measure=measure, used=used, limit=limit, **fields)  # type: ignore[arg-type]


def model(key: str, **more: object) -> ModelView:
    fields: dict[str, object] = {
        "running": 0,
        "limit": 2,
        "waiting": 0,
        "paused": False,
        "next_start_ms": 0,
        "closed_until_ms": None,
        "closed_reason": "",
        "windows": (),
    }
    return ModelView(key=key, **(fields | more))  # type: ignore[arg-type]


def provider(key: str, *models: ModelView, **more: object) -> ProviderView:
    fields: dict[str, object] = {
        "profile_missing": False,
        "running": sum(m.running for m in models),
        "limit": 4,
        "waiting": sum(m.waiting for m in models),
        "max_waiting": 8,
        "paused": False,
        "pause_message": "",
        "longest_running_ms": None,
    }
    return ProviderView(key=key, models=models, **(fields | more))  # type: ignore[arg-type]


def ticket(id: str, model_key: str, place: int, owner: str, **more: object) -> TicketView:
    fields: dict[str, object] = {
        "provider": model_key.partition("/")[0],
        "klass": "interactive",
        "flow": owner,
        "purpose": "call",
        "waited_ms": 800,
        "estimated_start_ms": 3000,
        "reason": "pace",
    }
    return TicketView(id=id, model=model_key, place=place, owner=owner, **(fields | more))  # type: ignore[arg-type]


def lease(id: str, model_key: str, owner: str, running_ms: int, **more: object) -> LeaseView:
    fields: dict[str, object] = {
        "provider": model_key.partition("/")[0],
        "klass": "interactive",
        "flow": owner,
        "purpose": "call",
    }
    return LeaseView(id=id, model=model_key, owner=owner, running_ms=running_ms, **(fields | more))  # type: ignore[arg-type]


def snapshot(*providers: ProviderView, **more: object) -> QueueSnapshot:
    running = sum(p.running for p in providers)
    waiting = sum(p.waiting for p in providers)
    fields: dict[str, object] = {
        "version": 1,
        "at_wall_ms": AT_WALL_MS,
        "running": running,
        "max_running": 10,
        "inside": running + waiting,
        "max_inside": 16,
        "waiting": waiting,
        "waiting_by_class": {"interactive": waiting, "normal": 0, "batch": 0},
        "tickets": (),
        "leases": (),
    }
    return QueueSnapshot(providers=providers, **(fields | more))  # type: ignore[arg-type]


def _running(me: str) -> tuple[LeaseView, ...]:
    pro, llama = "gemini/gemini-2.5-pro", "nvidia/llama-4-maverick"
    return (
        lease("l-mine", pro, me, 12_400),
        lease("l-lite", "gemini/flash-lite", "user:900002", 3_000),
        lease("l-1", llama, "user:900002", 130_000),
        lease("l-2", llama, "user:900003", 64_000),
        lease("l-3", "nvidia/qwen-3-next", me, 2_200, klass="batch"),
        lease("l-4", "nvidia/qwen-3-next", "user:900002", 31_000),
    )


def busy_afternoon(me: str = "user:1") -> QueueSnapshot:
    """The relay as PAGES.md draws it, with every state a provider or model can be in."""
    gemini = provider(
        "gemini",
        model(
            "gemini/gemini-2.5-pro",
            running=1,
            waiting=3,
            next_start_ms=3200,
            windows=(window(58, 60), window(812_000, 1_000_000, "total_tokens")),
        ),
        model("gemini/gemini-2.5-flash", closed_until_ms=3 * HOUR_MS + 12 * 60_000, closed_reason="exhausted"),
        model("gemini/flash-lite", running=1, windows=(window(140, 250, window_s=86400.0, mode="estimate"),)),
    )
    nvidia = provider(
        "nvidia",
        model("nvidia/llama-4-maverick", running=2, waiting=1),
        model("nvidia/qwen-3-next", running=2),
        longest_running_ms=130_000,
    )
    codex = provider("codex", model("codex/gpt-5-codex", limit=1), profile_missing=True, limit=0)
    studio = provider("studio", model("studio/local-8b", limit=None), paused=True, limit=1, pause_message="New GPU")
    pro, llama = "gemini/gemini-2.5-pro", "nvidia/llama-4-maverick"
    return snapshot(
        gemini,
        nvidia,
        codex,
        studio,
        version=7,
        waiting_by_class={"interactive": 3, "normal": 1, "batch": 0},
        tickets=(
            ticket("t-mine", pro, 1, me),
            ticket("t-colleague", pro, 2, "user:900002", estimated_start_ms=6000),
            ticket("t-check", pro, 3, "user:900003", estimated_start_ms=None, purpose="check"),
            ticket("t-normal", llama, 1, "user:900002", klass="normal", reason="provider", waited_ms=12_000),
        ),
        leases=_running(me),
    )


@dataclass(frozen=True)
class FakeConfiguration:
    provider_names: Mapping[str, str] = field(
        default_factory=lambda: {
            "gemini": "Gemini",
            "nvidia": "NVIDIA",
            "codex": "Codex",
            "studio": "LM Studio",
        }
    )
    model_names: Mapping[str, str] = field(default_factory=dict)
    callers: Mapping[str, Caller] = field(default_factory=dict)


class FakeCoordinator:
    def __init__(self, picture: QueueSnapshot) -> None:
        self.picture = picture
        self.taken = 0
        self.listeners: list[Callable[[], None]] = []

    def snapshot(self) -> QueueSnapshot:
        self.taken += 1
        return self.picture

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        self.listeners.append(callback)
        return lambda: self.listeners.remove(callback)

    def becomes(self, picture: QueueSnapshot) -> None:
        """Something has happened."""
        self.picture = picture
        for listener in tuple(self.listeners):
            listener()

    def moves_on(self, **changes: object) -> None:
        self.becomes(replace(self.picture, version=self.picture.version + 1, **changes))  # type: ignore[arg-type]


class FakeRelay:
    def __init__(self, picture: QueueSnapshot | None = None, clock: Clock | None = None) -> None:
        self.clock: Clock = clock or FakeClock()
        self.coordinator = FakeCoordinator(picture or busy_afternoon())
        self.configuration = FakeConfiguration()
        self.cancelled: list[str] = []

    async def cancel_ticket(self, ticket_id: str) -> None:
        self.cancelled.append(ticket_id)


def caller(user_id: int, *, scopes: frozenset[str] = frozenset({"queue"}), **more: object) -> Caller:
    fields: dict[str, object] = {"token_id": 1, "team_id": None, "flow": f"user:{user_id}", "limits": ()}
    return Caller(user_id=user_id, scopes=scopes, **(fields | more))  # type: ignore[arg-type]
