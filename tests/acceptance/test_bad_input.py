"""Bad input at a running relay: a clear no in OpenAI's form that names the field, its row, and nothing held."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest

from tests.acceptance.console import ROWS_WITHIN_S, Console
from tests.acceptance.live import wait_until_empty
from tests.acceptance.people import make_token, wait_until_known
from tests.acceptance.served import ServedOptions, ServedRelay, served_relay
from tests.acceptance.upstream import Upstream
from tests.acceptance.waiting import wait_until
from tests.acceptance.wire import CHAT, CHUNK, Answer, send, send_head

pytestmark = pytest.mark.served

LIMIT_BYTES = 20 * 1024 * 1024  # RELAY_MAX_BODY_BYTES unless set
THIRTY_MB = 30_000_000
MEMBERS = frozenset(
    {"message", "type", "param", "code", "stage", "source", "provider", "model", "retry_after_ms", "request_id"}
)


@dataclass(frozen=True, slots=True)
class Bad:
    """A request and what it must be told. `token`: which of the test's tokens it carries."""

    body: bytes = b""
    status: int = 400
    code: str = "invalid_request"
    param: str | None = None
    headers: Mapping[str, str | bytes] = field(default_factory=dict)
    token: str = "good"
    method: str = "POST"
    path: str = CHAT
    says: str = ""

    @property
    def leaves_a_row(self) -> bool:
        """Known callers' requests of the generation endpoints do."""
        return self.token in ("good", "scopeless") and self.path == CHAT


def raw(members: bytes = b"", content: bytes = b'"hi"') -> bytes:
    return b'{"model":"sim-small","messages":[{"role":"user","content":%b}]%b}' % (content, members)


def member(name: str, value: bytes) -> bytes:
    return raw(b',"%b":%b' % (name.encode(), value))


