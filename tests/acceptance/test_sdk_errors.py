"""Errors as the SDK's own exceptions, and how its retries take what the relay tells them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai import OpenAI

from tests.acceptance.calls import new_word
from tests.acceptance.console import Console
from tests.acceptance.faulty import faulty_provider
from tests.acceptance.people import make_token, wait_until_known
from tests.acceptance.served import ServedRelay
from tests.acceptance.upstream import Upstream

pytestmark = pytest.mark.served

USER: Any = [{"role": "user", "content": "say CODE-7 please"}]
FAULTS = {
    "used-up": "sim-1;fault=429(quota)",
    "overloaded": "sim-2;fault=503",
    "broken": "sim-3;fault=500",
    "wrong-key": "sim-4;fault=401",
    "too-long": "sim-5;fault=400_context",
    "too-slow": "sim-6;fault=slow_first_byte(30000)",
    "cut": "sim-7;fault=error_event_after_content;tokens_per_s=100",
    "busy-once": "sim-8",
}


@pytest.fixture(scope="module")
def console(relay: ServedRelay) -> Iterator[Console]:
    with Console(relay) as console, faulty_provider(relay, console, "faulty", FAULTS):
        console.run("""
            model = Model.objects.get(public_name="too-slow")
            ModelOverride.objects.create(profile=model.provider.lane_profile, model=model, run_timeout_s=1)
        """)
        yield console


@pytest.fixture
def upstream(relay: ServedRelay) -> Iterator[Upstream]:
    upstream = Upstream(relay.simulator_url)
    upstream.reset()
    yield upstream
    upstream.reset()
    upstream.close()


@pytest.fixture
def client(relay: ServedRelay) -> Iterator[OpenAI]:
    """With the SDK's own two retries."""
    with OpenAI(base_url=relay.api_url, api_key=relay.token) as client:
        yield client


def ask(client: OpenAI, model: str = "sim-small", **members: Any) -> Any:
    return client.chat.completions.create(model=model, messages=members.pop("messages", USER), **members)


@pytest.mark.parametrize(
    ("members", "kind", "code", "param"),
    [
        ({"model": "nobody"}, openai.NotFoundError, "model_not_found", "model"),
        ({"max_tokens": -1}, openai.BadRequestError, "invalid_request", "max_tokens"),
        ({"temperature": 9}, openai.BadRequestError, "invalid_request", "temperature"),
        ({"messages": []}, openai.BadRequestError, "invalid_request", "messages"),
        ({"messages": [{"role": "robot"}]}, openai.BadRequestError, "invalid_request", "messages[0].role"),
        ({"extra_headers": {"X-Relay-Class": "urgent"}}, openai.BadRequestError, "invalid_request", "X-Relay-Class"),
    ],
)
def test_a_request_that_cannot_be_served_names_its_field(
    client: OpenAI, members: dict[str, Any], kind: type[openai.APIStatusError], code: str, param: str
) -> None:
    with pytest.raises(kind) as caught:
        ask(client, **members)
    assert (caught.value.code, caught.value.param) == (code, param)
    assert param.split("[")[0] in caught.value.message or "nobody" in caught.value.message


def test_a_wrong_token_is_an_authentication_error(relay: ServedRelay) -> None:
    with OpenAI(base_url=relay.api_url, api_key="rk-wrong") as client, pytest.raises(openai.AuthenticationError) as c:
        ask(client)
    assert c.value.code == "invalid_api_key"


def test_a_token_without_the_scope_is_a_permission_error_and_may_do_the_rest(
    relay: ServedRelay, console: Console
) -> None:
    token = make_token(console, scopes=["models"])
    wait_until_known(relay, token)
    with OpenAI(base_url=relay.api_url, api_key=token) as client:
        with pytest.raises(openai.PermissionDeniedError) as caught:
            ask(client)
        assert caught.value.code == "model_not_allowed"
        assert list(client.models.list())


def test_a_body_that_is_too_large_is_told_as_413(client: OpenAI) -> None:
    with pytest.raises(openai.APIStatusError) as caught:
        ask(client, messages=[{"role": "user", "content": "x" * 30_000_000}])
    assert (caught.value.status_code, caught.value.code) == (413, "request_too_large")


@pytest.mark.parametrize(
    ("model", "kind", "status", "code"),
    [
        ("used-up", openai.RateLimitError, 429, "insufficient_quota"),
        ("overloaded", openai.InternalServerError, 503, "provider_overloaded"),
        ("broken", openai.InternalServerError, 502, "provider_unavailable"),
        ("wrong-key", openai.InternalServerError, 502, "provider_unavailable"),
        ("too-slow", openai.InternalServerError, 504, "run_timeout"),
        ("too-long", openai.BadRequestError, 400, "context_length_exceeded"),
    ],
)
@pytest.mark.usefixtures("console")
def test_what_cannot_soon_be_better_is_not_tried_again(
    client: OpenAI, upstream: Upstream, model: str, kind: type[openai.APIStatusError], status: int, code: str
) -> None:
    word = new_word()
    with pytest.raises(kind) as caught:
        ask(client, model, messages=[{"role": "user", "content": word}])
    told: Any = caught.value.body
    assert (caught.value.status_code, caught.value.code, told["source"]) == (status, code, "provider")
    assert (told["provider"], told["model"]) == ("faulty", model)
    assert len(upstream.arrivals(word)) == 1
    if status != 400:
        assert caught.value.response.headers["x-should-retry"] == "false"


@pytest.mark.usefixtures("console")
def test_a_refusal_in_the_sdks_reach_is_waited_out_as_told(client: OpenAI, upstream: Upstream) -> None:
    """The caller will not stand in line, so the provider's own no comes through with its time; the SDK obeys it."""
    upstream.set_scene("fault=429(openai,retry-after-ms=700)")
    began = time.monotonic()
    raw = client.chat.completions.with_raw_response.create(
        model="busy-once", messages=USER, extra_headers={"X-Relay-Max-Wait-Ms": "0"}
    )
    assert raw.retries_taken == 1
    assert 0.7 <= time.monotonic() - began < 3
    assert [arrival["status"] for arrival in upstream.report()["arrivals"]] == [429, 200]


@pytest.mark.usefixtures("console")
def test_an_error_in_the_middle_of_a_stream_is_raised_where_it_came(client: OpenAI) -> None:
    chunks = iter(ask(client, "cut", stream=True))
    assert next(chunks).choices
    with pytest.raises(openai.APIError) as caught:
        list(chunks)
    told: Any = caught.value.body
    assert (told["code"], told["stage"], told["provider"]) == ("provider_unavailable", "provider", "faulty")
