"""ASGI's lifespan, for a server that does not speak it (daphne)."""

from __future__ import annotations

import asyncio

from relay_project.server.options import Application, Message


class LifespanFailed(Exception):
    """The application would not start, or broke off while it ran or stopped."""


class Lifespan:
    """Tells the application that the process starts and ends. One task for both, as the protocol asks."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._inbox: asyncio.Queue[Message] = asyncio.Queue()
        self._outbox: asyncio.Queue[Message] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    async def startup(self) -> None:
        """Raises `LifespanFailed` with the application's own words."""
        scope: Message = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}
        self._task = asyncio.ensure_future(self._application(scope, self._inbox.get, self._outbox.put))
        await self._exchange("startup")

    async def shutdown(self) -> None:
        await self._exchange("shutdown")

    async def _exchange(self, phase: str) -> None:
        if self._task is None:
            raise LifespanFailed("the application was never started")
        self._inbox.put_nowait({"type": f"lifespan.{phase}"})
        answer = asyncio.ensure_future(self._outbox.get())
        await asyncio.wait({self._task, answer}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            answer.cancel()
            raise LifespanFailed(f"the application left at {phase}") from self._task.exception()
        if answer.result()["type"] != f"lifespan.{phase}.complete":
            raise LifespanFailed(str(answer.result().get("message", "")) or f"the application failed at {phase}")