FINE = raw()
NOT_JSON = "not valid JSON"
CASES: dict[str, Bad] = {
    # --- no JSON, or none that can be passed on
    "empty": Bad(says=NOT_JSON),
    "no JSON": Bad(b"hello", says=NOT_JSON),
    "cut off": Bad(FINE[:-1], says=NOT_JSON),
    "two": Bad(FINE + FINE, says=NOT_JSON),
    "a list": Bad(b"[]", says="must be a JSON object"),
    "a word": Bad(b'"hi"', says="must be a JSON object"),
    "NaN": Bad(member("temperature", b"NaN"), says=NOT_JSON),
    "infinite": Bad(member("temperature", b"1e999"), says=NOT_JSON),
    "5,000 digits": Bad(member("seed", b"9" * 5000), says=NOT_JSON),
    "invalid UTF-8": Bad(raw(content=b'"\xff\xfe"'), says="UTF-8"),
    "a byte order mark": Bad(b"\xef\xbb\xbf" + FINE, says=NOT_JSON),
    "half of a surrogate pair": Bad(raw(content=rb'"cut \ud83d"'), says="half of a surrogate pair"),
    "the other half": Bad(raw(content=rb'"\ude00 cut"'), says="surrogate"),
    "half a pair in a name": Bad(member(r"\ud83d", b"1"), says="half of a surrogate pair"),
    "a bare null byte": Bad(raw(content=b'"a\x00b"'), says=NOT_JSON),
    "100,000 deep, open": Bad(b"[" * 100_000, says="nested too deeply"),
    "100,000 deep": Bad(member("x", b"[" * 100_000 + b"]" * 100_000), says="nested too deeply"),
    "990 deep": Bad(member("x", b"[" * 990 + b"]" * 990), says="nested too deeply"),
    "100,000 deep, objects": Bad(b'{"a":' * 100_000, says="nested too deeply"),
    "packed": Bad(gzip.compress(FINE), param="Content-Encoding", headers={"Content-Encoding": "gzip"}),
    # --- wrong fields
    "no model": Bad(b'{"messages":[{"role":"user","content":"hi"}]}', param="model"),
    "model 5": Bad(FINE.replace(b'"sim-small"', b"5"), param="model"),
    "unknown model": Bad(FINE.replace(b"sim-small", b"nobody"), 404, "model_not_found", "model", says="nobody"),
    "null byte in the model": Bad(FINE.replace(b"small", rb"\u0000"), 404, "model_not_found", "model"),
    "empty messages": Bad(b'{"model":"sim-small","messages":[]}', param="messages"),
    "messages as text": Bad(b'{"model":"sim-small","messages":"hi"}', param="messages"),
    "unknown role": Bad(FINE.replace(b'"user"', b'"robot"'), param="messages[0].role"),
    "content 5": Bad(raw(content=b"5"), param="messages[0].content"),
    "max_tokens -1": Bad(member("max_tokens", b"-1"), param="max_tokens"),
    "max_tokens 0": Bad(member("max_tokens", b"0"), param="max_tokens"),
    "max_tokens as text": Bad(member("max_tokens", b'"5"'), param="max_tokens"),
    "max_completion_tokens 0": Bad(member("max_completion_tokens", b"0"), param="max_completion_tokens"),
    "stream as text": Bad(member("stream", b'"yes"'), param="stream"),
    "n 0": Bad(member("n", b"0"), param="n"),
    "tools as an object": Bad(member("tools", b"{}"), param="tools"),
    # --- wrong headers
    "unknown class": Bad(FINE, param="X-Relay-Class", headers={"X-Relay-Class": "urgent"}),
    "negative wait": Bad(FINE, param="X-Relay-Max-Wait-Ms", headers={"X-Relay-Max-Wait-Ms": "-5"}),
    "wait in words": Bad(FINE, param="X-Relay-Max-Wait-Ms", headers={"X-Relay-Max-Wait-Ms": "soon"}),
    "wait squared": Bad(FINE, param="X-Relay-Max-Wait-Ms", headers={"X-Relay-Max-Wait-Ms": b"\xb2"}),
    # --- wrong tokens
    "no token": Bad(FINE, 401, "invalid_api_key", token=""),
    "unknown token": Bad(FINE, 401, "invalid_api_key", token="unknown"),
    "expired token": Bad(FINE, 401, "invalid_api_key", token="expired"),
    "revoked token": Bad(FINE, 401, "invalid_api_key", token="revoked"),
    "no ASCII in the token": Bad(FINE, 401, "invalid_api_key", token="", headers={"Authorization": b"Bearer \xe9\xff"}),
    "another scheme": Bad(FINE, 401, "invalid_api_key", token="", headers={"Authorization": "Basic Zm9vOmJhcg=="}),
    "token without the scope": Bad(FINE, 403, "model_not_allowed", token="scopeless"),
    # --- wrong addresses
    "GET": Bad(b"", 405, "method_not_allowed", method="GET"),
    "DELETE": Bad(b"", 405, "method_not_allowed", method="DELETE"),
    "PUT": Bad(FINE, 405, "method_not_allowed", method="PUT"),
    "a slash too many": Bad(FINE, 404, "not_found", path=f"{CHAT}/"),
    "no such path": Bad(FINE, 404, "not_found", path="/v1/nothing"),
    "no path": Bad(b"", 404, "not_found", path="/v1", method="GET"),
    "POST of the models": Bad(FINE, 405, "method_not_allowed", path="/v1/models"),
}
GOOD = {
    "no content type": {"Content-Type": ""},
    "another content type": {"Content-Type": "application/x-www-form-urlencoded"},
    "an unknown charset": {"Content-Type": "application/json; charset=nope"},
    "the token in another header": {"x-api-key": "good"},
}


class Bench:
    """One relay, its people and its upstream."""

    def __init__(self, relay: ServedRelay, console: Console) -> None:
        self.relay = relay
        self.console = console
        self.upstream = Upstream(relay.simulator_url)
        self.tokens = {
            "unknown": "rk-nobody-knows-this-one",
            "expired": make_token(console, made="expires_at=timezone.now()"),
            "revoked": make_token(console, made="revoked_at=timezone.now()"),
            "scopeless": make_token(console, scopes=["models"]),
            "good": make_token(console),
        }
        wait_until_known(relay, self.tokens["good"])

    def try_it(self, bad: Bad) -> Answer:
        token = {"Authorization": f"Bearer {self.tokens[bad.token]}"} if bad.token else {}
        return send(self.relay, bad.method, bad.path, bad.body, token | dict(bad.headers))

    def rows(self, request_ids: list[str]) -> list[str]:
        found: list[str] = self.console.run(
            f"""result = list(UsageRow.objects.filter(request_id__in={request_ids!r})
            .order_by("pk").values_list("request_id", flat=True))"""
        )
        return found

    def assert_nothing_is_held(self) -> None:
        wait_until_empty(self.relay)
        wait_until(lambda: self.upstream.inflight == 0, 1, "idle upstream")


