"""The official SDK against the simulator: shapes, streams, errors."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator

import openai
import pytest

from providers.simulator.directives import Behaviour
from providers.simulator.limits.settings import Ceilings
from providers.simulator.options import Options
from tests.providers.simulator.upstream import KEY, Upstream, upstream_with

pytestmark = pytest.mark.served

USER = [{"role": "user", "content": "say CODE-7 please"}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "unit": {"enum": ["C", "F"]}},
        },
    },
}


@pytest.fixture
async def client(upstream: Upstream) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{upstream.url}/v1", api_key=KEY, max_retries=0) as client:
        yield client


async def test_a_completion_echoes_and_counts(client):
    answer = await client.chat.completions.create(model="sim-small", messages=USER, seed=1)
    assert answer.choices[0].message.content == "3 words: say CODE-7 please"
    assert answer.choices[0].finish_reason == "stop"
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (3, 5, 8)
    assert answer.id.startswith("chatcmpl-")
    assert (answer.object, answer.model, answer.system_fingerprint) == (
        "chat.completion",
        "sim-small",
        "fp_simulator",
    )


@pytest.mark.parametrize("asked", [True, False])
async def test_a_stream_has_a_usage_chunk_only_if_asked_for(client, asked):
    options = {"stream_options": {"include_usage": True}} if asked else {}
    stream = await client.chat.completions.create(model="sim-small", messages=USER, stream=True, **options)
    chunks = [chunk async for chunk in stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "3 words: say CODE-7 please"
    usages = [chunk.usage for chunk in chunks if not chunk.choices]
    assert [usage.total_tokens for usage in usages] == ([8] if asked else [])
    assert all(("usage" in chunk.model_fields_set) is asked for chunk in chunks)


async def test_three_choices_are_streamed_in_turns(client):
    stream = await client.chat.completions.create(model="sim-small", messages=USER, stream=True, n=3)
    texts, finished, order = {0: "", 1: "", 2: ""}, set(), []
    async for chunk in stream:
        choice = chunk.choices[0]
        order.append(choice.index)
        texts[choice.index] += choice.delta.content or ""
        if choice.finish_reason:
            finished.add(choice.index)
    assert texts == {index: f"choice {index}: 3 words: say CODE-7 please" for index in range(3)}
    assert finished == {0, 1, 2}
    assert order[3:6] == [0, 1, 2]


@pytest.mark.parametrize("stream", [True, False])
async def test_logprobs_cover_every_token(client, stream):
    kwargs = {"model": "sim-small", "messages": USER, "logprobs": True, "top_logprobs": 2}
    if stream:
        chunks = [chunk async for chunk in await client.chat.completions.create(stream=True, **kwargs)]
        found = [entry for c in chunks if c.choices[0].logprobs for entry in c.choices[0].logprobs.content]
    else:
        found = (await client.chat.completions.create(**kwargs)).choices[0].logprobs.content
    assert "".join(entry.token for entry in found) == "3 words: say CODE-7 please"
    assert all(len(entry.top_logprobs) == 2 for entry in found)


@pytest.mark.parametrize(
    ("choice", "finish"),
    [
        ("auto", "tool_calls"),
        ("required", "tool_calls"),
        ({"type": "function", "function": {"name": "weather"}}, "stop"),
    ],
)
async def test_a_tool_is_called_with_arguments_that_fit_its_schema(client, choice, finish):
    answer = await client.chat.completions.create(model="sim-small", messages=USER, tools=[WEATHER], tool_choice=choice)
    [call] = answer.choices[0].message.tool_calls
    assert call.function.name == "weather"
    assert json.loads(call.function.arguments) == {"city": "CODE-7", "days": 1, "unit": "C"}
    assert answer.choices[0].finish_reason == finish


async def test_streamed_tool_arguments_add_up(client):
    stream = client.chat.completions.stream(model="sim-small", messages=USER, tools=[WEATHER])
    async with stream as events:
        answer = await events.get_final_completion()
    [call] = answer.choices[0].message.tool_calls
    assert json.loads(call.function.arguments)["city"] == "CODE-7"


@pytest.mark.parametrize("tool_choice", ["none", "auto"])
async def test_after_a_tools_result_or_without_leave_the_answer_is_words(client, tool_choice):
    call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    back = [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "CODE-9"},
    ]
    answer = await client.chat.completions.create(
        model="sim-small", messages=[*USER, *back], tools=[WEATHER], tool_choice=tool_choice
    )
    assert answer.choices[0].message.content == "1 words: CODE-9"


async def test_a_schema_is_answered_by_json_that_fits_it(client):
    schema = {
        "type": "object",
        "properties": {"tree": {"$ref": "#/$defs/node"}, "tags": {"type": "array", "items": {"type": "string"}}},
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]},
                },
            }
        },
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "tree", "schema": schema, "strict": True}}
    answer = await client.chat.completions.create(model="sim-small", messages=USER, response_format=wanted)
    document = json.loads(answer.choices[0].message.content)
    assert document["tags"] == ["say CODE-7 please"]
    assert document["tree"]["next"]["name"] == "say CODE-7 please"


async def test_json_mode_answers_json(client):
    messages = [{"role": "user", "content": "CODE-7 as json"}]
    answer = await client.chat.completions.create(
        model="sim-small", messages=messages, response_format={"type": "json_object"}
    )
    assert json.loads(answer.choices[0].message.content) == {"words": 3, "echo": "CODE-7 as json"}


async def test_pictures_are_counted_and_measured(client):
    picture = base64.b64encode(b"\x89PNG" + bytes(64)).decode()
    parts = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}},
    ]
    answer = await client.chat.completions.create(model="sim-small", messages=[{"role": "user", "content": parts}])
    assert answer.choices[0].message.content == (
        "1 words: see 2 images: image/png 68 bytes, https://example.org/cat.png"
    )


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("stream", [True, False])
async def test_a_cap_ends_the_answer_for_length(client, name, stream):
    answer = await client.chat.completions.create(model="sim-small", messages=USER, stream=stream, **{name: 2})
    if stream:
        choices = [chunk.choices[0] async for chunk in answer]
        text, reason = "".join(c.delta.content or "" for c in choices), choices[-1].finish_reason
    else:
        text, reason = answer.choices[0].message.content, answer.choices[0].finish_reason
    assert (text, reason) == ("3 words:", "length")


@pytest.mark.parametrize("stop", ["CODE", ["please", " CODE"]])
async def test_a_stop_word_ends_the_answer_before_it(client, stop):
    answer = await client.chat.completions.create(model="sim-small", messages=USER, stop=stop)
    assert answer.choices[0].message.content.strip() == "3 words: say"
    assert answer.choices[0].finish_reason == "stop"


async def test_models_are_listed_and_found_whatever_is_in_their_names(client):
    names = [model.id async for model in client.models.list()]
    assert names == ["sim-small", "sim-large", "sim/vision:latest", "sim with spaces"]
    for name in names:
        assert (await client.models.retrieve(name)).id == name
    with pytest.raises(openai.NotFoundError):
        await client.models.retrieve("other")


async def test_an_unknown_model_is_not_found(client):
    with pytest.raises(openai.NotFoundError) as caught:
        await client.chat.completions.create(model="other", messages=USER)
    assert caught.value.code == "model_not_found"


async def test_a_raw_response_shows_the_request_id(client):
    raw = await client.chat.completions.with_raw_response.create(model="sim-small", messages=USER)
    assert raw.request_id == raw.headers["x-request-id"]
    assert raw.parse().choices[0].message.role == "assistant"


async def test_a_limit_is_the_sdks_own_exception_and_headers_tell_what_is_left():
    async with upstream_with(Options(ceilings=Ceilings(rpm=1))) as upstream:
        async with openai.AsyncOpenAI(base_url=f"{upstream.url}/v1", api_key=KEY, max_retries=0) as client:
            raw = await client.chat.completions.with_raw_response.create(model="sim-small", messages=USER)
            assert raw.headers["x-ratelimit-remaining-requests"] == "0"
            with pytest.raises(openai.RateLimitError) as caught:
                await client.chat.completions.create(model="sim-small", messages=USER)
            assert caught.value.code == "rate_limit_exceeded"
            assert 58 <= int(caught.value.response.headers["retry-after"]) <= 60
        assert [arrival["outcome"] for arrival in upstream.arrivals] == ["answered", "refused"]


@pytest.mark.parametrize(("key", "code"), [(None, None), ("sk-wrong-key-12345", "invalid_api_key")])
async def test_a_missing_or_wrong_key_is_a_401(key, code):
    async with upstream_with(Options(keys=frozenset({KEY}))) as upstream:
        response = await upstream.post(key=key)
        assert response.status_code == 401
        assert response.json()["error"]["code"] == code
        assert "sk-wrong-key-12345" not in response.text
        assert (await upstream.post()).status_code == 200


@pytest.mark.parametrize("stream", [True, False])
async def test_speed_length_and_first_token_are_as_set(stream):
    behaviour = Behaviour(ttft_ms=100, tokens_per_s=50, answer_tokens=11)
    async with upstream_with(Options(behaviour=behaviour)) as upstream:
        response = await upstream.post(stream=stream)
        assert "CODE-7" in response.text
        [arrival] = await upstream.ended()
    assert arrival["produced_tokens"] == 11
    assert 300_000 <= arrival["ended_at_us"] - arrival["at_us"] < 1_000_000  # 100 ms + 10 gaps of 20 ms
    if stream:
        assert 100_000 <= arrival["first_byte_us"] - arrival["at_us"] < 290_000
