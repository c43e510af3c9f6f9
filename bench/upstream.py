"""A provider that costs next to nothing: `python -m bench.upstream PORT`.

It speaks chat completions. A stream has `max_tokens` chunks, one every `seed` milliseconds, the first at once; each
carries the moment it was sent (`t=` monotonic nanoseconds, one clock for all processes of a machine), so that a caller
can tell how long it was on its way.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import httptools
import uvloop

MODEL = "bench"
_HEAD = (
    b'{"id":"chatcmpl-bench","object":"chat.completion%s","created":1760000000,"model":"bench","choices":[{"index":0,'
)
_USAGE = b'"usage":{"prompt_tokens":44,"completion_tokens":32,"total_tokens":76}}'
_WORDS = b"A relay stands between callers and providers and passes on what they say. " * 2
_ANSWER = (
    _HEAD % b""
    + b'"message":{"role":"assistant","content":"%s","refusal":null},"finish_reason":"stop"}],' % _WORDS
    + _USAGE
)
WHOLE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(_ANSWER), _ANSWER)
STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_CHUNK = _HEAD % b".chunk" + b'"delta":{"content":"t=%d "},"logprobs":null,"finish_reason":null}]}'
_LAST_CHUNK = _HEAD % b".chunk" + b'"delta":{},"logprobs":null,"finish_reason":"stop"}],' + _USAGE


def event(data: bytes) -> bytes:
    """A server-sent event as one chunk of HTTP/1.1's chunked coding."""
    return b"%x\r\ndata: %s\n\n\r\n" % (len(data) + 8, data)


STREAM_END = event(_LAST_CHUNK) + event(b"[DONE]") + b"0\r\n\r\n"


class Upstream(asyncio.Protocol):
    """One connection, one request after the other."""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._body = b""

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        body, self._body = self._body, b""
        asked = json.loads(body)
        if not asked.get("stream"):
            self._transport.write(WHOLE)
            return
        self._transport.write(STREAM_HEAD)
        self._send_chunk(asked["max_tokens"], asked["seed"] / 1000, self._loop.time())

    def _send_chunk(self, left: int, every_s: float, due_s: float) -> None:
        """Due times are kept from the first chunk on, so that a late one does not delay the rest."""
        if self._transport.is_closing():
            return
        if not left:
            self._transport.write(STREAM_END)
            return
        self._transport.write(event(_CHUNK % time.monotonic_ns()))
        self._loop.call_at(due_s + every_s, self._send_chunk, left - 1, every_s, due_s + every_s)


async def serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(int(sys.argv[1])))
