"""`/ws/queue`: who may watch, what is sent, and how much is on the way to a slow socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from channels.routing import URLRouter
from channels.testing import WebsocketCommunicator

from accounts.tokens import hash_token
from relay_project.api import consumers
from relay_project.api.queue_viewers import Viewer
from relay_project.routing import websocket_urlpatterns
from scheduling.clock import FakeClock
from tests.relay_project.queue_fakes import FakeConfiguration, FakeRelay, busy_afternoon, caller

TOKEN = "rk-" + "a" * 43
HOST = (b"host", b"testserver")
BEARER = (b"authorization", f"Bearer {TOKEN}".encode())
APPLICATION = URLRouter(websocket_urlpatterns)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def relay(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> FakeRelay:
    relay = FakeRelay(busy_afternoon("user:1"), clock)
    relay.configuration = FakeConfiguration(callers={hash_token(TOKEN): caller(1)})
    monkeypatch.setattr("relay_project.wiring._process", relay)
    return relay


def socket(*headers: tuple[bytes, bytes], subprotocols: tuple[str, ...] = (), query: str = "") -> WebsocketCommunicator:
    return WebsocketCommunicator(APPLICATION, f"/ws/queue{query}", [HOST, *headers], list(subprotocols))


@pytest.fixture
async def watching(relay: FakeRelay) -> AsyncIterator[WebsocketCommunicator]:
    """A socket that has had its first frame."""
    watching = socket(BEARER)
    assert (await watching.connect())[0]
    assert (await watching.receive_json_from())["version"] == 7
    yield watching
    await watching.disconnect()


async def test_a_token_in_the_header_watches_its_own(relay: FakeRelay) -> None:
    watching = socket(BEARER)
    accepted, subprotocol = await watching.connect()
    frame = await watching.receive_json_from()
    await watching.disconnect()
    assert (accepted, subprotocol, frame["type"]) == (True, None, "queue")
    assert [row["id"] for row in frame["tickets"]] == ["t-mine"]


async def test_a_browser_sends_its_token_as_a_subprotocol_which_is_never_echoed(relay: FakeRelay) -> None:
    watching = socket(subprotocols=(f"bearer.{TOKEN}", "relay.queue"))
    accepted, subprotocol = await watching.connect()
    await watching.disconnect()
    assert (accepted, subprotocol) == (True, "relay.queue")


@pytest.mark.parametrize("token", ["rk-unknown", "", "é" * 9])
async def test_a_wrong_token_is_closed_with_4401(relay: FakeRelay, token: str) -> None:
    await _is_turned_away(socket((b"authorization", b"Bearer " + token.encode("latin1"))))


async def test_a_token_in_the_address_does_not_count(relay: FakeRelay) -> None:
    await _is_turned_away(socket(query=f"?token={TOKEN}"))


async def test_a_token_without_the_queue_scope_is_closed_with_4401(relay: FakeRelay) -> None:
    relay.configuration = FakeConfiguration(callers={hash_token(TOKEN): caller(1, scopes=frozenset({"chat"}))})
    await _is_turned_away(socket(BEARER))


async def test_an_expired_token_is_closed_with_4401(relay: FakeRelay, clock: FakeClock) -> None:
    old = caller(1, expires_wall_us=clock.wall_us())
    relay.configuration = FakeConfiguration(callers={hash_token(TOKEN): old})
    await _is_turned_away(socket(BEARER))


async def test_nobody_is_closed_with_4401(relay: FakeRelay, sessions: dict[str, Viewer]) -> None:
    await _is_turned_away(socket())


async def _is_turned_away(turned: WebsocketCommunicator) -> None:
    assert (await turned.connect())[0]
    assert await turned.receive_output() == {"type": "websocket.close", "code": 4401}
    await turned.disconnect()


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> dict[str, Viewer]:
    """Live browser sessions, in place of the database's."""
    live: dict[str, Viewer] = {}
    monkeypatch.setattr(consumers, "viewer_of_session", live.get)
    return live


COOKIE = (b"cookie", b"sessionid=abc; other=1")
OWN_ORIGIN = (b"origin", b"http://testserver")


async def test_a_signed_in_browser_watches(relay: FakeRelay, sessions: dict[str, Viewer]) -> None:
    sessions["abc"] = Viewer("user:9", staff=True)
    watching = socket(COOKIE, OWN_ORIGIN)
    assert (await watching.connect())[0]
    assert len((await watching.receive_json_from())["tickets"]) == 4
    await watching.disconnect()


