"""What `manage.py up` does: start everything in order, say where it is, keep it running, stop it in reverse.

Order: data folder and port (refused at once if taken) → Valkey → migrations → simulator and demo data →
Celery and N servers → healthy. Django's ORM is used in threads only; children are started from the main
thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from relay_project.server import installation
from relay_project.server.children import ChildSpec
from relay_project.server.errors import CannotStart, FolderTaken
from relay_project.server.first_run import SIMULATOR_HOST, FirstRun
from relay_project.server.health import accepts, answers_200
from relay_project.server.listening import reserve_port
from relay_project.server.supervisor import Say, Supervisor
from relay_project.server.valkey import prepare_valkey
from scheduling.clock import Clock

HEALTH_PATH = "/healthz"
READY_WITHIN_S = 60.0
POLL_S = 0.1
AFTER_DRAIN_S = 15.0  # for settling and for the application's own end
NO_ROOT_WARNING = ("-W", "ignore:You're running the worker")  # in a container everybody is root
CELERY = (sys.executable, *NO_ROOT_WARNING, "-m", "celery", "--app", "relay_project.celery", "--quiet")
WORKER_OPTIONS = ("--loglevel", "WARNING", "--concurrency", "2", "--without-gossip", "--without-mingle")
BEAT_OPTIONS = ("--loglevel", "WARNING", "--pidfile=")


@dataclass(frozen=True, slots=True)
class UpOptions:
    server: str  # daphne | uvicorn
    workers: int
    host: str
    port: int  # 0 = any free one
    data_dir: Path
    valkey_url: str  # "" = embedded
    with_demo: bool
    drain_limit_s: float
    health_host: str  # a host name that ALLOWED_HOSTS lets in


class Up:
    def __init__(self, options: UpOptions, first_run: FirstRun, clock: Clock, say: Say) -> None:
        self._options = options
        self._first_run = first_run
        self._clock = clock
        self._say = say
        self._supervisor = Supervisor(clock, say)
        self._stop_asked = asyncio.Event()
        self._keep_fds: tuple[int, ...] = ()

    async def run(self) -> None:
        """Until SIGINT or SIGTERM. Raises `CannotStart`. Either way no process is left behind."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._on_signal)
        with contextlib.ExitStack() as held:
            starting = asyncio.create_task(self._start(held))
            asked = asyncio.create_task(self._stop_asked.wait())
            try:
                await asyncio.wait({starting, asked}, return_when=asyncio.FIRST_COMPLETED)
                if starting.done():
                    starting.result()
                    await asked
            finally:
                await _cancel(starting, asked)
                await self._supervisor.stop()

    def _on_signal(self) -> None:
        if self._stop_asked.is_set():
            self._say("Stopping now.")
            self._supervisor.hurry()
        else:
            self._say("Stopping; running answers may end. Once more to stop now.")
        self._stop_asked.set()

    async def _start(self, held: contextlib.ExitStack) -> None:
        self._keep_fds = (await self._lock_folder(),)
        held.callback(os.close, *self._keep_fds)
        reserved = held.enter_context(reserve_port(self._options.host, self._options.port))
        port = reserved.getsockname()[1]
        store = {"VALKEY_URL": self._options.valkey_url or await self._start_valkey(held)}
        await asyncio.to_thread(self._first_run.migrate)
        simulator_port = await self._start_demo() if self._options.with_demo else None
        await self._start_services(store, port)
        if simulator_port is not None:
            await self._until(partial(accepts, SIMULATOR_HOST, simulator_port), "the simulator")
        self._supervisor.keep_all()
        self._say(f"Relay: http://{_in_url(_reachable(self._options.host))}:{port}")

    async def _lock_folder(self) -> int:
        """An earlier relay may still be draining."""
        for attempt in range(round((self._options.drain_limit_s + AFTER_DRAIN_S) / POLL_S)):
            with contextlib.suppress(FolderTaken):
                return installation.lock(self._options.data_dir)
            if attempt == 0:
                self._say("Another relay works in this data folder; waiting for its end.")
            await self._clock.sleep(POLL_S)
        raise FolderTaken(self._options.data_dir)

    async def _start_valkey(self, held: contextlib.ExitStack) -> str:
        valkey = prepare_valkey(self._options.data_dir / "valkey", self._keep_fds)
        held.callback(valkey.remove_socket)
        await self._supervisor.start(valkey.spec)
        await self._until(partial(asyncio.to_thread, valkey.answers), "the embedded Valkey")
        return valkey.url

    async def _start_demo(self) -> int | None:
        """The demo's upstream, which says its URL itself, and the demo in an empty database; its secrets are told
        at once, for they are told once. Returns the upstream's port.
        """
        plan = await asyncio.to_thread(self._first_run.plan_demo)
        if plan is None:
            return None
        await self._supervisor.start(plan.simulator(self._keep_fds))
        demo = await asyncio.to_thread(self._first_run.make_demo, plan)
        if demo is not None:
            self._say(f"Admin: {demo.admin_username} / {demo.password}")
            self._say(f"Personal token: {demo.token}")
        return plan.simulator_port

    async def _start_services(self, store: dict[str, str], port: int) -> None:
        """Celery (worker and clock are processes of their own) and the servers, until they answer."""
        schedule = ("--schedule", str(self._options.data_dir / "beat-schedule"))
        worker = (*CELERY, "worker", *WORKER_OPTIONS)
        beat = (*CELERY, "beat", *BEAT_OPTIONS, *schedule)
        servers = (self._server(number, store, port) for number in range(1, self._options.workers + 1))
        await self._supervisor.start(
            ChildSpec("The Celery worker", worker, store, stop_within_s=AFTER_DRAIN_S, keep_fds=self._keep_fds),
            ChildSpec("Celery beat", beat, store, keep_fds=self._keep_fds),
            *servers,
        )
        host = _reachable(self._options.host)
        healthy = partial(answers_200, host, port, HEALTH_PATH, self._options.health_host)
        await self._until(healthy, f"GET {HEALTH_PATH}")

    def _server(self, number: int, store: dict[str, str], port: int) -> ChildSpec:
        options = self._options
        module = (sys.executable, "-m", "relay_project.server")
        return ChildSpec(
            name=f"Relay server {number}",
            argv=(*module, "--server", options.server, "--host", options.host, "--port", str(port)),
            env=store,
            announces=True,
            stop_within_s=options.drain_limit_s + AFTER_DRAIN_S,
            orphan_signal=signal.SIGTERM,  # running answers may end even then
            keep_fds=self._keep_fds,
        )

    async def _until(self, is_so: Callable[[], Awaitable[bool]], what: str) -> None:
        """Raises `ChildDied` when a child ends meanwhile, `CannotStart` after `READY_WITHIN_S`."""
        death = asyncio.ensure_future(self._supervisor.first_death())
        try:
            for _ in range(round(READY_WITHIN_S / POLL_S)):
                if await is_so():
                    return
                await asyncio.wait({death}, timeout=POLL_S)
                if death.done():
                    death.result()
        finally:
            await _cancel(death)
        raise CannotStart(f"No answer from {what} within {READY_WITHIN_S:g} s.")


def _reachable(host: str) -> str:
    """An address to call where the relay listens on all of them."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  compared, not bound


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


async def _cancel(*tasks: asyncio.Future[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
