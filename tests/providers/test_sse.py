"""Splitting server-sent events: nothing lost, nothing changed, however the bytes are cut."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.sse import Event, EventTooLarge, SseSplitter

STREAM = (
    b"\xef\xbb\xbfdata: first\n\n"
    b": a comment\r\n\r\n"
    b'event: message_start\r\ndata: {"a": 1}\r\n\r\n'
    b"data: one\ndata: two\nid: 7\nretry: 10\n\n"
    b"data:no space\r\r"
    b"data: mixed\r\n\n"
    b"data: \xed\x95\x9c\xea\xb8\x80 \xf0\x9f\x98\x80\n\n"
    b"data\n\n"
    b"data: [DONE]\n\n"
)
MEANING = [
    (b"first", ""),
    (b'{"a": 1}', "message_start"),
    (b"one\ntwo", ""),
    (b"no space", ""),
    (b"mixed", ""),
    ("한글 😀".encode(), ""),
    (b"[DONE]", ""),
]


def split(*chunks: bytes) -> list[Event]:
    splitter = SseSplitter()
    events = [event for chunk in chunks for event in splitter.feed(chunk)]
    rest = splitter.close()
    return [*events, rest] if rest else events


def meaning(events: list[Event]) -> list[tuple[bytes, str]]:
    return [(event.data, event.name) for event in events if event.data]


def test_a_stream_with_every_line_end_is_read_whole() -> None:
    events = split(STREAM)
    assert meaning(events) == MEANING
    assert b"".join(event.raw for event in events) == STREAM


@pytest.mark.parametrize("at", range(len(STREAM) + 1))
def test_a_cut_at_any_byte_changes_neither_meaning_nor_bytes(at: int) -> None:
    events = split(STREAM[:at], STREAM[at:])
    assert meaning(events) == MEANING
    assert b"".join(event.raw for event in events) == STREAM


def test_one_byte_at_a_time_reads_the_same() -> None:
    events = split(*(bytes([byte]) for byte in STREAM))
    assert meaning(events) == MEANING
    assert b"".join(event.raw for event in events) == STREAM


def test_two_events_of_one_read_come_together_and_a_third_is_held() -> None:
    splitter = SseSplitter()
    assert splitter.feed(b"data: a\n\ndata: b\n\ndata: c") == [
        Event(b"data: a\n\n", b"a", ""),
        Event(b"data: b\n\n", b"b", ""),
    ]
    assert splitter.feed(b"\n\n") == [Event(b"data: c\n\n", b"c", "")]
    assert splitter.close() is None


def test_a_comment_is_handed_on_at_once_with_no_data() -> None:
    assert SseSplitter().feed(b": keep-alive\n\n") == [Event(b": keep-alive\n\n", b"", "")]


def test_an_event_does_not_wait_for_the_line_feed_that_may_follow_its_last_cr() -> None:
    splitter = SseSplitter()
    assert [event.data for event in splitter.feed(b"data: a\r\n\r")] == [b"a"]
    assert [event.data for event in splitter.feed(b"\ndata: b\r\n\r\n")] == [b"b"]


def test_crlf_is_one_line_end_not_two() -> None:
    assert SseSplitter().feed(b"event: x\r\ndata: y\r\n") == []


def test_what_is_left_at_the_end_is_given_back_and_read() -> None:
    splitter = SseSplitter()
    assert splitter.feed(b"data: [DONE]\n") == []
    assert splitter.close() == Event(b"data: [DONE]\n", b"[DONE]", "")
    assert splitter.close() is None


def test_a_bom_is_dropped_only_at_the_start() -> None:
    events = split(b"data: a\n\n\xef\xbb\xbfdata: b\n\n")
    assert [event.data for event in events] == [b"a", b""]


def test_only_one_space_after_the_colon_goes() -> None:
    assert split(b"data:  two\n\n")[0].data == b" two"


def test_an_event_name_that_is_not_utf8_does_not_raise() -> None:
    assert split(b"event: \xff\ndata: x\n\n")[0].name == "�"


def test_a_held_event_beyond_the_bound_is_refused_by_name() -> None:
    splitter = SseSplitter(max_held_bytes=100)
    splitter.feed(b"data: " + b"x" * 90)
    with pytest.raises(EventTooLarge):
        splitter.feed(b"x" * 10)


def test_the_bound_is_eight_mebibytes() -> None:
    splitter = SseSplitter()
    piece = b"x" * 1024 * 1024
    for _ in range(8):
        assert splitter.feed(piece) == []
    with pytest.raises(EventTooLarge):
        splitter.feed(b"x")


def _seconds_for(size: int) -> float:
    """CPU time of an event of `size` bytes that comes in reads of 64 bytes."""
    event = b"data: " + b"x" * size + b"\n\n"
    chunks = [event[at : at + 64] for at in range(0, len(event), 64)]
    started = time.process_time()
    assert len(split(*chunks)[0].data) == size
    return time.process_time() - started


def test_a_large_event_in_small_reads_takes_linear_time() -> None:
    small = min(_seconds_for(256 * 1024) for _ in range(3))
    large = min(_seconds_for(2 * 1024 * 1024) for _ in range(3))
    assert large < 8 * small * 2.5, "8 times the bytes; quadratic would be 64 times the time"


PIECES = st.sampled_from(
    [
        b"data: x",
        b"data:",
        b"event: e",
        b":c",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\r\n\r\n",
        b"id: 1",
        b"\xef\xbb\xbf",
    ]
)


@given(st.lists(PIECES | st.binary(max_size=8), max_size=40), st.lists(st.integers(0, 400), max_size=12))
def test_no_byte_is_ever_lost_added_or_moved(pieces: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(pieces)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[start:end] for start, end in itertools.pairwise(edges)]
    events = split(*chunks)
    assert b"".join(event.raw for event in events) == stream
    assert meaning(events) == meaning(split(stream))