@pytest.mark.parametrize(
    "headers",
    [
        [(b"origin", b"http://elsewhere.example")],
        [(b"origin", b"null")],
        [(b"origin", b"http://testserver:81")],
        [(b"host", b"rebound.example"), (b"origin", b"http://rebound.example")],
    ],
)
async def test_a_page_of_another_site_is_refused_at_the_handshake(
    relay: FakeRelay, sessions: dict[str, Viewer], headers: list[tuple[bytes, bytes]]
) -> None:
    sessions["abc"] = Viewer("user:1")
    assert (await socket(COOKIE, *headers).connect())[0] is False


async def test_a_trusted_origin_may_watch(relay: FakeRelay, sessions: dict[str, Viewer], settings: Any) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://relay.example"]
    sessions["abc"] = Viewer("user:1")
    watching = socket(COOKIE, (b"origin", b"https://relay.example"))
    assert (await watching.connect())[0]
    await watching.disconnect()


async def test_signing_out_ends_the_watching_within_half_a_minute(
    relay: FakeRelay, clock: FakeClock, sessions: dict[str, Viewer]
) -> None:
    sessions["abc"] = Viewer("user:1")
    watching = socket(COOKIE, OWN_ORIGIN)
    await watching.connect()
    await watching.receive_output()
    sessions.clear()
    for _ in range(5):
        await clock.advance(5)
        assert (await watching.receive_output())["type"] == "websocket.send"
        await watching.send_json_to({"type": "seen"})
    await clock.advance(5)
    assert await watching.receive_output() == {"type": "websocket.close", "code": 4401}
    await watching.disconnect()


async def test_a_revoked_token_is_cut_off_within_a_second(
    relay: FakeRelay, clock: FakeClock, watching: WebsocketCommunicator
) -> None:
    relay.configuration = FakeConfiguration()
    await clock.advance(1.0)
    assert await watching.receive_output() == {"type": "websocket.close", "code": 4401}


async def test_a_change_is_sent(relay: FakeRelay, clock: FakeClock, watching: WebsocketCommunicator) -> None:
    relay.coordinator.moves_on(running=9)
    await clock.advance(0.25)
    frame = await watching.receive_json_from()
    assert (frame["version"], frame["relay"]["running"]) == (8, 9)


async def test_a_socket_that_does_not_confirm_keeps_only_the_latest(
    relay: FakeRelay, clock: FakeClock, watching: WebsocketCommunicator
) -> None:
    for _ in range(20):
        relay.coordinator.moves_on()
        await clock.advance(0.25)
    assert await _versions(watching) == [8, 9, 10]  # with the first: four on the way, the fourth to be confirmed
    await watching.send_json_to({"type": "seen"})
    assert await _versions(watching) == [27]


async def _versions(watching: WebsocketCommunicator) -> list[int]:
    versions = []
    while not await watching.receive_nothing(timeout=0.05, interval=0.01):
        versions.append((await watching.receive_json_from())["version"])
    return versions


async def test_one_that_never_confirms_still_hears_now_and_then(
    relay: FakeRelay, clock: FakeClock, watching: WebsocketCommunicator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "UNCONFIRMED_S", 0.05)
    for _ in range(4):
        relay.coordinator.moves_on()
        await clock.advance(0.25)
    frames = [await watching.receive_json_from() for _ in range(4)]
    assert [frame.get("confirm", False) for frame in frames] == [False, False, True, False]


@pytest.mark.parametrize("text", ["[]", "{", '{"type": "other"}', '{"type": "seen", "x": "' + "y" * 5000 + '"}'])
async def test_a_message_it_does_not_know_closes_the_socket(watching: WebsocketCommunicator, text: str) -> None:
    await watching.send_to(text_data=text)
    assert await watching.receive_output() == {"type": "websocket.close", "code": 4400}


async def test_leaving_stops_watching(relay: FakeRelay) -> None:
    leaving = socket(BEARER)
    await leaving.connect()
    assert len(relay.coordinator.listeners) == 1
    await leaving.disconnect()
    assert relay.coordinator.listeners == []
    assert [task for task in asyncio.all_tasks() if task.get_name() == "queue socket"] == []


async def test_a_hundred_sockets_share_one_picture(relay: FakeRelay, clock: FakeClock) -> None:
    sockets = [socket(BEARER) for _ in range(100)]
    for one in sockets:
        await one.connect()
    relay.coordinator.moves_on()
    await clock.advance(0.25)
    for one in sockets:
        frames = [json.loads((await one.receive_output())["text"]) for _ in range(2)]
        assert [frame["version"] for frame in frames] == [7, 8]
        await one.disconnect()
    assert relay.coordinator.taken == 2
