"""Another answer in place of the right one; answers that tell of the request."""

from __future__ import annotations

import base64
import json

import pytest

from tests.providers.simulator.faults.check import shows, whole
from tests.providers.simulator.upstream import Upstream, chat


@shows("html_502_in_200")
async def html_502_in_200(upstream: Upstream) -> None:
    response = await whole(upstream, "html_502_in_200")
    assert (response.status_code, response.headers["content-type"]) == (200, "text/html")
    assert "502 Bad Gateway" in response.text


@shows("429")
async def too_many(upstream: Upstream) -> None:
    plain = await whole(upstream, "429")
    assert (plain.status_code, plain.json()["error"]["code"]) == (429, "rate_limit_exceeded")
    day = await whole(upstream, "429(gemini_day)")
    assert "PerDay" in day.json()[0]["error"]["details"][0]["violations"][0]["quotaId"]
    dated = await whole(upstream, "429(html,retry-after=Wed%2C 21 Oct 2026 07:28:00 GMT)")
    assert dated.headers["retry-after"] == "Wed, 21 Oct 2026 07:28:00 GMT"
    twice = await whole(upstream, "429(openai,retry-after=20,retry-after=40)")
    assert twice.headers.get_list("retry-after") == ["20", "40"]
    assert (await whole(upstream, "429(empty)")).content == b""
    with pytest.raises(UnicodeDecodeError):
        (await whole(upstream, "429(invalid_utf8)")).content.decode()


@shows("402")
async def no_money(upstream: Upstream) -> None:
    assert (await whole(upstream, "402")).json()["error"]["code"] == 402
    assert (await whole(upstream, "402(deepseek)")).json()["error"]["message"] == "Insufficient Balance"


@shows("401_once")
async def once(upstream: Upstream) -> None:
    assert [(await whole(upstream, "401_once")).status_code for _ in range(3)] == [401, 200, 200]
    await upstream.control("POST", "/_reset")
    assert (await whole(upstream, "401_once")).status_code == 401


@shows("401")
async def always(upstream: Upstream) -> None:
    assert [(await whole(upstream, "401")).status_code for _ in range(2)] == [401, 401]


@shows("400_context")
async def too_long(upstream: Upstream) -> None:
    vendors = ["openai", "anthropic", "gemini", "vllm", "lmstudio", "llamacpp", "zhipu"]
    bodies = [await whole(upstream, f"400_context({vendor})") for vendor in vendors]
    assert {body.status_code for body in bodies} == {400}
    assert len({body.text for body in bodies}) == len(vendors)
    assert bodies[0].json()["error"]["code"] == "context_length_exceeded"


@shows("413_html")
async def too_large(upstream: Upstream) -> None:
    response = await whole(upstream, "413_html")
    assert (response.status_code, response.headers["content-type"]) == (413, "text/html")


def _status(fault: str, piece: str) -> None:
    @shows(fault)
    async def check(upstream: Upstream) -> None:
        response = await whole(upstream, fault)
        assert (response.status_code, piece in response.text) == (int(fault), True)
        assert (await upstream.ended())[0]["outcome"] == "fault"


for _fault, _piece in {
    "500": "server_error",
    "502": "<html>",
    "503": "server_is_overloaded",
    "504": "<html>",
    "520": "error code: 520",
    "529": "overloaded_error",
}.items():
    _status(_fault, _piece)


@shows("echo_request_bytes")
async def echo(upstream: Upstream) -> None:
    document = chat("sim-small;fault=echo_request_bytes", big=2**70, odd="\u2028")
    response = await whole(upstream, "echo_request_bytes", big=2**70, odd="\u2028")
    told = json.loads(response.json()["choices"][0]["message"]["content"])
    body = base64.b64decode(told["base64"])
    assert json.loads(body) == document
    assert (told["bytes"], told["sha256"]) == (len(body), upstream.arrivals[0]["body_sha256"])


@shows("count_inflight")
async def count(upstream: Upstream) -> None:
    body = (await whole(upstream, "count_inflight")).json()
    assert body["choices"][0]["message"]["content"] == "inflight 1 peak 1"
