"""WebSocket `/ws/queue`: the queue, live. Frames and close codes: docs/queue-api.md.

A socket keeps only the latest picture. Servers do not tell a consumer when a client reads slowly (daphne has
no write backpressure), so every fourth frame asks to be confirmed and the next waits for that, or for
`UNCONFIRMED_S`: at most four pictures are on the way to a socket, and one every five seconds to a client that
never confirms.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Protocol

import msgspec
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer

from relay_project.api.queue_feed import Picture, QueueFeed, process_feed
from relay_project.api.queue_rendering import Viewer
from relay_project.api.queue_viewers import (
    Headers,
    headers_of,
    is_foreign_origin,
    pick_token_holder,
    session_key_in,
    token_in,
    viewer_of_session,
    viewer_of_token,
)

SUBPROTOCOL = "relay.queue"
UNAUTHENTICATED = 4401
BAD_MESSAGE = 4400
CONFIRM_EVERY = 4
UNCONFIRMED_S = 5.0
SESSION_CHECK_S = 30.0
MAX_MESSAGE_BYTES = 4096


class Pass(Protocol):
    """The right to watch, asked for again during the life of a socket."""

    async def viewer(self) -> Viewer | None:
        """Who watches; None as soon as the right has gone."""


class TokenPass:
    """Asked at every picture: one look into the configuration in memory, so a revoked token is cut off at
    once.
    """

    def __init__(self, plain: str, feed: QueueFeed) -> None:
        self._plain = plain
        self._feed = feed

    async def viewer(self) -> Viewer | None:
        holder = pick_token_holder(self._plain, self._feed.configuration.callers, self._feed.wall_us())
        return None if holder is None else viewer_of_token(holder)


class SessionPass:
    """Read from the database once, and again every `SESSION_CHECK_S`: a sign-out ends the watching within
    that.
    """

    def __init__(self, session_key: str, feed: QueueFeed) -> None:
        self._session_key = session_key
        self._feed = feed
        self._viewer: Viewer | None = None
        self._checked_wall_us: int | None = None

    async def viewer(self) -> Viewer | None:
        now_us = self._feed.wall_us()
        if self._checked_wall_us is None or now_us - self._checked_wall_us >= SESSION_CHECK_S * 1e6:
            self._viewer = await database_sync_to_async(viewer_of_session)(self._session_key)
            self._checked_wall_us = now_us
        return self._viewer


class QueueConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no type information
    channel_layer_alias = ""  # none: a process tells its own sockets what it knows itself

    def __init__(self) -> None:
        super().__init__()
        self._news = asyncio.Event()
        self._confirmed = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        headers = headers_of(self.scope)
        if is_foreign_origin(headers):
            await self.close()
            return
        offered = self.scope.get("subprotocols", [])
        self._feed = process_feed()
        self._pass = self._pick_pass(headers, offered)
        # Accepted first: only an open WebSocket can be closed with a code the client may read.
        await self.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None)
        if await self._pass.viewer() is None:
            await self.close(UNAUTHENTICATED)
            return
        self._start()

    def _pick_pass(self, headers: Headers, offered: list[str]) -> Pass:
        token = token_in(headers, offered)
        return TokenPass(token, self._feed) if token else SessionPass(session_key_in(headers), self._feed)

    def _start(self) -> None:
        self._leave: Callable[[], None] = self._feed.watch(self._offer)
        self._sending = asyncio.create_task(self._send_pictures(), name="queue socket")

    def _offer(self, picture: Picture) -> None:
        self._latest = picture
        self._news.set()

    async def _send_pictures(self) -> None:
        for sent in itertools.count(1):
            await self._news.wait()
            self._news.clear()
            viewer = await self._pass.viewer()
            if viewer is None:
                await self.close(UNAUTHENTICATED)
                return
            confirm = sent % CONFIRM_EVERY == 0
            self._confirmed.clear()
            await self.send(text_data=self._latest.frame(viewer, confirm=confirm))
            if confirm:
                await self._wait_for_confirmation()

    async def _wait_for_confirmation(self) -> None:
        try:
            await asyncio.wait_for(self._confirmed.wait(), UNCONFIRMED_S)
        except TimeoutError:
            return  # a client that does not confirm: it gets the latest picture now, and the next no sooner

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if _is_confirmation(text_data):
            self._confirmed.set()
        else:
            await self.close(BAD_MESSAGE)

    async def disconnect(self, code: int) -> None:
        if self._sending is not None:
            self._leave()
            self._sending.cancel()
            await asyncio.wait([self._sending])


def _is_confirmation(text: str | None) -> bool:
    if text is None or len(text) > MAX_MESSAGE_BYTES:
        return False
    try:
        message = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return isinstance(message, dict) and message.get("type") == "seen"
