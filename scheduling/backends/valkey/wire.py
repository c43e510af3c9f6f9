"""What goes to the store and comes back: calls as messages, replies as the core's values.

Times of the store are its own: they go there as "so long ago" or "so long from now" and come back by `Shift`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from scheduling.backends.valkey.layout import Message, known_only
from scheduling.core.charge import Ending
from scheduling.core.moment import Moment
from scheduling.core.outcomes import Code, Event, Granted, Left, Lost, Reply, Told
from scheduling.core.spec import Class, LaneRules
from scheduling.core.tickets import Actual, Ask, Charge, Closure, Selection, TargetRef


def ask_message(ask: Ask, now: Moment, box: str = "") -> Message:
    """`box`: where events for this ticket go, if another process learns of them first."""
    charge = ask.charge
    return known_only(
        {
            "id": ask.ticket_id,
            "provider": ask.provider,
            "model": ask.model,
            "klass": int(ask.klass),
            "flow": ask.flow,
            "keys": list(dict.fromkeys((ask.flow, *ask.limits))),
            "owner": ask.owner,
            "purpose": ask.purpose,
            "charge": {
                "prompt": charge.prompt_tokens,
                "cap": charge.cap_tokens,
                "callers": charge.cap_is_callers,
            },
            "max_wait_us": ask.max_wait_us,
            "age_us": None if ask.arrived_us is None else now.us - ask.arrived_us,
            "arrival": ask.arrival,
            "re_enters": ask.re_enters,
            "holder": ask.holder,
            "conversation": ask.conversation,
            "box": box,
        }
    )


def ask_of(message: Message, arrived_us: int) -> Ask:
    """The ask as it was, with the store's arrival time."""
    charge = message["charge"]
    return Ask(
        ticket_id=message["id"],
        provider=message["provider"],
        model=message["model"],
        klass=Class(message["klass"]),
        flow=message["flow"],
        limits=tuple(message["keys"][1:]),
        owner=message["owner"],
        purpose=message["purpose"],
        charge=Charge(charge["prompt"], charge["cap"], charge["callers"]),
        max_wait_us=message.get("max_wait_us"),
        arrived_us=arrived_us,
        arrival=message.get("arrival"),
        re_enters=message["re_enters"],
        holder=message["holder"],
        conversation=message["conversation"],
    )


def ending_message(ticket_id: str, ending: Ending, actual: Actual) -> Message:
    known = known_only(
        {
            "prompt": actual.prompt_tokens,
            "cached": actual.cached_prompt_tokens,
            "completion": actual.completion_tokens,
        }
    )
    return {"id": ticket_id, "ending": ending.value, "actual": known}


def selection_message(selection: Selection, code: Code) -> Message:
    return {"ids": sorted(selection.ticket_ids), "key": selection.key, "code": code.value}


def target_message(target: TargetRef) -> Message:
    return {"provider": target.provider, "scope": target.scope.value, "key": target.key}


def closure_message(closure: Closure, now: Moment) -> Message:
    return {
        "target": target_message(closure.target),
        "in_us": closure.until_wall_us - now.wall_us,
        "reason": closure.reason,
        "used_up": closure.used_up,
    }


def packed(message: Message) -> bytes:
    return msgspec.msgpack.encode(message)


@dataclass(frozen=True, slots=True)
class Shift:
    """From the store's two times to this process's."""

    us: int
    wall_us: int

    @classmethod
    def between(cls, reply: Message, now: Moment) -> Shift:
        return cls(now.us - reply["now_us"], now.wall_us - reply["wall_us"])


def reply_of(message: Message, shift: Shift) -> Reply:
    now_wall_us = message["wall_us"] + shift.wall_us
    due_us = message.get("due_us")
    return Reply(
        tuple(event_of(one, shift, now_wall_us) for one in message["events"]),
        None if due_us is None else due_us + shift.us,
        message["version"],
    )


def event_of(message: Message, shift: Shift, now_wall_us: int) -> Event:
    if "granted" in message:
        return _granted(message, shift)
    if "left" in message:
        return Left(message["left"], Code(message["code"]), _told(message["told"], now_wall_us))
    return Lost(message["lost"])


def _granted(message: Message, shift: Shift) -> Granted:
    return Granted(
        ticket_id=message["granted"],
        provider=message["provider"],
        model=message["model"],
        credential_id=message.get("credential"),
        rules=rules_of(message["rules"]),
        granted_us=message["granted_us"] + shift.us,
        queue_us=message["queue_us"],
        pace_us=message["pace_us"],
        arrival=message["arrival"],
    )


def _told(message: Message, now_wall_us: int) -> Told:
    closed_in_us = message.get("closed_in_us")
    known: dict[str, Any] = {name: value for name, value in message.items() if name != "closed_in_us"}
    return Told(**known, closed_until_wall_us=None if closed_in_us is None else now_wall_us + closed_in_us)


@lru_cache(maxsize=1024)
def rules_of(text: str) -> LaneRules:
    return msgspec.json.decode(text, type=LaneRules)
