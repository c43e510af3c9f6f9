"""Faults that any dialect can have: another answer in its place, other timing, other bytes, a broken
connection.

What a fault does to the *content* of an answer is the dialect's business (`dialects/*/twists.py`).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from providers.simulator import bending, canned
from providers.simulator.directives import Behaviour, DirectiveError, FaultCall
from providers.simulator.plan import Plan, Reply, encode_json

MOVED_TO = "/v1/moved"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a fault may look at."""

    model: str
    body: bytes
    epoch_us: int
    inflight: int
    peak_inflight: int


def _no_reply(fault: FaultCall, around: Circumstances) -> Reply | None:
    return None


def _same_behaviour(behaviour: Behaviour, around: Circumstances) -> Behaviour:
    return behaviour


def _same_plan(plan: Plan, fault: FaultCall) -> Plan:
    return plan


@dataclass(frozen=True, slots=True)
class Fault:
    """`reply` answers instead; else `behave` changes how the answer is made, and `bend` how it goes on the
    wire.
    """

    says: str
    reply: Callable[[FaultCall, Circumstances], Reply | None] = _no_reply
    behave: Callable[[Behaviour, Circumstances], Behaviour] = _same_behaviour
    bend: Callable[[Plan, FaultCall], Plan] = _same_plan
    once: bool = False  # only the first request to a model meets it


# --- another answer in its place


def _of_table(table: Mapping[str, Reply], default: str) -> Callable[[FaultCall, Circumstances], Reply]:
    def reply(fault: FaultCall, around: Circumstances) -> Reply:
        return _known(table.get(fault.word(default)), fault, ", ".join(table)).with_headers(*fault.pairs)

    return reply


def _fixed(answer: Reply) -> Callable[[FaultCall, Circumstances], Reply]:
    return lambda fault, around: answer.with_headers(*fault.pairs)


def _rate_limited(fault: FaultCall, around: Circumstances) -> Reply:
    reply = canned.rate_limited(fault.word("openai"), around.model, around.epoch_us)
    names = ", ".join(canned.ODD_429) + ", or a style, alone or with _tokens, _day, _concurrency"
    reply = _known(reply, fault, names)
    overridden = {name.lower() for name, _ in fault.pairs}
    kept = tuple(header for header in reply.headers if header[0] not in overridden)
    return Reply(reply.status, reply.body, (*kept, *fault.pairs))


def _known(reply: Reply | None, fault: FaultCall, names: str) -> Reply:
    if reply is None:
        raise DirectiveError(f"fault {fault.name}({fault.word('')}): known are {names}")
    return reply


UNAUTHORIZED = Reply(
    401,
    encode_json(
        canned.openai_error("Incorrect API key provided: sk-****.", "invalid_request_error", "invalid_api_key")
    ),
    (("content-type", "application/json"),),
)
REDIRECT = Reply(307, b"", (("location", MOVED_TO),))


# --- another way of making the answer


def _slow_first_byte(behaviour: Behaviour, around: Circumstances) -> Behaviour:
    return replace(behaviour, ttft_ms=behaviour.fault.number(5000))


def _trickle(behaviour: Behaviour, around: Circumstances) -> Behaviour:
    return replace(behaviour, tokens_per_s=0)


def _short_answer(behaviour: Behaviour, around: Circumstances) -> Behaviour:
    return replace(behaviour, answer_tokens=4)


def _big_event(behaviour: Behaviour, around: Circumstances) -> Behaviour:
    return replace(behaviour, text="x" * behaviour.fault.whole(1024 * 1024))


def _echo_request(behaviour: Behaviour, around: Circumstances) -> Behaviour:
    echo = {
        "bytes": len(around.body),
        "sha256": hashlib.sha256(around.body).hexdigest(),
        "base64": base64.b64encode(around.body).decode(),
    }
    return replace(behaviour, text=encode_json(echo).decode())


def _count_inflight(behaviour: Behaviour, around: Circumstances) -> Behaviour:
    return replace(behaviour, text=f"inflight {around.inflight} peak {around.peak_inflight}")


FAULTS: Mapping[str, Fault] = {
    "ok": Fault("nothing is wrong"),
    "slow_first_byte": Fault("(ms=5000) nothing for so long, then a good answer", behave=_slow_first_byte),
    "slow_first_token": Fault("(ms=5000) the head at once, the body only then", bend=bending.slow_first_token),
    "silent_after_accept": Fault("the request is taken and never answered", bend=bending.silent),
    "silent_after_events": Fault("(k=0) the head and k events, then nothing more", bend=bending.silent_after),
    "trickle": Fault("(per_s=1) one character after the other", behave=_trickle, bend=bending.in_characters),
    "cut_after": Fault(
        "(k=1) FIN after k events without the end that HTTP asks for; half of an answer in one piece",
        bend=bending.cut_after,
    ),
    "reset_connection": Fault("(k) RST in place of an answer, or after k events", bend=bending.reset_after),
    "garbage": Fault("(k) bytes that are no HTTP in place of an answer, or after k events", bend=bending.garbage),
    "empty_200": Fault("200 and not a byte of body", bend=bending.emptied),
    "html_502_in_200": Fault(
        "200 with a proxy's error page", reply=_fixed(replace(canned.BROKEN_5XX["502"], status=200))
    ),
    "event_1MiB": Fault("(bytes=1048576) one event of that size", behave=_big_event),
    "split_bytes_at": Fault("(offset) the body in two reads, parted at that byte", bend=bending.split_at),
    "crlf": Fault("CR LF line ends in the stream", bend=bending.line_ends(b"\r\n")),
    "cr_only": Fault("CR line ends in the stream", bend=bending.line_ends(b"\r")),
    "bom": Fault("a byte order mark before the body", bend=bending.with_bom),
    "gzip": Fault("the body compressed, asked for or not", bend=bending.gzipped),
    "set_cookie": Fault("a cookie comes with the answer", bend=bending.with_cookie),
    "redirect": Fault(f"307 to {MOVED_TO}", reply=_fixed(REDIRECT)),
    "429": Fault(
        "(body=openai, header=value…) too many requests; bodies and headers as vendors send them",
        reply=_rate_limited,
    ),
    "402": Fault("(vendor=openrouter) no money", reply=_of_table(canned.NO_MONEY, "openrouter")),
    "401_once": Fault(
        "the first request to a model gets a 401, later ones do not", reply=_fixed(UNAUTHORIZED), once=True
    ),
    "401": Fault("a wrong key", reply=_fixed(UNAUTHORIZED)),
    "400_context": Fault("(vendor=openai) the prompt is too long", reply=_of_table(canned.TOO_LONG, "openai")),
    "413_html": Fault(
        "a proxy's page: the body is too large",
        reply=_fixed(canned.html_page(413, "Request Entity Too Large")),
    ),
    "503": Fault("(vendor=openai) no capacity", reply=_of_table(canned.OVERLOADED_503, "openai")),
    **{
        status: Fault(f"{status}, as servers and proxies send it", reply=_fixed(reply))
        for status, reply in canned.BROKEN_5XX.items()
    },
    "echo_request_bytes": Fault("the answer's text is the request's size, sha256 and base64", behave=_echo_request),
    "count_inflight": Fault("the answer's text is how many are running and ran at most", behave=_count_inflight),
    "short_answer_with_error_signal": Fault(
        "a short answer (that an error comes with it is the dialect's part)", behave=_short_answer
    ),
}
