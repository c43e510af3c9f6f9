"""The store's records made a core state again, to be described and looked ahead in by the core's own code.

Built like a new core from the same configuration, then given the same past: what `describe` and `predict` read, no
more (a look ahead lets nobody arrive, so what only arrivals need stays behind).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Any

import msgspec

from scheduling.backends.valkey.layout import Message
from scheduling.backends.valkey.link import Fields
from scheduling.backends.valkey.wire import ask_of, rules_of
from scheduling.core.arrange import take_over
from scheduling.core.axes import Posting, WindowAxis
from scheduling.core.door import enter_line
from scheduling.core.limiters import Limiter, OwnStamps
from scheduling.core.moment import Moment
from scheduling.core.outcomes import Reason
from scheduling.core.spec import (
    CredentialSpec,
    FlowSpec,
    ModelSpec,
    ProviderSpec,
    RelaySpec,
    SchedulerSpec,
)
from scheduling.core.state import Blocked, Closing, Lease, ModelState, ProviderState, State, Ticket
from scheduling.core.windows import OPENS_AFTER_US, CalendarWindow

Records = Mapping[str, Mapping[str, Any]]
SEP = "\x1f"


def records_of(fields: Fields) -> Records:
    """By kind and id."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for field, packed in fields.items():
        kind, _, name = field.decode().partition(SEP)
        if name or kind == "root" or kind == "roster":
            found[kind][name] = msgspec.msgpack.decode(packed)
    return found


def conversations_of(records: Records) -> list[str]:
    """Those that somebody waits with: `state_of` wants to know the credentials they had last."""
    return list({one["ask"]["conversation"] for one in records["ticket"].values()} - {""})


def state_of(records: Records, config: Records, talks: Mapping[str, str]) -> State:
    """The state as it was after the store's last verb. `talks`: conversation → credential."""
    root = records["root"][""]
    now = Moment(root["us"], root["wall_us"])
    state = State(_spec(records, config), _number=root["number"])
    take_over(state, state.spec, now)
    _leave_out_what_is_gone(state, config)
    state.conversations = dict(talks)
    state.version, state.lease_us = root["version"], root.get("lease_us")
    _Thaw(state, records, config, now).all()
    return state


def _spec(records: Records, config: Records) -> SchedulerSpec:
    root = records["root"][""]
    return SchedulerSpec(
        root.get("configured") or 0,
        RelaySpec(root["max_running"], root["max_inside"]),
        {key: _provider(config["provider"][key], records, config) for key in records["roster"].get("", ())},
        {key: _flow(one) for key, one in config["flow"].items()},
    )


def _leave_out_what_is_gone(state: State, config: Records) -> None:
    """What is no longer configured but still in use stays known, and is in no spec."""
    for provider in state.providers.values():
        models = {key: one for key, one in provider.spec.models.items() if config["model"][key]["configured"]}
        provider.spec = replace(provider.spec, models=models)
    configured = {key: one.spec for key, one in state.providers.items() if config["provider"][key]["configured"]}
    state.spec = replace(state.spec, providers=configured)


def _provider(known: Message, records: Records, config: Records) -> ProviderSpec:
    models = records["roster"][known["key"]]["models"]
    return ProviderSpec(
        known["key"],
        rules_of(known["rules"]) if "rules" in known else None,
        {key: _model(config["model"][key]) for key in models},
        tuple(_credential(one) for one in known["credentials"]),
        known["paused"],
        known["pause_message"],
        known["pause_sends_away"],
    )


def _model(known: Message) -> ModelSpec:
    return ModelSpec(
        known["key"],
        known["group"],
        rules_of(known["rules"]),
        known["paused"],
        known["pause_message"],
        known["pause_sends_away"],
    )


def _credential(known: Message) -> CredentialSpec:
    return CredentialSpec(known["id"], known["group"], known.get("lanes"), known.get("model"), known["paused"])


def _flow(known: Message) -> FlowSpec:
    return FlowSpec(known["key"], known["weight"], known.get("concurrency"), known.get("rpm"), known.get("tpm"))


def _closing(of: Message) -> Closing | None:
    return msgspec.convert(of["closing"], Closing) if "closing" in of else None


def axis_name(axis: WindowAxis, provider: ProviderState) -> str:
    """The axis's id in the store."""
    scope, group, *tail = axis.key
    return SEP.join((provider.spec.key, scope, group, "|".join(str(part) for part in tail)))


