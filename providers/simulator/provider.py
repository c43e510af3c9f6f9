"""The simulated provider without its wire: what it knows, and how it decides what to answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.utils import formatdate
from functools import cached_property
from typing import Any

from providers.simulator.clock import SECOND_US, Clock
from providers.simulator.dialects import DIALECTS
from providers.simulator.dialects.dialect import Call, Stamp
from providers.simulator.directives import (
    Behaviour,
    DirectiveError,
    FaultCall,
    apply,
    apply_headers,
    split_model,
)
from providers.simulator.faults import FAULTS, Circumstances, Fault
from providers.simulator.journal import Arrival, Journal, Outcome
from providers.simulator.limits.book import Admission, Ask, LimitBook, Reading
from providers.simulator.limits.settings import changed_ceilings, changed_rules, unknown_names
from providers.simulator.options import Options
from providers.simulator.plan import Plan, Reply, Wait
from providers.simulator.request import Request
from providers.simulator.script import Script
from providers.simulator.styles import STYLES, Refused

NO_FAULT = Fault("")


@dataclass(frozen=True, slots=True)
class Decision:
    """What to play, how it counts if it is played to its end, and what is to be settled then."""

    plan: Plan
    outcome: Outcome
    admission: Admission | None = None


class SimulatedProvider:
    def __init__(self, options: Options, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._style = STYLES[options.style]
        self._dialect = DIALECTS[options.dialect]
        self._started_us: int | None = None
        self._spent: set[tuple[str, str]] = set()
        self.journal = Journal()
        self.script = Script()
        self.limits = LimitBook(options.ceilings, options.rules or self._style.rules, options.started_epoch_s)

    def start(self) -> None:
        """Time counts from here, or from the first request if nobody says."""
        if self._started_us is None:
            self._started_us = self._clock.now_us()

    def now_us(self) -> int:
        """Microseconds since the start."""
        self.start()
        return self._clock.now_us() - (self._started_us or 0)

    @property
    def epoch_us(self) -> int:
        return self._options.started_epoch_s * SECOND_US + self.now_us()

    def http_date(self) -> str:
        """The simulated wall clock, so that `Date` and the resets in a body agree."""
        return formatdate(self.epoch_us / SECOND_US, usegmt=True)

    @cached_property
    def faults(self) -> Mapping[str, str]:
        """Every fault by name, and what it does."""
        return {**{name: fault.says for name, fault in FAULTS.items()}, **self._dialect.faults}

    @property
    def style_name(self) -> str:
        return self._style.name

    def arrive(self, request: Request, at_us: int) -> Arrival:
        arrival = self.journal.arrive(at_us, request)
        arrival.model = split_model(self._dialect.model_of(request))[0]
        return arrival

    def decide(self, request: Request, arrival: Arrival) -> Decision:
        """Nothing here waits. Directives, key, body, limits, in this order, as a provider would look at them."""
        try:
            behaviour = self._behaviour(request, arrival)
            return self._answer(request, arrival, behaviour)
        except DirectiveError as error:
            return Decision(self._dialect.misdirected(str(error)).plan(), Outcome.REFUSED)

    def settle(self, arrival: Arrival, admission: Admission | None, outcome: Outcome) -> None:
        """The request has ended; `arrival` says how much it produced."""
        now_us = self.now_us()
        if admission is not None:
            self.limits.settle(now_us, admission, arrival.produced_tokens)
        self.journal.end(arrival, now_us, outcome)

    def change_limits(self, changes: Mapping[str, Any]) -> None:
        """Other figures, rules or style from now on; None takes a limit away. Raises ValueError."""
        if unknown := unknown_names(changes):
            raise ValueError(f"unknown limits: {', '.join(sorted(unknown))}")
        style = changes.get("style", self._style.name)
        if style not in STYLES:
            raise ValueError(f"style: {style!r} is none of {', '.join(STYLES)}")
        rules = self.limits.rules if style == self._style.name else STYLES[style].rules
        rules = changed_rules(rules, changes)
        self.limits.change(self.now_us(), changed_ceilings(self.limits.ceilings, changes), rules)
        self._style = STYLES[style]

    def readings(self, model: str, key: str = "") -> list[Reading]:
        return self.limits.readings(self.now_us(), Ask(model, key, 0, None))

    def reset(self) -> None:
        """Forget arrivals, the script, what was used of the limits and which once-only faults have been met."""
        self.journal.reset()
        self.script.clear()
        self.limits.forget()
        self._spent.clear()

    def _behaviour(self, request: Request, arrival: Arrival) -> Behaviour:
        """The defaults, changed by the model's name, then by headers, then by the script."""
        behaviour = apply(self._options.behaviour, split_model(self._dialect.model_of(request))[1])
        behaviour = apply_headers(behaviour, request.headers)
        behaviour = apply(behaviour, self.script.take(request.path, arrival.model))
        arrival.fault = behaviour.fault.name
        if arrival.fault not in self.faults:
            raise DirectiveError(f"unknown fault {arrival.fault!r}; known: {', '.join(self.faults)}")
        return self._unless_spent(behaviour, arrival)

    def _unless_spent(self, behaviour: Behaviour, arrival: Arrival) -> Behaviour:
        met = (arrival.fault, arrival.model)
        if not FAULTS.get(arrival.fault, NO_FAULT).once:
            return behaviour
        if met in self._spent:
            arrival.fault = "ok"
            return replace(behaviour, fault=FaultCall())
        self._spent.add(met)
        return behaviour

    def _answer(self, request: Request, arrival: Arrival, behaviour: Behaviour) -> Decision:
        if request.key is None or (self._options.keys and request.key not in self._options.keys):
            return Decision(self._dialect.wrong_key(request.key).plan(), Outcome.REFUSED)
        fault, around = FAULTS.get(arrival.fault, NO_FAULT), self._around(request, arrival)
        behaviour = fault.behave(behaviour, around)
        call = self._dialect.read(request, arrival.model, behaviour, self._options.catalogue)
        if isinstance(call, Reply):
            return Decision(call.plan(), Outcome.REFUSED)
        _note(arrival, call)
        admission = self._admit(request, arrival, call)
        if isinstance(admission, Reply):
            return Decision(admission.plan(), Outcome.REFUSED)
        try:
            if (reply := fault.reply(behaviour.fault, around)) is not None:
                plan = (Wait(behaviour.first_token_s(arrival.number)), *reply.plan())
                return Decision(plan, Outcome.FAULT, admission)
            plan = fault.bend(call.answer(self._stamp(request, arrival)), behaviour.fault)
            return Decision(plan, Outcome.ANSWERED, admission)
        except DirectiveError as error:  # it has been let in, so its place must be given back
            return Decision(self._dialect.misdirected(str(error)).plan(), Outcome.REFUSED, admission)

    def _admit(self, request: Request, arrival: Arrival, call: Call) -> Admission | Reply | None:
        if not call.counted:
            return None
        ask = Ask(arrival.model, request.key_fingerprint, call.prompt_tokens, call.cap_tokens)
        admission = self.limits.admit(self.now_us(), ask)
        if isinstance(admission, Admission):
            self.journal.admit(arrival)
            return admission
        return self._style.refuse(Refused(admission, arrival.model, self.epoch_us))

    def _around(self, request: Request, arrival: Arrival) -> Circumstances:
        """As it will be when this request has been let in."""
        running = self.journal.inflight.now + 1
        peak = max(running, self.journal.inflight.peak)
        return Circumstances(arrival.model, request.body, self.epoch_us, running, peak)

    def _stamp(self, request: Request, arrival: Arrival) -> Stamp:
        readings = self.readings(arrival.model, request.key_fingerprint)
        headers = (("x-request-id", f"req_sim{arrival.number:09d}"), *self._style.gauge(readings))
        return Stamp(arrival.number, self.epoch_us // SECOND_US, headers)


def _note(arrival: Arrival, call: Call) -> None:
    arrival.stream = call.stream
    arrival.prompt_tokens = call.prompt_tokens
    arrival.cap_tokens = call.cap_tokens
    arrival.code_word = call.code_word
