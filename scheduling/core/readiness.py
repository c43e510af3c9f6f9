"""Which models may start something now: kept up to date with every change, so that picking never has to search.

A model is ready for a class if it has a line in the order, room on its lane, and is not asleep; a provider if one of
its models is ready and it has room itself.
"""

from __future__ import annotations

from scheduling.core.moment import FAR_US, Moment
from scheduling.core.state import CLASSES, Blocked, ModelState, Pool, ProviderState, State


def refresh(state: State, model: ModelState) -> None:
    """Put a model, and its provider, where they belong in the order of those that may start."""
    provider = model.provider
    awake = model not in model.pool.blocked
    for klass in CLASSES:
        if awake and model.lines[klass] and model.lane.has_room(klass):
            provider.ready[klass].put(model, (model.lane.running, model.turn))
        else:
            provider.ready[klass].drop(model)
    refresh_provider(state, provider)


def refresh_provider(state: State, provider: ProviderState) -> None:
    for klass in CLASSES:
        if provider.ready[klass] and provider.lane.has_room(klass):
            state.ready[klass].put(provider, (provider.turn,))
        else:
            state.ready[klass].drop(provider)


def block(state: State, model: ModelState, blocked: Blocked, now: Moment) -> None:
    """Its head cannot start before `due_us`: the model sleeps until then, or until its pool is woken."""
    pool = model.pool
    pool.blocked[model] = blocked
    model.note_paced(blocked.reason, now.us)
    due = state.dues.key_of(pool)
    if blocked.due_us < FAR_US and (due is None or blocked.due_us < due[0]):
        state.dues.put(pool, (blocked.due_us, pool.number))
    refresh(state, model)


def wake(state: State, pool: Pool, now: Moment) -> None:
    """Something about the pool's axes or lines changed: look at all its heads again."""
    if not pool.blocked:
        return
    blocked, pool.blocked = pool.blocked, {}
    pool.pinned.clear()
    state.dues.drop(pool)
    for model in blocked:
        model.note_paced(None, now.us)
        refresh(state, model)
