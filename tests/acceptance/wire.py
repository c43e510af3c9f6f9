"""Requests as bytes, for what no SDK would send: any method, any header, any body, cut off anywhere."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.acceptance.served import ServedRelay

GIVE_UP_S = 20.0
CHAT = "/v1/chat/completions"
CHUNK = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # lower-case names
    body: bytes

    @property
    def error(self) -> dict[str, Any]:
        error: dict[str, Any] = json.loads(self.body)["error"]
        return error

    @property
    def request_id(self) -> str:
        return self.headers["x-relay-request-id"]


def send(
    relay: ServedRelay, method: str, path: str, body: bytes = b"", headers: Mapping[str, str | bytes] | None = None
) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", relay.port, timeout=GIVE_UP_S)
    try:
        connection.request(method, path, body, headers or {})  # type: ignore[arg-type]  # bytes are taken as they are
        with connection.getresponse() as response:
            return _read(response)
    finally:
        connection.close()


def send_head(relay: ServedRelay, headers: Mapping[str, str], further: Iterable[bytes] = ()) -> tuple[Answer, int]:
    """A chat request of which only the head is sent, then of `further` as much as the relay takes before it answers.

    Returns the answer and how many bytes of `further` were sent.
    """
    with socket.create_connection(("127.0.0.1", relay.port), timeout=GIVE_UP_S) as connection:
        lines = [f"POST {CHAT} HTTP/1.1", f"Host: 127.0.0.1:{relay.port}", *(f"{n}: {v}" for n, v in headers.items())]
        connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n")
        sent = _send_until_answered(connection, further)
        with http.client.HTTPResponse(connection) as response:
            response.begin()
            return _read(response), sent


def _send_until_answered(connection: socket.socket, parts: Iterable[bytes]) -> int:
    sent = 0
    for part in parts:
        if _has_answered(connection):
            break
        connection.sendall(part)
        sent += len(part)
    return sent


def _has_answered(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return bool(connection.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return False
    finally:
        connection.settimeout(GIVE_UP_S)


def _read(response: http.client.HTTPResponse) -> Answer:
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Answer(response.status, headers, response.read())
