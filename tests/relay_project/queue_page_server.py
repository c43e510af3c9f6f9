"""The real pages on daphne, over a relay made of pictures. `POST /_play/SCENE` changes what it shows.

Run as a program: `python -m tests.relay_project.queue_page_server PORT`; settings come from the environment.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import django

django.setup()

from channels.routing import URLRouter  # noqa: E402
from daphne.server import Server  # noqa: E402
from django.core.asgi import get_asgi_application  # noqa: E402
from django.core.management import call_command  # noqa: E402

from accounts.models import User  # noqa: E402
from relay_project import wiring  # noqa: E402
from relay_project.routing import websocket_urlpatterns  # noqa: E402
from scheduling.clock import SystemClock  # noqa: E402
from scheduling.core.snapshot import QueueSnapshot  # noqa: E402
from tests.relay_project.queue_fakes import FakeRelay, busy_afternoon, model, provider, snapshot  # noqa: E402

PEOPLE = (("minji", False), ("hannah", False), ("taeyang", False), ("admin", True))


def password_of(name: str) -> str:
    return f"the password of {name}"


def make_people() -> None:
    for name, staff in PEOPLE:
        User.objects.create_user(name, password=password_of(name), is_staff=staff, is_superuser=staff)


def scenes(clock: SystemClock) -> dict[str, QueueSnapshot]:
    at_wall_ms = clock.wall_us() // 1000
    gemini = provider("gemini", model("gemini/gemini-2.5-pro"), model("gemini/gemini-2.5-flash"))
    found = {"busy": busy_afternoon("user:1"), "quiet": snapshot(gemini), "nothing": snapshot()}
    found["calm"] = replace(found["busy"], tickets=(), leases=())
    return {name: replace(scene, at_wall_ms=at_wall_ms) for name, scene in found.items()}


class Application:
    def __init__(self, relay: FakeRelay) -> None:
        self._relay = relay
        self._django = get_asgi_application()
        self._websockets = URLRouter(websocket_urlpatterns)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await self._websockets(scope, receive, send)
        elif scope["path"].startswith("/_play/"):
            await self._play(scope["path"].removeprefix("/_play/"), send)
        else:
            await self._django(scope, receive, send)

    async def _play(self, scene: str, send: Any) -> None:
        self._relay.coordinator.becomes(scenes(SystemClock())[scene])
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})


def main(port: int) -> None:
    call_command("migrate", verbosity=0)
    make_people()
    clock = SystemClock()
    relay = FakeRelay(scenes(clock)["busy"], clock)
    wiring._process = relay  # type: ignore[assignment]
    Server(Application(relay), endpoints=[f"tcp:port={port}:interface=127.0.0.1"], signal_handlers=True).run()


if __name__ == "__main__":
    main(int(sys.argv[1]))
