"""The official OpenAI SDK through a served relay: all that can be asked of a chat completion."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

from tests.acceptance.served import ServedRelay

pytestmark = pytest.mark.served

MODEL = "sim-small"
USER: Any = [{"role": "user", "content": "say CODE-7 please"}]
TEXT = "3 words: say CODE-7 please"
WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
    },
}


@pytest.fixture
def client(relay: ServedRelay) -> Iterator[OpenAI]:
    with OpenAI(base_url=relay.api_url, api_key=relay.token, max_retries=0) as client:
        yield client


@pytest.fixture
async def async_client(relay: ServedRelay) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=relay.api_url, api_key=relay.token, max_retries=0) as client:
        yield client


def test_a_completion_comes_with_its_usage(client: OpenAI) -> None:
    answer = client.chat.completions.create(model=MODEL, messages=USER)
    assert answer.choices[0].message.content == TEXT
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens == 8


def test_a_role_answers_like_a_model(client: OpenAI) -> None:
    answer = client.chat.completions.create(model="fast-chat", messages=USER)
    assert answer.choices[0].message.content == TEXT
    assert answer.model in ("sim-small", "sim-large")


def test_the_raw_answer_has_the_relays_headers(client: OpenAI) -> None:
    raw = client.chat.completions.with_raw_response.create(model="fast-chat", messages=USER)
    headers = raw.headers
    assert headers["x-relay-request-id"].startswith("req_")
    assert (headers["x-relay-provider"], headers["x-relay-model"]) == ("simulator", "sim-small")
    assert int(headers["x-relay-queue-ms"]) >= 0
    assert headers["x-relay-attempts"] == "1"
    assert int(headers["content-length"]) == len(raw.http_response.content)
    assert raw.parse().choices[0].message.content == TEXT


def test_a_raw_stream_has_the_relays_headers_too(client: OpenAI) -> None:
    with client.chat.completions.with_streaming_response.create(model=MODEL, messages=USER, stream=True) as raw:
        assert raw.headers["content-type"].startswith("text/event-stream")
        assert raw.headers["x-relay-model"] == MODEL
        lines = list(raw.iter_lines())
    assert [line for line in lines if line][-1] == "data: [DONE]"


async def test_the_async_client_gets_the_same(async_client: AsyncOpenAI) -> None:
    answer = await async_client.chat.completions.create(model=MODEL, messages=USER)
    stream = await async_client.chat.completions.create(model=MODEL, messages=USER, stream=True)
    text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    assert (answer.choices[0].message.content, text) == (TEXT, TEXT)


@pytest.mark.parametrize("asked", [True, False])
def test_the_usage_chunk_comes_only_if_asked_for(client: OpenAI, asked: bool) -> None:
    options: Any = {"stream_options": {"include_usage": True}} if asked else {}
    chunks = list(client.chat.completions.create(model=MODEL, messages=USER, stream=True, **options))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == TEXT
    assert [chunk.usage.total_tokens for chunk in chunks if chunk.usage] == ([8] if asked else [])
    assert all(chunk.choices for chunk in chunks) is not asked


def test_three_choices_are_streamed_side_by_side(client: OpenAI) -> None:
    texts, finished = {0: "", 1: "", 2: ""}, set()
    for chunk in client.chat.completions.create(model=MODEL, messages=USER, stream=True, n=3):
        choice = chunk.choices[0]
        texts[choice.index] += choice.delta.content or ""
        if choice.finish_reason:
            finished.add(choice.index)
    assert texts == {index: f"choice {index}: {TEXT}" for index in range(3)}
    assert finished == {0, 1, 2}


@pytest.mark.parametrize("stream", [True, False])
def test_logprobs_cover_every_token(client: OpenAI, stream: bool) -> None:
    asked: Any = {"model": MODEL, "messages": USER, "logprobs": True, "top_logprobs": 2, "stream": stream}
    answer: Any = client.chat.completions.create(**asked)
    told = [chunk.choices[0].logprobs for chunk in answer] if stream else [answer.choices[0].logprobs]
    found = [entry for logprobs in told if logprobs for entry in logprobs.content]
    assert "".join(entry.token for entry in found) == TEXT
    assert all(len(entry.top_logprobs) == 2 for entry in found)


def test_a_tool_is_called_and_its_result_is_answered(client: OpenAI) -> None:
    answer = client.chat.completions.create(model=MODEL, messages=USER, tools=[WEATHER])
    message = answer.choices[0].message
    assert answer.choices[0].finish_reason == "tool_calls"
    assert message.tool_calls is not None
    call: Any = message.tool_calls[0]
    assert json.loads(call.function.arguments)["city"] == "CODE-7"
    result = {"role": "tool", "tool_call_id": call.id, "content": "CODE-9"}
    again = client.chat.completions.create(model=MODEL, messages=[*USER, message, result], tools=[WEATHER])
    assert again.choices[0].message.content == "1 words: CODE-9"


async def test_a_streamed_tool_call_adds_up(async_client: AsyncOpenAI) -> None:
    async with async_client.chat.completions.stream(model=MODEL, messages=USER, tools=[WEATHER]) as events:
        answer = await events.get_final_completion()
    assert answer.choices[0].message.tool_calls is not None
    assert json.loads(answer.choices[0].message.tool_calls[0].function.arguments)["city"] == "CODE-7"


def test_a_json_object_comes_back(client: OpenAI) -> None:
    answer = client.chat.completions.create(
        model=MODEL, messages=[{"role": "user", "content": "CODE-7 as json"}], response_format={"type": "json_object"}
    )
    assert json.loads(answer.choices[0].message.content or "") == {"words": 3, "echo": "CODE-7 as json"}


class Leaf(BaseModel):
    name: str
    next: Leaf | None


class Tree(BaseModel):
    tags: list[str]
    tree: Leaf


def test_a_schema_is_parsed_into_its_class(client: OpenAI) -> None:
    answer = client.chat.completions.parse(model=MODEL, messages=USER, response_format=Tree)
    parsed = answer.choices[0].message.parsed
    assert isinstance(parsed, Tree)
    assert parsed.tags == ["say CODE-7 please"]
    assert parsed.tree.name == "say CODE-7 please"


def test_a_picture_goes_through_as_a_data_url(client: OpenAI) -> None:
    picture = b"\x89PNG" + bytes(2_000_000)
    url = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
    parts: Any = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": url}}]
    answer = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": parts}])
    assert answer.choices[0].message.content == f"1 words: see 1 images: image/png {len(picture)} bytes"


@pytest.mark.parametrize("cap", ["max_tokens", "max_completion_tokens"])
@pytest.mark.parametrize("stream", [True, False])
def test_a_cap_ends_the_answer_for_length(client: OpenAI, cap: str, stream: bool) -> None:
    asked: Any = {"model": MODEL, "messages": USER, "stream": stream, cap: 2}
    answer: Any = client.chat.completions.create(**asked)
    reasons = [chunk.choices[0].finish_reason for chunk in answer] if stream else [answer.choices[0].finish_reason]
    assert reasons[-1] == "length"
