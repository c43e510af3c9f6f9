"""Timing, broken connections, unusual bytes."""

from __future__ import annotations

import gzip
import json
import zlib

from tests.providers.simulator.faults.check import ECHO, delta_of, shows, stream, text_of, whole
from tests.providers.simulator.upstream import Upstream, Wire


@shows("ok")
async def ok(upstream: Upstream) -> None:
    wire = await stream(upstream, "ok")
    assert text_of(wire.events) == ECHO
    assert wire.events[-1] == "[DONE]"
    assert wire.ended_properly
    assert (await upstream.ended())[0]["outcome"] == "answered"


@shows("slow_first_byte")
async def slow_first_byte(upstream: Upstream) -> None:
    assert (await upstream.wire("sim-small;fault=slow_first_byte(5000)", patience_s=0.05)).reads == []
    wire = await stream(upstream, "slow_first_byte(60)")
    assert text_of(wire.events) == ECHO
    late = (await upstream.ended(2))[1]
    assert late["first_byte_us"] - late["at_us"] >= 60_000


@shows("slow_first_token")
async def slow_first_token(upstream: Upstream) -> None:
    wire = await stream(upstream, "slow_first_token", patience_s=0.1)
    assert (wire.status, wire.raw_body, wire.silent) == (200, b"", True)


@shows("silent_after_accept")
async def silent_after_accept(upstream: Upstream) -> None:
    wire = await stream(upstream, "silent_after_accept", patience_s=0.1)
    assert (wire.bytes, wire.silent) == (b"", True)
    [arrival] = await upstream.ended()
    assert (arrival["outcome"], arrival["first_byte_us"]) == ("aborted_by_client", None)


@shows("silent_after_events")
async def silent_after_events(upstream: Upstream) -> None:
    wire = await stream(upstream, "silent_after_events(2)", patience_s=0.1)
    assert (len(wire.events), wire.silent) == (2, True)
    assert not wire.ended_properly


@shows("trickle")
async def trickle(upstream: Upstream) -> None:
    wire = await stream(upstream, "trickle(2000)", patience_s=0.5, text="é")
    assert len(wire.reads) > 100
    assert text_of(wire.events) == "1 words: é"
    slow = await stream(upstream, "trickle", patience_s=0.2)
    assert (slow.status, slow.body, slow.silent) == (200, b"", True)


@shows("cut_after")
async def cut_after(upstream: Upstream) -> None:
    wire = await stream(upstream, "cut_after(3)")
    assert (len(wire.events), wire.ended_properly, wire.broken) == (3, False, None)
    half = await upstream.wire("sim-small;fault=cut_after")
    declared = int(half.head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    assert 0 < len(half.raw_body) < declared
    assert [arrival["outcome"] for arrival in await upstream.ended(2)] == ["fault", "fault"]


@shows("reset_connection")
async def reset_connection(upstream: Upstream) -> None:
    at_once = await stream(upstream, "reset_connection")
    assert isinstance(at_once.broken, ConnectionResetError)
    assert at_once.bytes == b""
    later = await stream(upstream, "reset_connection(2)")
    assert isinstance(later.broken, ConnectionResetError)
    assert [arrival["outcome"] for arrival in await upstream.ended(2)] == ["fault", "fault"]


@shows("garbage")
async def garbage(upstream: Upstream) -> None:
    wire = await stream(upstream, "garbage")
    assert wire.bytes.startswith(b"\x16\x03\x01")
    later = await stream(upstream, "garbage(1)")
    assert later.status == 200
    assert later.bytes.endswith(b"\x00\xff\xfe\r\n\r\n")
    assert not later.ended_properly


@shows("empty_200")
async def empty_200(upstream: Upstream) -> None:
    wire = await stream(upstream, "empty_200")
    assert (wire.status, wire.body, wire.ended_properly) == (200, b"", True)
    assert (await whole(upstream, "empty_200")).content == b""


@shows("event_1MiB")
async def event_1mib(upstream: Upstream) -> None:
    wire = await stream(upstream, "event_1MiB", patience_s=2)
    assert [len(text) for event in wire.events if (text := delta_of(event).get("content"))] == [1 << 20]
    small = await stream(upstream, "event_1MiB(65536)", patience_s=2)
    assert max(len(delta_of(event).get("content") or "") for event in small.events) == 65_536


@shows("split_bytes_at")
async def split_bytes_at(upstream: Upstream) -> None:
    good = (await stream(upstream, "ok")).body
    offset = good.index("경".encode()) + 1
    wire = await stream(upstream, f"split_bytes_at({offset})")
    assert text_of(wire.events) == ECHO
    sizes = [int(line, 16) for line in _chunk_sizes(wire)]
    assert len(sizes) == 2
    assert sizes[0] == offset
    assert len(wire.reads) >= 2


def _chunk_sizes(wire: Wire) -> list[bytes]:
    sizes, rest = [], wire.raw_body
    while rest and not rest.startswith(b"0\r\n"):
        size, _, rest = rest.partition(b"\r\n")
        sizes.append(size)
        rest = rest[int(size, 16) + 2 :]
    return sizes


@shows("crlf")
async def crlf(upstream: Upstream) -> None:
    body = (await stream(upstream, "crlf")).body
    assert body.count(b"\r\n\r\n") == 8
    assert b"\n" not in body.replace(b"\r\n", b"")


@shows("cr_only")
async def cr_only(upstream: Upstream) -> None:
    body = (await stream(upstream, "cr_only")).body
    assert body.count(b"\r\r") == 8
    assert b"\n" not in body


@shows("bom")
async def bom(upstream: Upstream) -> None:
    assert (await stream(upstream, "bom")).body.startswith(b"\xef\xbb\xbfdata: {")


@shows("gzip")
async def gzipped(upstream: Upstream) -> None:
    wire = await stream(upstream, "gzip")
    assert b"content-encoding: gzip" in wire.head
    assert ECHO.split()[-1].encode() in zlib.decompress(wire.body, wbits=31)
    one = await upstream.wire("sim-small;fault=gzip")
    assert json.loads(gzip.decompress(one.body))["choices"][0]["message"]["content"] == ECHO


@shows("set_cookie")
async def set_cookie(upstream: Upstream) -> None:
    assert (await whole(upstream, "set_cookie")).headers["set-cookie"] == "sim=1; Path=/"


@shows("redirect")
async def redirect(upstream: Upstream) -> None:
    response = await whole(upstream, "redirect")
    assert (response.status_code, response.headers["location"]) == (307, "/v1/moved")