class _Thaw:
    def __init__(self, state: State, records: Records, config: Records, now: Moment) -> None:
        self._state = state
        self._records = records
        self._config = config
        self._now = now
        self._axes: dict[str, WindowAxis] = {}

    def all(self) -> None:
        charged = self._charged()
        for provider in self._state.providers.values():
            self._provider(provider)
            for axis in provider.axes.values():
                self._axis(axis, axis_name(axis, provider), charged)
        for model in self._state.models.values():
            self._model(model)
        for key, known in self._records["limiter"].items():
            self._state.limiters[key] = Limiter(self._state.spec.flows.get(key) or FlowSpec(key))
            self._state.limiters[key].running = known["running"]
        for lease in sorted(self._records["lease"].values(), key=itemgetter("number")):
            self._lease(lease)
        for ticket in sorted(self._records["ticket"].values(), key=itemgetter("entered")):
            self._ticket(ticket)
        self._lines()
        self._blocks()

    def _charged(self) -> Mapping[str, list[tuple[int, int]]]:
        found = defaultdict(list)
        for name, amount in self._records["charged"].items():
            window, _, stamp = name.partition(SEP)
            found[window].append((int(stamp), amount))
        return found

    def _provider(self, provider: ProviderState) -> None:
        known = self._records["provider"][provider.spec.key]
        provider.turn, provider.closing = known["turn"], _closing(known)
        for credential_id, credential in provider.credentials.items():
            credential.closing = _closing(self._records["credential"][f"{provider.spec.key}{SEP}{credential_id}"])

    def _axis(self, axis: WindowAxis, name: str, charged: Mapping[str, list[tuple[int, int]]]) -> None:
        self._axes[name] = axis
        book = self._records["axis"][name]
        axis.window.held = book["held"]
        if isinstance(axis.window, CalendarWindow):
            for count in book["counts"]:
                axis.window.add(count["amount"], Moment(0, count["start"] + 2 * OPENS_AFTER_US))
        else:
            for stamp_us, amount in sorted(charged[f"a{self._config['axis'][name]['serial']}"]):
                axis.window.add(amount, Moment(stamp_us, 0))
        if axis.pacer is not None and book["due_us"]:
            axis.pacer.start(-1, book["due_us"] - axis.pacer.interval_us)

    def _model(self, model: ModelState) -> None:
        known = self._records["model"][model.spec.key]
        model.turn, model.closing = known["turn"], _closing(known)
        model.paced_us, model.blocked_since_us = known["paced_us"], known.get("since_us")
        for value in self._records["sample"].get(model.spec.key, {"recent": ()})["recent"]:
            model.run_times.add(value)

    def _lease(self, known: Message) -> None:
        state, ask = self._state, ask_of(known["ask"], known["arrived_us"])
        model = state.models[ask.model]
        credential = model.provider.credentials.get(known.get("credential", ""))
        ticket = Ticket(ask, model, known["arrival"], known["arrived_us"])
        lease = Lease(ticket, known["number"], model, credential, known["granted_us"])
        lease.settled = known["settled"]
        lease.postings = list(self._postings(known["postings"]))
        for own in known["own"]:
            if own["key"] in state.limiters:
                lease.own.append((state.limiters[own["key"]], OwnStamps(0, 0, own["stamps"]["amount"])))
        for lane in lease.lanes(state):
            lane.take(ask.klass)
        state.leases[ask.ticket_id] = lease

    def _postings(self, known: Iterable[Message]) -> Iterable[Posting]:
        for one in known:
            axis = self._axes.get(one["axis"])
            if axis is not None and self._config["axis"][one["axis"]]["serial"] == one["serial"]:
                stamp = None if "stamp" not in one else int(one["stamp"])
                yield Posting(axis, one["number"], one["amount"], stamp)

    def _ticket(self, known: Message) -> None:
        ask = ask_of(known["ask"], known["arrived_us"])
        ticket = Ticket(ask, self._state.models[ask.model], known["number"], known["arrived_us"])
        ticket.deadline_us, ticket.kept_warm = known["deadline_us"], known["kept_warm"]
        ticket.own_amounts = {own["key"]: own["amount"] for own in known["own"]}
        enter_line(self._state, ticket, self._now)
        ticket.paced_before_us = known["paced_before_us"]

    def _lines(self) -> None:
        """Tags as they are, and whoever is parked."""
        for known in self._records["line"].values():
            *_, klass, flow = known["id"].split(SEP)
            lines = self._state.models[known["model"]].lines[int(klass)]
            line = lines.line_of(flow)
            assert line is not None, "its tickets have been entered"
            line.tag = known["tag"]
            limiter = self._state.limiters.get(known.get("on", ""))
            if known["parked"]:
                lines.park(line, limiter)
                if limiter is not None:
                    limiter.parked[line] = None
        for known in self._records["lines"].values():
            lines = self._state.models[known["model"]].lines[known["klass"]]
            lines.resume(known["clock"], known["served"], known["last_cost"])
            lines.resort(fair=lines.fair)

    def _blocks(self) -> None:
        for key, known in self._records["model"].items():
            model = self._state.models[key]
            if "blocked" in known:
                blocked = known["blocked"]
                model.pool.blocked[model] = Blocked(blocked["due_us"], Reason(blocked["reason"]))
