"""An answer as a script: what goes on the wire, and when. Pure functions write it, `player` plays it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Wait:
    """Let `seconds` pass since the moment the step before was due (so that delays do not add up to a drift)."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Head:
    status: int
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Data:
    """One write of body bytes; `tokens` = how many tokens of answer are in it."""

    payload: bytes
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes straight onto the socket, past HTTP."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class Cut:
    """Close the connection where it stands: FIN, without the end that HTTP asks for."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Tear the connection down: RST."""


@dataclass(frozen=True, slots=True)
class Silence:
    """Say nothing more until the client leaves."""


Step = Wait | Head | Data | Raw | Cut | Reset | Silence
Plan = tuple[Step, ...]  # never empty, and never ends with a Wait


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer in one piece."""

    status: int
    body: bytes = b""
    headers: Headers = ()

    def plan(self, tokens: int = 0) -> Plan:
        head = Head(self.status, (*self.headers, ("content-length", str(len(self.body)))))
        return (head, Data(self.body, tokens)) if self.body else (head,)

    def with_headers(self, *headers: tuple[str, str]) -> Reply:
        return Reply(self.status, self.body, (*self.headers, *headers))


def encode_json(document: Any) -> bytes:
    """Compact UTF-8, letters beyond ASCII as they are: what providers send."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def json_reply(status: int, document: Any, *headers: tuple[str, str]) -> Reply:
    return Reply(status, encode_json(document), (("content-type", "application/json"), *headers))


def text_reply(status: int, text: str, content_type: str = "text/html") -> Reply:
    return Reply(status, text.encode(), (("content-type", content_type),))
