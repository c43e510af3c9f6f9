"""Bad input: a clear no in OpenAI's terms that names the field."""

from __future__ import annotations

import json
from typing import Any

import pytest

from relay_project.api.chat_request import DEEPEST, asked_class, asked_wait_us, check_encoding, parse_chat
from relay_project.errors import InvalidRequest
from scheduling.core.spec import Class

MESSAGES = [{"role": "user", "content": "hi"}]


def body(**fields: Any) -> bytes:
    return json.dumps({"model": "m", "messages": MESSAGES} | fields).encode()


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"[1]", "must be a JSON object"),
        (b'"x"', "must be a JSON object"),
        (b'{"model": NaN}', "not valid JSON"),
        (b'{"model": Infinity}', "not valid JSON"),
        (b'{"model": "\xff\xfe"}', "not valid JSON"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"x":' + b"[" * DEEPEST + b"]" * DEEPEST + b"}", "nested too deeply"),
        (b'{"model": "half of a smile: \\ud83d"}', "\\ud83d is half of a surrogate pair"),
        (b'{"model": "\\ud83d\\u0041"}', "\\ud83d is half of a surrogate pair"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused_with_the_reason(raw: bytes, words: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_chat(raw)
    assert words in refused.value.message
    assert refused.value.param is None


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"model": None}, "model"),
        ({"model": ""}, "model"),
        ({"model": 3}, "model"),
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": ["hi"]}, "messages[0]"),
        ({"messages": [*MESSAGES, {"content": "x"}]}, "messages[1].role"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 3}]}, "messages[0].content"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 1.5}, "max_tokens"),
        ({"max_tokens": True}, "max_tokens"),
        ({"max_tokens": "10"}, "max_tokens"),
        ({"max_completion_tokens": -5}, "max_completion_tokens"),
        ({"n": 0}, "n"),
        ({"n": 1000}, "n"),
        ({"stream": "yes"}, "stream"),
        ({"temperature": 3}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"top_p": -0.1}, "top_p"),
        ({"stop": [1]}, "stop"),
        ({"tools": {}}, "tools"),
        ({"response_format": "json"}, "response_format"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"logit_bias": []}, "logit_bias"),
        ({"seed": "x"}, "seed"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_chat(body(**fields))
    assert refused.value.param == param
    assert param in refused.value.message


def test_null_means_not_given_and_unknown_members_are_the_upstreams_business() -> None:
    parsed = parse_chat(body(max_tokens=None, stop=None, x_unknown={"deep": [1]}, tools=None))
    assert parsed.cap_tokens is None
    assert parsed.choices == 1


def test_an_assistant_turn_of_tool_calls_needs_no_content() -> None:
    parse_chat(body(messages=[*MESSAGES, {"role": "assistant", "content": None, "tool_calls": [{}]}]))


def test_the_cap_is_the_largest_of_the_callers_caps_times_the_number_of_answers() -> None:
    assert parse_chat(body(max_tokens=1, max_completion_tokens=10_000)).cap_tokens == 10_000
    assert parse_chat(body(max_tokens=100, n=3)).cap_tokens == 300


def test_the_prompt_text_has_what_the_model_reads_and_no_data_urls() -> None:
    parts = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    text = parse_chat(body(messages=[{"role": "user", "content": parts}])).prompt_text()
    assert "look" in text
    assert "AAAA" not in text


def test_many_brackets_are_not_deep_and_the_deepest_allowed_is_taken() -> None:
    parse_chat(body(x=[[]] * (2 * DEEPEST)))
    inner = b"[" * (DEEPEST - 1) + b"]" * (DEEPEST - 1)
    parse_chat(body(x="HERE").replace(b'"HERE"', inner))


def test_a_whole_pair_of_surrogates_and_a_spoken_half_are_taken() -> None:
    said = json.loads(body(messages=[{"role": "user", "content": "\U0001f600 and \\ud83d"}]))
    assert parse_chat(json.dumps(said).encode()).request.fields["messages"] == said["messages"]


@pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip"])
def test_a_packed_body_is_refused_by_the_name_of_its_header(encoding: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_encoding(encoding)
    assert refused.value.param == "Content-Encoding"


@pytest.mark.parametrize("encoding", [None, "", "identity", " Identity "])
def test_a_body_as_it_is_may_say_so(encoding: str | None) -> None:
    check_encoding(encoding)


def test_a_caller_may_lower_its_class_and_never_raise_it() -> None:
    assert asked_class(None, {}, Class.INTERACTIVE) is Class.INTERACTIVE
    assert asked_class("batch", {}, Class.INTERACTIVE) is Class.BATCH
    assert asked_class("interactive", {}, Class.NORMAL) is Class.NORMAL
    assert asked_class(None, {"service_tier": "flex"}, Class.INTERACTIVE) is Class.BATCH
    with pytest.raises(InvalidRequest, match="X-Relay-Class"):
        asked_class("express", {}, Class.INTERACTIVE)


@pytest.mark.parametrize("header", ["", "-1", "1.5", "soon", "99999999999"])
def test_a_wait_that_cannot_be_read_is_refused_by_name(header: str) -> None:
    with pytest.raises(InvalidRequest, match="X-Relay-Max-Wait-Ms"):
        asked_wait_us(header)


def test_a_wait_is_read_in_milliseconds() -> None:
    assert asked_wait_us("1500") == 1_500_000
    assert asked_wait_us(None) is None
