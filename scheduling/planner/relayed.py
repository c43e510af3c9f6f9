"""The way through the relay: its real core decides who goes when. This is what the relay's process does around it:
lowers the cap if it may, passes a refusal on or waits once, tells the core how it ended, follows an adaptive limit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scheduling.core.adaptive import AdaptiveRate, configured_per_s, with_rate
from scheduling.core.answers import AnswerLengths
from scheduling.core.charge import Ending
from scheduling.core.outcomes import Event, Granted, Left
from scheduling.core.spec import LaneRules, OnBriefRefusal, Scope
from scheduling.core.tickets import Actual, Ask, Charge, Closure, TargetRef
from scheduling.planner.calls import Call, Caller, No, Road
from scheduling.planner.desk import Desk
from scheduling.planner.journal import Journal
from scheduling.planner.profile import MODEL, PROVIDER, scheduler_spec
from scheduling.planner.timeline import Timeline


@dataclass(slots=True)
class Passage:
    """One call on its way through: to the upstream it is the caller."""

    relayed: Relayed
    call: Call  # as its caller made it
    sent: Call  # as it is sent on: its cap may be lower
    caller: Caller
    arrived_us: int
    grant: Granted | None = None
    waited_once: bool = False

    def on_first_token(self) -> None:
        self.caller.on_first_token()

    def on_done(self) -> None:
        self.relayed.served(self)

    def on_no(self, no: No) -> None:
        self.relayed.refused(self, no)


class Relayed:
    def __init__(
        self, rules: LaneRules, upstream: Road, answers: AnswerLengths, timeline: Timeline, journal: Journal
    ) -> None:
        self._rules = rules
        self._upstream = upstream
        self._answers = answers
        self._timeline = timeline
        self._journal = journal
        self._passages: dict[str, Passage] = {}
        self._desk = Desk(scheduler_spec(rules), timeline, self._take)
        self._following = Following(rules) if rules.adaptive else None

    def go(self, call: Call, caller: Caller) -> None:
        self._line_up(Passage(self, call, self._lowered(call), caller, self._timeline.now_us))

    def served(self, passage: Passage) -> None:
        sent = passage.sent
        actual = Actual(prompt_tokens=sent.prompt_tokens, completion_tokens=sent.completion_tokens)
        self._release(passage, Ending.SERVED, actual)
        if self._following is not None:
            self._adapt(self._following.served())
        if sent.ends_for_length and sent.cap_tokens < passage.call.cap_tokens:
            # once more, with the caller's own cap
            self._line_up(replace(passage, sent=passage.call, grant=None, arrived_us=self._timeline.now_us))
            return
        self._answers.record(MODEL, sent.user, sent.completion_tokens)
        passage.caller.on_done()

    def refused(self, passage: Passage, no: No) -> None:
        assert passage.grant is not None, "it was sent"
        waits = self._rules.on_brief_refusal is OnBriefRefusal.WAIT_ONCE
        if waits:
            self._close(no)  # before its place is given to the next
        self._release(passage, Ending.REFUSED, Actual())
        if self._following is not None:
            self._adapt(self._following.refused(passage.grant.granted_us, self._timeline.now_us))
        if waits and not passage.waited_once:
            self._line_up(replace(passage, waited_once=True))
        else:
            passage.caller.on_no(no)

    def _line_up(self, passage: Passage) -> None:
        sent = passage.sent
        self._passages[sent.id] = passage
        ask = Ask(
            ticket_id=sent.id,
            provider=PROVIDER,
            model=MODEL,
            flow=sent.user,
            charge=Charge(sent.prompt_tokens, sent.cap_tokens, cap_is_callers=True),
            arrived_us=passage.arrived_us,
            arrival=passage.grant.arrival if passage.grant else None,
            re_enters=passage.grant is not None,
        )
        self._desk.line_up(ask)

    def _release(self, passage: Passage, ending: Ending, actual: Actual) -> None:
        del self._passages[passage.sent.id]
        self._desk.release(passage.sent.id, ending, actual)

    def _close(self, no: No) -> None:
        wait_us = self._rules.brief_default_us if no.retry_after_us is None else no.retry_after_us
        target = TargetRef(PROVIDER, Scope.MODEL, MODEL)
        self._desk.close(Closure(target, self._desk.now().wall_us + wait_us, "rate", used_up=False))

    def _adapt(self, changed: LaneRules | None) -> None:
        if changed is not None:
            self._desk.configure(scheduler_spec(changed))

    def _take(self, event: Event) -> None:
        if isinstance(event, Granted):
            passage = self._passages[event.ticket_id]
            passage.grant = event
            self._upstream.go(passage.sent, passage)
        elif isinstance(event, Left):
            self._journal.rejections.append((self._timeline.now_us, event.code))
            no = No(event.code, event.told.retry_after_us)
            self._passages.pop(event.ticket_id).caller.on_no(no)

    def _lowered(self, call: Call) -> Call:
        if not self._rules.answer_cap or (call.streams and not self._rules.answer_cap_streams):
            return call
        cap_tokens = self._answers.lowered_cap(MODEL, call.user, call.cap_tokens)
        return call if cap_tokens is None else replace(call, cap_tokens=cap_tokens)


class Following:
    """Turns an adaptive rate into other rules, when it has changed by enough to matter."""

    def __init__(self, rules: LaneRules) -> None:
        configured = configured_per_s(rules)
        if configured is None:
            raise ValueError("adaptive needs a window of requests: there is no limit to stay below")
        self._rules = rules
        self._rate = AdaptiveRate(configured)
        self._in_force = rules

    def served(self) -> LaneRules | None:
        """The rules to be in force from now on; None = as they are."""
        self._rate.served()
        return self._changed()

    def refused(self, started_us: int, now_us: int) -> LaneRules | None:
        self._rate.refused(started_us, now_us)
        return self._changed()

    def _changed(self) -> LaneRules | None:
        rules = with_rate(self._rules, self._rate.rate_per_s)
        if rules == self._in_force:
            return None
        self._in_force = rules
        return rules
