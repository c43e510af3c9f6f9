"""Both server launchers, over real sockets, with a small ASGI application."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.relay_project.launched import SERVERS, Launched, launched, read_all

pytestmark = pytest.mark.served

LIMIT = 2 * 1024 * 1024
SMALL_LIMITS = {"RELAY_MAX_BODY_BYTES": str(LIMIT), "RELAY_MAX_HELD_BYTES": str(3 * LIMIT)}


@pytest.fixture(params=SERVERS, scope="module")
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launched]:
    """One for all tests that leave it as it was."""
    with launched(request.param, tmp_path_factory.mktemp("shared"), **SMALL_LIMITS) as running:
        yield running


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Launched]:
    with launched(request.param, tmp_path, RELAY_DRAIN_LIMIT_S="10", **SMALL_LIMITS) as running:
        yield running


@pytest.fixture
def daphne(tmp_path: Path) -> Iterator[Launched]:
    with launched("daphne", tmp_path, **SMALL_LIMITS) as running:
        yield running


def post(connection: socket.socket, headers: str, body: bytes = b"") -> None:
    connection.sendall(f"POST /echo HTTP/1.1\r\nHost: relay\r\n{headers}\r\n\r\n".encode() + body)


def answer(connection: socket.socket) -> tuple[bytes, bytes]:
    """Status line and body of an answer with a length."""
    file = connection.makefile("rb")
    status, length = file.readline().rstrip(), 0
    while (line := file.readline()) not in (b"\r\n", b""):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return status, file.read(length)


def refusal(body: bytes) -> dict[str, object]:
    error: dict[str, object] = json.loads(body)["error"]
    return error


# What is taken in


def test_a_body_within_the_limit_arrives_whole(shared: Launched) -> None:
    with shared.connect() as connection:
        post(connection, f"Content-Length: {LIMIT}", b"x" * LIMIT)
        assert answer(connection) == (b"HTTP/1.1 200 OK", b"%d " % LIMIT)


def test_an_upload_too_large_by_its_length_is_refused_before_it_is_sent(shared: Launched) -> None:
    calls = len(shared.events("echo"))
    with shared.connect() as connection:
        began = time.monotonic()
        post(connection, f"Content-Length: {4 * LIMIT}", b"x" * 1000)
        status, body = answer(connection)
        assert time.monotonic() - began < 0.5
    assert status.startswith(b"HTTP/1.1 413")
    assert refusal(body)["code"] == "request_too_large"
    assert refusal(body)["source"] == "relay"
    assert len(shared.events("echo")) == calls


def test_a_client_that_sends_all_before_it_reads_still_gets_the_refusal(shared: Launched) -> None:
    with shared.connect() as connection:
        post(connection, f"Content-Length: {4 * LIMIT}", b"x" * (4 * LIMIT))
        assert answer(connection)[0].startswith(b"HTTP/1.1 413")


def test_who_waits_for_100_continue_is_refused_instead(shared: Launched) -> None:
    with shared.connect() as connection:
        post(connection, f"Content-Length: {4 * LIMIT}\r\nExpect: 100-continue")
        assert answer(connection)[0].startswith(b"HTTP/1.1 413")


def test_who_waits_for_100_continue_within_the_limit_gets_it(shared: Launched) -> None:
    with shared.connect() as connection:
        post(connection, "Content-Length: 5\r\nExpect: 100-continue")
        assert answer(connection)[0] == b"HTTP/1.1 100 Continue"
        connection.sendall(b"hello")
        assert answer(connection)[1] == b"5 "


def test_a_chunked_upload_is_refused_at_the_chunk_that_goes_over(daphne: Launched) -> None:
    with daphne.connect() as connection:
        post(connection, "Transfer-Encoding: chunked")
        chunk = b"%x\r\n" % (LIMIT // 4) + b"x" * (LIMIT // 4) + b"\r\n"
        for _ in range(5):
            connection.sendall(chunk)
        status, body = answer(connection)
    assert status.startswith(b"HTTP/1.1 413")
    assert refusal(body)["code"] == "request_too_large"
    assert not daphne.events("echo")


def test_a_chunked_upload_that_goes_over_is_cut_on_uvicorn_too(tmp_path: Path) -> None:
    with launched("uvicorn", tmp_path, **SMALL_LIMITS) as uvicorn, uvicorn.connect() as connection:
        post(connection, "Transfer-Encoding: chunked")
        connection.sendall((b"%x\r\n" % (LIMIT // 4) + b"x" * (LIMIT // 4) + b"\r\n") * 6)
        uvicorn.wait_for("disconnect")


def test_uploads_together_cannot_hold_more_than_the_bound(daphne: Launched) -> None:
    uploads = [daphne.connect() for _ in range(4)]
    for connection in uploads:
        post(connection, f"Content-Length: {LIMIT}", b"x" * (LIMIT - 1))
    answered, _, _ = select.select(uploads, [], [], 5)
    status, body = answer(answered[0])
    assert status.startswith(b"HTTP/1.1 429")
    assert refusal(body)["code"] == "gateway_overloaded"
    assert refusal(body)["retry_after_ms"]
    for connection in uploads:
        connection.close()
    assert until(lambda: _full_upload(daphne) == b"HTTP/1.1 200 OK")  # what they held is free once their ends are seen


def _full_upload(daphne: Launched) -> bytes:
    with daphne.connect() as later:
        post(later, f"Content-Length: {LIMIT}", b"x" * LIMIT)
        return answer(later)[0]


def until(condition: Callable[[], bool], within_s: float = 5) -> bool:
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if condition():
            return True
    return False


def test_a_client_cannot_set_the_root_path(shared: Launched) -> None:
    with shared.connect() as connection:
        post(connection, "Content-Length: 1\r\nDaphne-Root-Path: /elsewhere", b"x")
        assert answer(connection)[1] == b"1 "


def test_a_connection_serves_several_requests(shared: Launched) -> None:
    with shared.connect() as connection:
        for size in (3, 0, 70_000):
            post(connection, f"Content-Length: {size}", b"x" * size)
            assert answer(connection)[1] == b"%d " % size


# What goes out


def test_the_application_waits_while_the_client_does_not_read(server: Launched) -> None:
    before = server.memory_bytes()
    with server.get("/stream?parts=2000&size=100000", receive_buffer=64 * 1024) as connection:
        server.wait_for("sent")
        time.sleep(1.5)
        sent = len(server.events("sent"))
        assert sent < 10, "of 200 MB less than 1 MB may have left the application"
        assert len(server.events("sent")) == sent, "it does not go on"
        assert server.memory_bytes() - before < 30_000_000
        connection.settimeout(30)
        taken = 0
        while taken < 200_000_000:
            taken += len(connection.recv(1 << 20))
    server.wait_for("end")


def test_who_waits_for_a_client_is_freed_when_it_leaves(server: Launched) -> None:
    connection = server.get("/stream?parts=2000&size=100000")
    server.wait_for("sent")
    time.sleep(0.5)
    connection.close()
    server.wait_for("disconnect", within_s=1)
    server.wait_for("sent", count=2000)  # every further send returns at once


def test_the_application_hears_within_a_second_that_its_client_has_left(server: Launched) -> None:
    connection = server.get("/stream?parts=100&every_s=0.1")
    server.wait_for("sent", count=3)
    connection.close()
    server.wait_for("disconnect", within_s=1)


def test_an_application_that_fails_is_answered_with_500(shared: Launched) -> None:
    with shared.get("/fail") as connection:
        assert answer(connection)[0].startswith(b"HTTP/1.1 500")


@pytest.mark.slow
def test_an_application_may_settle_for_long_after_its_client_has_left(server: Launched) -> None:
    """Stock daphne cancels it after 10 s."""
    connection = server.get("/settle?s=13")
    server.wait_for("working")
    connection.close()
    server.wait_for("settled", within_s=15)


# Stopping


def test_at_sigterm_a_running_stream_ends_by_itself(server: Launched) -> None:
    with server.get("/stream?parts=30&every_s=0.1") as connection:
        server.wait_for("sent")
        server.terminate()
        body = read_all(connection)
    assert body.count(b"x" * 10) == 30
    assert b"end" in body
    assert server.process.wait(5) == 0
    assert server.events("drain")
    assert server.events("shutdown")


def test_while_it_drains_no_new_connection_is_taken(server: Launched) -> None:
    with server.get("/stream?parts=20&every_s=0.1") as connection:
        server.wait_for("sent")
        server.terminate()
        server.wait_for("drain")
        with pytest.raises(ConnectionRefusedError):
            server.connect()
        assert b"end" in read_all(connection)


def test_idle_connections_do_not_hold_the_stop(server: Launched) -> None:
    with server.connect() as idle:
        post(idle, "Content-Length: 0")
        answer(idle)
        began = time.monotonic()
        server.terminate()
        assert server.process.wait(5) == 0
        assert time.monotonic() - began < 2


def test_a_second_signal_cancels_what_still_runs(server: Launched) -> None:
    with server.get("/stream?parts=1000&every_s=0.1"):
        server.wait_for("sent")
        server.terminate()
        server.wait_for("drain")
        server.terminate()
        assert server.process.wait(5) == 0
    assert server.events("cancelled")
    assert server.events("shutdown")


@pytest.mark.parametrize("kind", SERVERS)
def test_at_the_drain_limit_what_still_runs_is_cancelled(kind: str, tmp_path: Path) -> None:
    with launched(kind, tmp_path, RELAY_DRAIN_LIMIT_S="0.5") as server:
        with server.get("/stream?parts=1000&every_s=0.1"):
            server.wait_for("sent")
            began = time.monotonic()
            server.terminate()
            assert server.process.wait(5) == 0
        assert 0.4 < time.monotonic() - began < 3
        assert server.events("cancelled")
        assert server.events("shutdown")


def test_a_web_socket_is_told_that_the_service_restarts(server: Launched) -> None:
    with server.connect() as connection:
        connection.sendall(
            b"GET /ws HTTP/1.1\r\nHost: relay\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        reader = connection.makefile("rb")
        while reader.readline() != b"\r\n":
            pass
        assert reader.read(7) == b"\x81\x05hello"
        server.terminate()
        assert reader.read(4) == b"\x88\x02" + (1012).to_bytes(2)
        connection.sendall(b"\x88\x82" + bytes(4) + (1012).to_bytes(2))
        assert server.process.wait(5) == 0
    assert server.events("websocket.disconnect")


@pytest.mark.parametrize("kind", SERVERS)
def test_an_application_that_does_not_start_stops_the_server_with_its_words(kind: str, tmp_path: Path) -> None:
    with launched(kind, tmp_path, TINY_APP_FAILS="startup") as server:
        _, errors = server.process.communicate(timeout=10)
    assert server.process.returncode == 3
    assert "no store" in errors
