"""A caller on a bare socket, that can leave at any moment, politely (FIN) or not (RST)."""

from __future__ import annotations

import json
import socket
import struct
from types import TracebackType
from typing import Self

from tests.acceptance.calls import Ask
from tests.acceptance.served import ServedRelay

PATIENCE_S = 20.0
LINGER_NOT = struct.pack("ii", 1, 0)  # closing resets the connection


class Caller:
    """Has sent its request. Leaves at the end of the `with` at the latest."""

    def __init__(self, relay: ServedRelay, ask: Ask) -> None:
        self._socket = socket.create_connection(("127.0.0.1", relay.port), timeout=PATIENCE_S)
        self.received = bytearray()
        body = json.dumps(ask.body).encode()
        headers = {"Host": f"127.0.0.1:{relay.port}", "Content-Length": str(len(body)), **ask.headers(relay)}
        lines = ["POST /v1/chat/completions HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        self._socket.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._socket.close()

    def read_until(self, mark: bytes) -> None:
        """Fails when the relay closes before, or says nothing for `PATIENCE_S`."""
        while mark not in self.received:
            part = self._socket.recv(65536)
            assert part, f"no {mark!r} in {bytes(self.received)!r}"
            self.received += part

    def leave(self, how: str) -> None:
        """`how`: "FIN" or "RST"."""
        if how == "RST":
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
        else:
            self._socket.shutdown(socket.SHUT_RDWR)  # close alone would reset if there is something unread
        self._socket.close()
