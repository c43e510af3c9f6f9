"""Requests that OpenAI refuses with a 400 naming the parameter."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from providers.simulator.limits.settings import Ceilings
from providers.simulator.options import Options
from tests.providers.simulator.upstream import KEY, Upstream, chat, upstream_with

pytestmark = pytest.mark.served

TOOL = {"type": "function", "function": {"name": "t"}}
IMAGE = "messages[0].content[0].image_url.url"


def image(url: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]}


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"messages": None}, "messages", "missing_required_parameter"),
        ({"messages": []}, "messages", "empty_array"),
        ({"messages": "hello"}, "messages", "invalid_type"),
        ({"messages": ["hello"]}, "messages[0]", "invalid_type"),
        ({"messages": [{"content": "x"}]}, "messages[0].role", "missing_required_parameter"),
        ({"messages": [{"role": "king", "content": "x"}]}, "messages[0].role", "invalid_value"),
        ({"messages": [{"role": "user"}]}, "messages[0].content", "missing_required_parameter"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content", "invalid_type"),
        ({"messages": [{"role": "user", "content": ["x"]}]}, "messages[0].content[0]", "invalid_type"),
        ({"model": ""}, None, None),
        ({"model": 3}, "model", "invalid_type"),
        ({"max_tokens": -5}, "max_tokens", "integer_below_min_value"),
        ({"max_tokens": 0}, "max_tokens", "integer_below_min_value"),
        ({"max_tokens": "9"}, "max_tokens", "invalid_type"),
        ({"max_completion_tokens": 1.5}, "max_completion_tokens", "invalid_type"),
        ({"n": 129}, "n", "integer_above_max_value"),
        ({"n": True}, "n", "invalid_type"),
        ({"temperature": 2.1}, "temperature", "decimal_above_max_value"),
        ({"top_p": -0.1}, "top_p", "decimal_below_min_value"),
        ({"stream": "yes"}, "stream", "invalid_type"),
        ({"stream_options": {"include_usage": True}}, "stream_options", None),
        ({"top_logprobs": 2}, "top_logprobs", None),
        ({"stop": ["a", "b", "c", "d", "e"]}, "stop", "array_above_max_length"),
        ({"stop": [1]}, "stop", "invalid_type"),
        ({"tools": [{"type": "function"}]}, "tools[0].function.name", "missing_required_parameter"),
        ({"tools": [TOOL], "tool_choice": {"function": {"name": "u"}}}, "tool_choice", None),
        ({"response_format": {"type": "xml"}}, "response_format.type", "invalid_value"),
        ({"response_format": {"type": "json_object"}}, "messages", None),
        (image("data:text/plain;base64,eA=="), IMAGE, "invalid_image_format"),
        (image("data:image/png;base64,!!"), IMAGE, "invalid_base64"),
    ],
)
async def test_a_parameter_that_is_wrong_is_named(upstream: Upstream, fields, param, code):
    response = await _send(upstream, {**chat(), **fields})
    error = response.json()["error"]
    assert (response.status_code, error["param"], error["code"]) == (400, param, code)
    assert error["type"] == "invalid_request_error"
    assert upstream.arrivals[0]["outcome"] == "refused"
    assert upstream.simulator.provider.journal.inflight.now == 0


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"text"', b"\xff\xfe", b'{"temperature": NaN}', b"[" * 100_000])
async def test_a_body_that_is_no_json_object_is_refused(upstream: Upstream, body):
    async with httpx.AsyncClient() as client:
        response = await client.post(
            f"{upstream.url}/v1/chat/completions", content=body, headers={"Authorization": f"Bearer {KEY}"}
        )
    assert response.status_code == 400
    assert response.json()["error"]["message"].startswith("We could not parse the JSON body")


async def test_unknown_parameters_pass_unless_strictness_is_asked_for(upstream: Upstream):
    assert (await upstream.post(relay_note="x")).status_code == 200
    response = await upstream.post("sim-small;strict=1", relay_note="x")
    assert response.json()["error"]["message"] == "Unknown parameter: 'relay_note'."


@pytest.mark.parametrize("model", ["sim-small;speed=3", "sim-small;fault=earthquake", "sim-small;fault=429(nobody)"])
async def test_a_directive_that_does_not_exist_is_told(upstream: Upstream, model):
    response = await upstream.post(model)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "simulator_directive"


async def test_a_call_let_in_with_a_senseless_fault_gives_its_place_back():
    async with upstream_with(Options(ceilings=Ceilings(concurrency=1))) as upstream:
        for fault in ("429(nobody)", "cut_after(x)", "error_event_after_content(server_error,x)"):
            assert (await upstream.post(f"sim-small;fault={fault}", stream=True)).status_code == 400
        assert (await upstream.post()).status_code == 200


async def test_another_path_is_an_invalid_url(upstream: Upstream):
    response = await upstream.get("/v1/nothing")
    assert (response.status_code, response.json()["error"]["message"]) == (404, "Invalid URL (GET /v1/nothing)")


async def _send(upstream: Upstream, document: dict[str, Any]) -> httpx.Response:
    async with httpx.AsyncClient() as client:
        return await client.post(
            f"{upstream.url}/v1/chat/completions", json=document, headers={"Authorization": f"Bearer {KEY}"}
        )
