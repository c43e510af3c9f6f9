"""Ways in which an answer's bytes and timing go wrong: each turns a plan into another."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from providers.simulator.directives import FaultCall
from providers.simulator.plan import Cut, Data, Head, Plan, Raw, Reset, Silence, Step, Wait

NOT_HTTP = b"\x16\x03\x01\x02\x00this is not HTTP\x00\xff\xfe\r\n\r\n"
BETWEEN_READS_S = 0.02  # long enough that two writes arrive as two reads


def silent(plan: Plan, fault: FaultCall) -> Plan:
    return (Silence(),)


def silent_after(plan: Plan, fault: FaultCall) -> Plan:
    return (*_up_to_data(plan, fault.whole(0)), Silence())


def slow_first_token(plan: Plan, fault: FaultCall) -> Plan:
    start = next(place for place, step in enumerate(plan) if isinstance(step, Head)) + 1
    return (*plan[:start], Wait(fault.number(5000) / 1000), *plan[start:])


def in_characters(plan: Plan, fault: FaultCall) -> Plan:
    """One character at a time. `trickle(0.5)` = one in two seconds."""
    pause = Wait(1 / max(fault.number(1), 0.001))
    return tuple(chain.from_iterable(_characters(step, pause) if isinstance(step, Data) else (step,) for step in plan))


def _characters(data: Data, pause: Wait) -> Plan:
    characters = [Data(character.encode()) for character in data.payload.decode()]
    characters[-1] = replace(characters[-1], tokens=data.tokens)
    return tuple(chain.from_iterable((pause, character) for character in characters))


def emptied(plan: Plan, fault: FaultCall) -> Plan:
    return _without_length(_up_to_data(plan, 0))


def cut_after(plan: Plan, fault: FaultCall) -> Plan:
    return (*_up_to_data(plan, fault.whole(1)), Cut())


def reset_after(plan: Plan, fault: FaultCall) -> Plan:
    """At once, or after so many events: `reset_connection(3)`."""
    return (*_up_to_data(plan, fault.whole(1)), Reset()) if fault.args else (Reset(),)


def garbage(plan: Plan, fault: FaultCall) -> Plan:
    """In place of a status line, or, after so many events, in place of a chunk: `garbage(2)`."""
    return (*_up_to_data(plan, fault.whole(1)), Raw(NOT_HTTP), Cut()) if fault.args else (Raw(NOT_HTTP), Cut())


def _up_to_data(plan: Plan, count: int) -> Plan:
    """The plan's beginning with `count` writes; of a body in one piece, half."""
    if count and sum(isinstance(step, Data) for step in plan) == 1:
        return tuple(replace(s, payload=s.payload[: len(s.payload) // 2]) if isinstance(s, Data) else s for s in plan)
    kept: list[Step] = []
    for step in plan:
        if isinstance(step, Data):
            if count == 0:
                break
            count -= 1
        kept.append(step)
    return tuple(kept)


def line_ends(ending: bytes) -> Callable[[Plan, FaultCall], Plan]:
    """Every line break of the framing; JSON holds none of its own."""

    def bend(plan: Plan, fault: FaultCall) -> Plan:
        return _map_data(plan, lambda payload: payload.replace(b"\n", ending))

    return bend


def with_bom(plan: Plan, fault: FaultCall) -> Plan:
    start = next(place for place, step in enumerate(plan) if isinstance(step, Data))
    first = plan[start]
    assert isinstance(first, Data)
    grown = replace(first, payload=b"\xef\xbb\xbf" + first.payload)
    return _without_length((*plan[:start], grown, *plan[start + 1 :]))


def split_at(plan: Plan, fault: FaultCall) -> Plan:
    """All body bytes in two writes, parted at byte `offset` (in the middle if not said)."""
    writes = [step for step in plan if isinstance(step, Data)]
    body, tokens = b"".join(step.payload for step in writes), sum(step.tokens for step in writes)
    offset = min(max(fault.whole(len(body) // 2), 1), len(body) - 1)
    before = tuple(step for step in plan if not isinstance(step, Data))
    return (*before, Data(body[:offset]), Wait(BETWEEN_READS_S), Data(body[offset:], tokens))


def gzipped(plan: Plan, fault: FaultCall) -> Plan:
    """Compressed though nobody may have asked for it; each event is flushed, so it can be read as it comes."""
    if sum(isinstance(step, Data) for step in plan) == 1:
        return _with_head(_map_data(plan, gzip.compress), ("content-encoding", "gzip"))
    compressor = zlib.compressobj(wbits=31)
    plan = _map_data(plan, lambda payload: compressor.compress(payload) + compressor.flush(zlib.Z_SYNC_FLUSH))
    return _with_head((*plan, Data(compressor.flush())), ("content-encoding", "gzip"))


def with_cookie(plan: Plan, fault: FaultCall) -> Plan:
    return _with_head(plan, ("set-cookie", "sim=1; Path=/"), keep_length=True)


def _map_data(plan: Plan, change: Callable[[bytes], bytes]) -> Plan:
    changed = tuple(replace(s, payload=change(s.payload)) if isinstance(s, Data) else s for s in plan)
    return _without_length(changed)


def _with_head(plan: Plan, *headers: tuple[str, str], keep_length: bool = False) -> Plan:
    plan = plan if keep_length else _without_length(plan)
    return tuple(replace(s, headers=(*s.headers, *headers)) if isinstance(s, Head) else s for s in plan)


def _without_length(plan: Plan) -> Plan:
    """Bytes have changed: let HTTP frame the body in chunks."""
    return tuple(
        replace(s, headers=tuple(h for h in s.headers if h[0] != "content-length")) if isinstance(s, Head) else s
        for s in plan
    )
