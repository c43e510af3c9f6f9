"""QueueSnapshot + names + viewer → what goes on the wire (docs/queue-api.md). Pure.

The picture has two parts: a common one, the same for everybody, made of counts and states only, and the rows
a viewer may see in full: its own tickets and leases, or all of them for staff. Ids, owners and purposes of
others are never in the common part, so it may be shared by all sockets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from scheduling.core.snapshot import LeaseView, ModelView, ProviderView, QueueSnapshot, TicketView, WindowView

SHARED_SCOPES = (
    "provider",
    "credential",
)  # windows of these are counted over all models: told once, at the provider


class Names(Protocol):
    """Names people gave to things. Unknown keys are shown as they are."""

    @property
    def provider_names(self) -> Mapping[str, str]: ...  # slug → name

    @property
    def model_names(self) -> Mapping[str, str]: ...  # model key → public name


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks."""

    owner: str  # "user:7", as in TicketView.owner
    staff: bool = False

    def may_see(self, row: TicketView | LeaseView) -> bool:
        return self.staff or row.owner == self.owner


@dataclass(frozen=True, slots=True)
class State:
    """One word for a provider or a model, with what explains it."""

    word: str  # open | full | paused | closed | unconfigured
    reason: str = ""
    message: str = ""  # an admin's own words
    opens_in_ms: int | None = None


def render_queue(snapshot: QueueSnapshot, names: Names, viewer: Viewer) -> dict[str, Any]:
    """The whole picture as one viewer may see it."""
    return render_common(snapshot, names) | render_rows(snapshot, viewer)


def render_common(snapshot: QueueSnapshot, names: Names) -> dict[str, Any]:
    """The part that everybody may see."""
    return {
        "version": snapshot.version,
        "at": _moment(snapshot.at_wall_ms),
        "relay": {
            "state": _render_state(relay_state(snapshot), snapshot.at_wall_ms),
            "running": snapshot.running,
            "limit": snapshot.max_running,
            "inside": snapshot.inside,
            "inside_limit": snapshot.max_inside,
            "waiting": snapshot.waiting,
            "waiting_by_class": dict(snapshot.waiting_by_class),
        },
        "providers": [_render_provider(p, names, snapshot.at_wall_ms) for p in snapshot.providers],
    }


def render_rows(snapshot: QueueSnapshot, viewer: Viewer) -> dict[str, Any]:
    """What this viewer may see in full."""
    return {
        "tickets": [_render_ticket(row, viewer) for row in snapshot.tickets if viewer.may_see(row)],
        "leases": [_render_lease(row, viewer) for row in snapshot.leases if viewer.may_see(row)],
    }


def relay_state(snapshot: QueueSnapshot) -> State:
    if snapshot.inside >= snapshot.max_inside:
        return State("full", "line")
    if snapshot.running >= snapshot.max_running:
        return State("full", "lanes")
    return State("open")


def provider_state(provider: ProviderView) -> State:
    """Closed only when no model of it can be called; a single used-up model leaves the provider open."""
    if provider.profile_missing:
        return State("unconfigured", "lane_profile_missing")
    if provider.paused:
        return State("paused", "paused", provider.pause_message)
    if provider.models and all(_is_closed(model) or model.paused for model in provider.models):
        return _nothing_usable(provider)
    if provider.waiting >= provider.max_waiting and provider.waiting > 0:
        return State("full", "line")
    if provider.running >= provider.limit:
        return State("full", "lanes")
    return State("open")


def model_state(model: ModelView, provider: State) -> State:
    """A model shares its provider's fate, else has its own."""
    if provider.reason in ("lane_profile_missing", "paused"):
        return provider
    if model.paused:
        return State("paused", "paused")
    if _is_closed(model):
        return State("closed", model.closed_reason, opens_in_ms=model.closed_until_ms)
    if provider.word == "full":
        return State("full", f"provider_{provider.reason}")
    if model.limit is not None and model.running >= model.limit:
        return State("full", "lanes")
    return State("open")


