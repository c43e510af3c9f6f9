"""Splits a byte stream into server-sent events without changing a byte.

Every byte that goes in comes out in exactly one event's `raw`, in order; what is not yet a whole event is
held. So the bytes may be relayed as they came, event by event, while `data` is read from a copy. An event
ends at a blank line; line ends are LF, CRLF or CR, mixed (WHATWG HTML §9.2.6). Linear in the input, however
it is cut.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_HELD_BYTES = 8 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_LF = 0x0A
_SEAM_BYTES = 3  # all but one byte of the longest blank line, CRLF CRLF
# A CR ends a line only if no LF follows. The last CR of a blank line does not wait for its LF (where lines
# end with CR none would come): a straggling LF opens the next event, where an empty line means nothing.
_BLANK_LINE = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r)")


class Event(NamedTuple):
    """One event. A comment, or a blank line alone, is an event without data."""

    raw: bytes  # as it came, its blank line included
    data: bytes  # the `data` lines, joined by LF
    name: str  # the `event` field, "" if there is none


class EventTooLarge(ValueError):
    """More than `MAX_HELD_BYTES` came without a blank line."""


class SseSplitter:
    """Feed it reads of any size; take whole events."""

    def __init__(self, max_held_bytes: int = MAX_HELD_BYTES) -> None:
        self._held = bytearray()
        self._max_held_bytes = max_held_bytes
        self._at_start = True

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that this read completes. Raises `EventTooLarge`."""
        if self._held:
            if not _BLANK_LINE.search(self._held[-_SEAM_BYTES:] + chunk):
                self._hold(chunk)
                return []
            chunk = bytes(self._held) + chunk
            self._held.clear()
        if b"\r" in chunk:
            return self._split_at_any_line_end(chunk)
        if chunk.find(b"\n") == len(chunk) - 2 and chunk[:6] == b"data: " and chunk[-1] == _LF:
            self._at_start = False  # the ordinary read of a chat stream: one event of one line
            return [Event(chunk, chunk[6:-2], "")]
        return self._split_at_lf(chunk)

    def close(self) -> Event | None:
        """What was left without a blank line, read as if it had one; None if nothing was."""
        tail = bytes(self._held)
        self._held.clear()
        return self._read(tail, b"") if tail else None

    def _split_at_lf(self, chunk: bytes) -> list[Event]:
        *blocks, tail = chunk.split(b"\n\n")
        if tail:
            self._hold(tail)
        return [self._read(block, b"\n\n") for block in blocks]

    def _split_at_any_line_end(self, chunk: bytes) -> list[Event]:
        events = []
        start = 0
        for blank in _BLANK_LINE.finditer(chunk):
            events.append(self._read(chunk[start : blank.start()], blank.group()))
            start = blank.end()
        if start < len(chunk):
            self._hold(chunk[start:])
        return events

    def _hold(self, part: bytes) -> None:
        if len(self._held) + len(part) > self._max_held_bytes:
            raise EventTooLarge(f"an event of more than {self._max_held_bytes} bytes")
        self._held += part

    def _read(self, block: bytes, blank: bytes) -> Event:
        if self._at_start:
            self._at_start = False
            return Event(block + blank, *_read_fields(block.removeprefix(_BOM)))
        return Event(block + blank, *_read_fields(block))


def _read_fields(block: bytes) -> tuple[bytes, str]:
    """The data and the name in an event's lines; `id`, `retry` and comments are of no use here."""
    if block[:6] == b"data: " and b"\n" not in block and b"\r" not in block:
        return block[6:], ""
    data: list[bytes] = []
    name = b""
    for line in block.splitlines():
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            name = value.removeprefix(b" ")
    return b"\n".join(data), name.decode("utf-8", "replace")
