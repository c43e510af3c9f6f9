"""Keys and tokens are never said back, written down or logged; a revoked token is refused at once."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.acceptance.console import Console
from tests.acceptance.faulty import faulty_provider
from tests.acceptance.people import make_token, revoke, status_with, wait_until_known
from tests.acceptance.served import ServedRelay
from tests.acceptance.waiting import wait_until
from tests.acceptance.wire import CHAT, Answer, send

pytestmark = pytest.mark.served

KEY = secrets.token_hex(20)  # looks like no known kind of key
REFUSED_WITHIN_S = 1.0


def _in_words(said: str) -> Response:
    return Response(f"Incorrect API key provided: {said}", 500)


def _as(status: int) -> Callable[[str], Response]:
    error = {"error": {"message": "Incorrect API key provided: %s", "code": "%s", "type": "invalid_request_error"}}
    return lambda said: Response(
        json.dumps(error).replace("%s", said), status, content_type="application/json", headers={"x-request-id": said}
    )


def _in_the_stream(said: str) -> Response:
    event = f'data: {{"error":{{"message":"key {said} is no good","code":"{said}"}}}}\n\n'
    return Response(event, 200, content_type="text/event-stream")


TELL_TALES: dict[str, Callable[[str], Response]] = {
    "tells-in-words": _in_words,
    "tells-401": _as(401),
    "tells-400": _as(400),
    "tells-429": _as(429),
    "tells-in-stream": _in_the_stream,
}


@pytest.fixture(scope="module")
def console(relay: ServedRelay) -> Iterator[Console]:
    with Console(relay) as console:
        yield console


@pytest.fixture(scope="module")
def token(relay: ServedRelay, console: Console) -> str:
    token = make_token(console)
    wait_until_known(relay, token)
    return token


@pytest.fixture
def _tell_tales(relay: ServedRelay, console: Console, httpserver: HTTPServer) -> Iterator[None]:
    """A provider that says back the key it was called with, in every way an error can."""

    def tell(request: Request) -> Response:
        said = request.headers["authorization"].removeprefix("Bearer ")
        assert said == KEY
        return TELL_TALES[json.loads(request.data)["model"]](said)

    httpserver.expect_request("/v1/chat/completions").respond_with_handler(tell)
    models = {name: name for name in TELL_TALES}
    with faulty_provider(relay, console, "tells", models, base_url=httpserver.url_for("/v1"), key=KEY):
        yield


def ask(relay: ServedRelay, token: str, body: bytes) -> Answer:
    return send(relay, "POST", CHAT, body, {"Authorization": f"Bearer {token}"})


def chat(model: str, *, stream: bool = False, content: str = "hi") -> bytes:
    messages = [{"role": "user", "content": content}]
    return json.dumps({"model": model, "stream": stream, "messages": messages}).encode()


@pytest.mark.usefixtures("_tell_tales")
def test_neither_key_nor_token_is_answered_written_or_logged(relay: ServedRelay, console: Console, token: str) -> None:
    asked = [chat(model, stream=model == "tells-in-stream") for model in TELL_TALES]
    answers = [ask(relay, token, body) for body in [*asked, chat("sim-small"), b"no JSON", b"[" * 100_000]]
    assert [answer.status for answer in answers[:5]] == [502, 502, 400, 429, 502]
    wait_until(
        lambda: console.count_rows(request_id=answers[-1].request_id) == 1,
        5,
        "the last row",
    )
    said = [repr(answer) for answer in answers]
    places = [*said, relay.output.text, _all_rows(console), *_files(relay.data_dir)]
    assert [place[:200] for place in places if KEY in place or token in place] == []
    assert any("tells-401" in place for place in places), "the rows were looked at"


def _all_rows(console: Console) -> str:
    """Every row of every table, as the database has it."""
    rows: str = console.run("""
        from django.db import connection
        with connection.cursor() as cursor:
            found = []
            for table in connection.introspection.table_names(cursor):
                cursor.execute(f'SELECT * FROM "{table}"')
                found += [str(row) for row in cursor.fetchall()]
        result = "\\n".join(found)
    """)
    return rows


def _files(folder: Path) -> list[str]:
    return [path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file()]


def test_a_revoked_token_is_refused_within_a_second(relay: ServedRelay, console: Console) -> None:
    token = make_token(console)
    wait_until_known(relay, token)
    assert ask(relay, token, chat("sim-small")).status == 200
    revoked_at = revoke(console, token)
    wait_until(lambda: ask(relay, token, chat("sim-small")).status == 401, REFUSED_WITHIN_S, "refusal")
    assert time.monotonic() - revoked_at < REFUSED_WITHIN_S
    assert status_with(relay, token) == 401