def _is_closed(model: ModelView) -> bool:
    return model.closed_until_ms is not None or model.closed_reason != ""


def _nothing_usable(provider: ProviderView) -> State:
    closed = [model for model in provider.models if _is_closed(model)]
    if not closed:
        return State("paused", "models_paused")
    first = min(closed, key=lambda model: _known_or_last(model.closed_until_ms))
    return State("closed", first.closed_reason, opens_in_ms=first.closed_until_ms)


def _known_or_last(milliseconds: int | None) -> float:
    return float("inf") if milliseconds is None else milliseconds


def _render_provider(provider: ProviderView, names: Names, at_wall_ms: int) -> dict[str, Any]:
    state = provider_state(provider)
    return {
        "id": provider.key,
        "name": names.provider_names.get(provider.key, provider.key),
        "state": _render_state(state, at_wall_ms),
        "running": provider.running,
        "limit": provider.limit,
        "waiting": provider.waiting,
        "max_waiting": provider.max_waiting,
        "next_start_ms": _earliest_start(provider.models),
        "longest_running_ms": provider.longest_running_ms,
        "windows": _render_windows(_shared_windows(provider.models)),
        "models": [_render_model(model, state, names, at_wall_ms) for model in provider.models],
    }


def _render_model(model: ModelView, provider: State, names: Names, at_wall_ms: int) -> dict[str, Any]:
    return {
        "id": model.key,
        "name": names.model_names.get(model.key, model.key.partition("/")[2] or model.key),
        "state": _render_state(model_state(model, provider), at_wall_ms),
        "running": model.running,
        "limit": model.limit,
        "waiting": model.waiting,
        "next_start_ms": model.next_start_ms,
        "windows": _render_windows(w for w in model.windows if w.scope not in SHARED_SCOPES),
    }


def _render_state(state: State, at_wall_ms: int) -> dict[str, Any]:
    opens_at = None if state.opens_in_ms is None else _moment(at_wall_ms + state.opens_in_ms)
    return {
        "word": state.word,
        "reason": state.reason,
        "message": state.message,
        "closed_until": opens_at,
        "opens_in_ms": state.opens_in_ms,
    }


def _earliest_start(models: Iterable[ModelView]) -> int | None:
    starts = [
        model.next_start_ms
        for model in models
        if model.next_start_ms is not None and not model.paused and not _is_closed(model)
    ]
    return min(starts, default=None)


def _shared_windows(models: Iterable[ModelView]) -> Iterable[WindowView]:
    """Every model of a provider reports the same shared windows; each is told once, in their order."""
    return dict.fromkeys(window for model in models for window in model.windows if window.scope in SHARED_SCOPES)


def _render_windows(windows: Iterable[WindowView]) -> list[dict[str, Any]]:
    return [
        {
            "measure": window.measure,
            "scope": window.scope,
            "used": window.used,
            "limit": window.limit,
            "window_s": window.window_s,
            "mode": window.mode,
        }
        for window in windows
    ]


def _render_ticket(ticket: TicketView, viewer: Viewer) -> dict[str, Any]:
    return _render_who(ticket, viewer) | {
        "place": ticket.place,
        "waited_ms": ticket.waited_ms,
        "estimated_start_ms": ticket.estimated_start_ms,
        "reason": ticket.reason,
    }


def _render_lease(lease: LeaseView, viewer: Viewer) -> dict[str, Any]:
    return _render_who(lease, viewer) | {"running_ms": lease.running_ms}


def _render_who(row: TicketView | LeaseView, viewer: Viewer) -> dict[str, Any]:
    return {
        "id": row.id,
        "provider": row.provider,
        "model": row.model,
        "class": row.klass,
        "purpose": row.purpose,
        "own": row.owner == viewer.owner,
        "owner": row.owner,
    }


def _moment(wall_ms: int) -> str:
    """ISO 8601, UTC, to the millisecond."""
    return datetime.fromtimestamp(wall_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