@pytest.fixture(scope="module", params=["daphne", "uvicorn"])
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """The shared relay on daphne; one of its own on uvicorn."""
    with contextlib.ExitStack() as opened:
        if request.param == "daphne":
            relay = request.getfixturevalue("relay")
        else:
            folder = tmp_path_factory.mktemp(request.param) / "data"
            relay = opened.enter_context(served_relay(folder, ServedOptions(request.param)))
        bench = Bench(relay, opened.enter_context(Console(relay)))
        opened.callback(bench.upstream.close)
        yield bench


@pytest.fixture(scope="module")
def answers(bench: Bench) -> dict[str, Answer]:
    """All of them, tried once."""
    bench.upstream.reset()
    return {name: bench.try_it(bad) for name, bad in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_clearly(answers: dict[str, Answer], name: str) -> None:
    bad, answer = CASES[name], answers[name]
    error = answer.error
    assert (answer.status, error["code"], error["param"]) == (bad.status, bad.code, bad.param)
    assert error.keys() >= MEMBERS
    assert (error["stage"], error["source"]) == ("request", "relay")
    assert (bad.says or bad.param or "") in error["message"]
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-relay-reason"] == bad.code
    assert answer.headers["x-should-retry"] == "false"
    assert int(answer.headers["content-length"]) == len(answer.body)
    if bad.path == CHAT:
        assert answer.request_id == error["request_id"]


def test_nothing_of_it_is_held_and_none_has_reached_the_provider(bench: Bench, answers: dict[str, Answer]) -> None:
    bench.assert_nothing_is_held()
    assert len(answers) == len(CASES)
    assert bench.upstream.report()["arrivals"] == []


def test_a_known_callers_bad_request_leaves_one_row_and_an_unknown_ones_none(
    bench: Bench, answers: dict[str, Answer]
) -> None:
    expected = [answers[name].request_id for name, bad in CASES.items() if bad.leaves_a_row]
    others = [answer.request_id for name, answer in answers.items() if CASES[name].path == CHAT]
    wait_until(lambda: len(bench.rows(others)) >= len(expected), ROWS_WITHIN_S, "all rows")
    assert sorted(bench.rows(others)) == sorted(expected)


@pytest.mark.parametrize("name", GOOD)
def test_what_is_only_odd_is_answered(bench: Bench, name: str) -> None:
    key = {} if "x-api-key" in GOOD[name] else {"Authorization": f"Bearer {bench.tokens['good']}"}
    headers = key | {header: bench.tokens.get(value, value) for header, value in GOOD[name].items()}
    assert send(bench.relay, "POST", CHAT, FINE, headers).status == 200


def test_of_a_member_said_twice_the_last_counts_for_both_sides(bench: Bench) -> None:
    body = b'{"model":"nobody",' + FINE.replace(b"sim-small", b"sim-large")[1:]
    answer = bench.try_it(Bad(body))
    assert (answer.status, json.loads(answer.body)["model"]) == (200, "sim-large")


def test_a_large_body_is_refused_by_its_length_before_any_of_it_is_sent(bench: Bench) -> None:
    headers = {"Authorization": f"Bearer {bench.tokens['good']}", "Content-Length": str(THIRTY_MB)}
    answer, _sent = send_head(bench.relay, headers)
    assert (answer.status, answer.error["code"]) == (413, "request_too_large")
    assert answer.error["limit_bytes"] == LIMIT_BYTES
    bench.assert_nothing_is_held()


def test_a_large_upload_in_chunks_is_refused_where_it_goes_over(bench: Bench) -> None:
    headers = {"Authorization": f"Bearer {bench.tokens['good']}", "Transfer-Encoding": "chunked"}
    answer, sent = send_head(bench.relay, headers, itertools.repeat(CHUNK, THIRTY_MB // len(CHUNK)))
    assert (answer.status, answer.error["code"]) == (413, "request_too_large")
    assert LIMIT_BYTES < sent < 29_000_000
    bench.assert_nothing_is_held()
