"""Bytes go through as they are, both ways; and what comes out is what OpenAI describes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.acceptance.described import complaints, openai_description, validator
from tests.acceptance.served import ServedRelay
from tests.acceptance.upstream import Upstream

pytestmark = pytest.mark.served

USER = [{"role": "user", "content": "say CODE-7 please"}]
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "s", "schema": {"type": "object", "properties": {}}}}
# What differs between two equal calls: the number and the second.
VARYING = re.compile(rb'"id":"chatcmpl-sim\d+"|"created":\d+|call_sim\d+')
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "three": {"n": 3},
    "logprobs": {"logprobs": True, "top_logprobs": 2},
    "tool": {"tools": [TOOL]},
    "schema": {"response_format": SCHEMA},
    "short": {"max_tokens": 2},
}
# Legal, and lost or changed by whoever decodes and encodes again.
STUBBORN = (
    b'{"model":"sim-small",'
    b'"messages":[{"role":"user","content":"caf\\u00e9 \\ud83d\\ude00 \xc3\xa9","x_cache":{"ttl":1.0}}],'
    b'"seed":123456789012345678901234567890,"temperature":1.00,"x_new":{"deep":[1e2,-0.0,0.10,18446744073709551617,[]]},'
    b'"x_slash":"\\/","x_spaces":{ "a" : [ 1 ,\t2 ] },"x_null":null}'
)


@pytest.fixture
def upstream(relay: ServedRelay) -> Iterator[Upstream]:
    upstream = Upstream(relay.simulator_url)
    upstream.reset()
    yield upstream
    upstream.reset()
    upstream.close()


def post(url: str, token: str, body: bytes) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    return httpx.post(f"{url}/v1/chat/completions", content=body, headers=headers, timeout=30, trust_env=False)


def through(relay: ServedRelay, **members: Any) -> httpx.Response:
    return post(relay.base_url, relay.token, encoded(**members))


def direct(relay: ServedRelay, **members: Any) -> httpx.Response:
    return post(relay.simulator_url, "sk-any", encoded(**members))


def encoded(**members: Any) -> bytes:
    return json.dumps({"model": "sim-small", "messages": USER, **members}).encode()


def settled(body: bytes) -> bytes:
    return VARYING.sub(b'"varies"', body)


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_answer_is_byte_for_byte_the_providers(relay: ServedRelay, kind: str) -> None:
    ours, theirs = through(relay, **KINDS[kind]), direct(relay, **KINDS[kind])
    assert settled(ours.content) == settled(theirs.content)
    assert ours.headers["content-type"] == theirs.headers["content-type"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_is_byte_for_byte_the_providers(relay: ServedRelay, kind: str) -> None:
    asked = {**KINDS[kind], "stream": True, "stream_options": {"include_usage": True}}
    ours, theirs = through(relay, **asked), direct(relay, **asked)
    assert settled(ours.content) == settled(theirs.content)
    assert ours.headers["content-type"] == theirs.headers["content-type"]


def test_of_a_stream_only_the_usage_nobody_asked_for_is_withheld(relay: ServedRelay) -> None:
    ours = settled(through(relay, stream=True).content).split(b"\n\n")
    theirs = settled(direct(relay, stream=True, stream_options={"include_usage": True}).content).split(b"\n\n")
    assert [event for event in theirs if event not in ours] == [event for event in theirs if b'"choices":[]' in event]
    assert len(ours) == len(theirs) - 1


@pytest.mark.parametrize("fault", ["crlf", "comments", "split_bytes_at(700)", "azure_prompt_filter_first"])
def test_odd_framing_of_a_stream_comes_through_as_it_is(relay: ServedRelay, upstream: Upstream, fault: str) -> None:
    upstream.set_scene(f"fault={fault}", times=2)
    asked = {"stream": True, "stream_options": {"include_usage": True}}
    assert settled(through(relay, **asked).content) == settled(direct(relay, **asked).content)


def arrived(answer: httpx.Response) -> bytes:
    """The request as the provider has got it (fault `echo_request_bytes`)."""
    echo = json.loads(json.loads(answer.content)["choices"][0]["message"]["content"])
    return base64.b64decode(echo["base64"])


def test_a_request_arrives_byte_for_byte(relay: ServedRelay, upstream: Upstream) -> None:
    upstream.set_scene("fault=echo_request_bytes")
    assert arrived(post(relay.base_url, relay.token, STUBBORN)) == STUBBORN


def test_only_the_models_name_is_replaced_in_a_request(relay: ServedRelay, upstream: Upstream) -> None:
    upstream.set_scene("fault=echo_request_bytes")
    asked = STUBBORN.replace(b'"sim-small"', b'"fast-chat"')
    assert arrived(post(relay.base_url, relay.token, asked)) == STUBBORN


def test_the_providers_address_key_and_agent_are_the_relays_own(relay: ServedRelay, upstream: Upstream) -> None:
    through(relay)
    [arrival] = upstream.report()["arrivals"]
    assert relay.token not in json.dumps(arrival)
    assert "cookie" not in arrival["headers"]
    assert urlsplit(relay.base_url).netloc not in json.dumps(arrival)


@pytest.mark.parametrize("kind", KINDS)
def test_answers_and_chunks_are_what_openai_describes(relay: ServedRelay, kind: str) -> None:
    document = json.loads(openai_description().read_bytes())
    whole = validator(document, "CreateChatCompletionResponse")
    chunk = validator(document, "CreateChatCompletionStreamResponse")
    assert complaints(whole, through(relay, **KINDS[kind]).json()) == []
    asked = {**KINDS[kind], "stream": True, "stream_options": {"include_usage": True}}
    events = [line[6:] for line in through(relay, **asked).text.splitlines() if line.startswith("data: {")]
    assert events
    assert [said for event in events for said in complaints(chunk, json.loads(event))] == []


def test_that_check_sees_what_is_wrong(relay: ServedRelay) -> None:
    whole = validator(json.loads(openai_description().read_bytes()), "CreateChatCompletionResponse")
    answer = through(relay).json()
    del answer["choices"][0]["message"]["role"]
    assert complaints(whole, answer)
