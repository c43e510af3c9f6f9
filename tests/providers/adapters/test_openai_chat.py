"""The OpenAI chat dialect's maps: what goes out, what is read from a copy of what comes back."""

from __future__ import annotations

import json

import msgspec
import pytest

from providers.adapters.openai_chat.adapter import passed_headers
from providers.adapters.openai_chat.decode import (
    ChatBodyReader,
    ChatStreamReader,
    decode_model_ids,
    decode_usage,
)
from providers.adapters.openai_chat.encode import encode_chat, encode_headers
from providers.contract import ChatRequest, Credential, End, Refusal, RefusalKind, Target, Usage

REFUSED = Refusal(RefusalKind.OVERLOADED, evidence="test")
TARGET = Target("sim", "openai", "http://upstream/v1", "up/model:1", Credential("1", "main", "sk-secret"))


def request(body: bytes, *, stream: bool = False) -> ChatRequest:
    return ChatRequest(body, msgspec.json.decode(body), stream=stream, wants_usage_chunk=False)


def stream_reader(*, wants_usage_chunk: bool = False) -> ChatStreamReader:
    return ChatStreamReader(lambda _error: REFUSED, wants_usage_chunk=wants_usage_chunk)


def body_reader() -> ChatBodyReader:
    return ChatBodyReader(lambda _error: REFUSED)


def event(**chunk: object) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def delta(finish: str | None = None, index: int = 0, **members: object) -> bytes:
    return event(choices=[{"index": index, "delta": members, "finish_reason": finish}])


TEXT = delta(content="hello")
STOP = delta("stop")
USAGE = event(choices=[], usage={"prompt_tokens": 3, "completion_tokens": 2})
DONE = b"data: [DONE]\n\n"
ERROR = event(error={"message": "overloaded"})


def read(reader: ChatStreamReader, *parts: bytes) -> bytes:
    return b"".join([*(reader.feed(part) for part in parts), reader.close()])


def test_only_the_model_name_is_replaced_in_a_request_and_all_else_goes_byte_for_byte() -> None:
    messages = b'[ {"role":"user","content":"a\\u00e9"} ]'
    body = b'{"model": "public", "messages": %b, "seed":12345678901234567890123, "x_new": 1.0}' % messages
    sent = encode_chat(request(body), TARGET)
    assert b'[ {"role":"user","content":"a\\u00e9"} ]' in sent
    assert b"12345678901234567890123" in sent
    assert b'"x_new":1.0' in sent
    assert json.loads(sent)["model"] == "up/model:1"
    assert "stream_options" not in json.loads(sent)


def test_a_stream_always_asks_the_upstream_for_usage_and_keeps_the_callers_other_options() -> None:
    sent = json.loads(
        encode_chat(request(b'{"model":"m","stream":true,"stream_options":{"a":1}}', stream=True), TARGET)
    )
    assert sent["stream_options"] == {"a": 1, "include_usage": True}


def test_a_vendor_that_sends_usage_unasked_is_not_asked() -> None:
    target = Target("m", "mistral", "http://u", "x", None)
    sent = json.loads(encode_chat(request(b'{"model":"m","stream":true}', stream=True), target))
    assert "stream_options" not in sent


def test_the_key_goes_in_the_authorization_header_and_nowhere_else() -> None:
    assert ("authorization", "Bearer sk-secret") in encode_headers(TARGET, stream=True)
    assert b"sk-secret" not in encode_chat(request(b'{"model":"m"}'), TARGET)
    assert "sk-secret" not in repr(TARGET)


def test_a_stream_passes_on_as_it_came_less_the_usage_chunk_nobody_asked_for() -> None:
    reader = stream_reader()
    assert read(reader, TEXT, STOP, USAGE, DONE) == TEXT + STOP + DONE
    assert reader.facts.usage == Usage(prompt_tokens=3, completion_tokens=2)
    assert reader.end() is End.COMPLETE


def test_the_usage_chunk_passes_on_when_the_caller_asked_for_it() -> None:
    assert read(stream_reader(wants_usage_chunk=True), TEXT, STOP, USAGE, DONE) == TEXT + STOP + USAGE + DONE


@pytest.mark.parametrize("cut", range(1, len(TEXT + STOP + USAGE + DONE)))
def test_a_stream_cut_at_any_byte_reads_the_same(cut: int) -> None:
    whole = TEXT + STOP + USAGE + DONE
    reader = stream_reader()
    assert read(reader, whole[:cut], whole[cut:]) == TEXT + STOP + DONE
    assert reader.end() is End.COMPLETE


@pytest.mark.parametrize(
    ("parts", "passed", "end"),
    [
        pytest.param([TEXT, STOP, DONE], TEXT + STOP + DONE, End.COMPLETE, id="finish and done"),
        pytest.param([TEXT, STOP], TEXT + STOP + DONE, End.COMPLETE, id="finish without done gets its terminator"),
        pytest.param([TEXT, DONE], TEXT + DONE, End.COMPLETE, id="done without finish"),
        pytest.param([TEXT], TEXT, End.TRUNCATED, id="neither"),
        pytest.param([TEXT, STOP, ERROR], TEXT + STOP + DONE, End.RECOVERED, id="error after the end was said"),
        pytest.param([TEXT, ERROR, STOP, DONE], TEXT, End.ERROR, id="error after content"),
        pytest.param([ERROR], b"", End.ERROR, id="error before content"),
        pytest.param([TEXT, delta("error"), DONE], TEXT, End.ERROR, id="an error for a finish reason"),
        pytest.param([STOP, DONE], STOP + DONE, End.EMPTY, id="nothing said"),
        pytest.param([], b"", End.EMPTY, id="nothing at all"),
        pytest.param([delta("length"), DONE], delta("length") + DONE, End.COMPLETE, id="honestly empty"),
        pytest.param(
            [b": keep-alive\n\n", TEXT, STOP, DONE],
            b": keep-alive\n\n" + TEXT + STOP + DONE,
            End.COMPLETE,
            id="comment",
        ),
    ],
)
def test_the_ending_is_judged_by_what_was_said(parts: list[bytes], passed: bytes, end: End) -> None:
    reader = stream_reader()
    assert read(reader, *parts) == passed
    assert reader.end() is end


SECOND = delta(index=1, content="hi")


@pytest.mark.parametrize(
    ("parts", "end"),
    [
        ([TEXT, SECOND, STOP], End.TRUNCATED),
        ([TEXT, SECOND, STOP, ERROR], End.ERROR),
        ([TEXT, SECOND, STOP, delta("stop", index=1)], End.COMPLETE),
        ([TEXT, SECOND, STOP, delta("stop", index=1), ERROR], End.RECOVERED),
        ([TEXT, SECOND, DONE], End.COMPLETE),
        ([event(choices=[{"index": [1], "delta": {"content": "x"}, "finish_reason": {"a": 1}}])], End.COMPLETE),
    ],
)
def test_the_end_of_one_choice_is_not_the_end_of_several(parts: list[bytes], end: End) -> None:
    reader = stream_reader()
    read(reader, *parts)
    assert reader.end() is end


@pytest.mark.parametrize("cut", range(1, len(TEXT) - 2))
def test_half_an_event_at_the_end_is_dropped_so_that_nothing_runs_into_it(cut: int) -> None:
    assert read(stream_reader(), TEXT, TEXT[:cut]) == TEXT


@pytest.mark.parametrize("last", [TEXT.rstrip(), STOP.rstrip() + b"\n", DONE.rstrip()])
def test_a_whole_event_at_the_end_gets_the_blank_line_it_lacks(last: bytes) -> None:
    assert read(stream_reader(), TEXT, last).startswith(TEXT + last + b"\n\n")


@pytest.mark.parametrize(
    "chunk",
    [
        event(choices=[], prompt_filter_results=[{}], usage={"prompt_tokens": 1}),
        event(choices=[{"index": 0, "content_filter_results": {}}]),
        event(choices=[{"index": 0, "delta": {"role": "assistant", "content": ""}}]),
        event(choices=None),
        event(choices=[None]),
        b"data: not json\n\n",
        b"data: [1]\n\n",
    ],
)
def test_a_chunk_without_output_passes_on_and_counts_as_no_content(chunk: bytes) -> None:
    reader = stream_reader()
    assert reader.feed(chunk) == chunk
    assert not reader.facts.content_seen


@pytest.mark.parametrize(
    "members",
    [
        {"content": "a"},
        {"content": [{"type": "thinking", "thinking": "x"}]},
        {"reasoning_content": "a"},
        {"reasoning": "a"},
        {"refusal": "no"},
        {"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]},
    ],
)
def test_every_kind_of_output_counts_as_content(members: dict[str, object]) -> None:
    reader = stream_reader()
    reader.feed(delta(**members))
    assert reader.facts.content_seen
    assert reader.facts.content_chars > 0


def test_usage_in_the_last_content_chunk_is_read_and_passes_on() -> None:
    chunk = event(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}], usage={"prompt_tokens": 9})
    reader = stream_reader()
    assert reader.feed(chunk) == chunk
    assert reader.facts.usage == Usage(prompt_tokens=9)


def test_zero_tokens_are_a_statement_and_missing_ones_are_not() -> None:
    assert decode_usage({"prompt_tokens": 0}) == Usage(prompt_tokens=0, completion_tokens=None)
    assert decode_usage({"prompt_tokens": True, "completion_tokens": -1}) == Usage()


def test_cached_and_reasoning_tokens_are_read_where_vendors_put_them() -> None:
    assert decode_usage({"prompt_tokens_details": {"cached_tokens": 5}}).cached_prompt_tokens == 5
    assert decode_usage({"prompt_cache_hit_tokens": 6}).cached_prompt_tokens == 6
    assert decode_usage({"completion_tokens_details": {"reasoning_tokens": 7}}).reasoning_tokens == 7


def whole_body(**members: object) -> bytes:
    return json.dumps({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]} | members).encode()


@pytest.mark.parametrize(
    ("body", "end"),
    [
        (whole_body(), End.COMPLETE),
        (whole_body(error={"message": "oops"}), End.RECOVERED),
        (whole_body(choices=[]), End.EMPTY),
        (whole_body(choices=[{"message": {"content": ""}, "finish_reason": "stop"}]), End.EMPTY),
        (whole_body(choices=[{"message": {"content": ""}, "finish_reason": "length"}]), End.COMPLETE),
        (b'{"error": {"message": "no"}}', End.ERROR),
        (b"<html>502</html>", End.ERROR),
        (b"[]", End.ERROR),
        (b"", End.EMPTY),
        (b"\n \n", End.EMPTY),
        (b"\xef\xbb\xbf" + whole_body(), End.COMPLETE),
        (whole_body(choices=[{"message": {"content": "hi"}, "finish_reason": "error"}]), End.ERROR),
        (whole_body(choices=[{"message": {"content": "hi"}, "finish_reason": "error"}], error={"code": 5}), End.ERROR),
        (whole_body(choices=[{"message": {"content": "hi"}, "finish_reason": {"a": []}}]), End.COMPLETE),
        (b'{"a":' * 100_000, End.ERROR),
    ],
)
def test_a_whole_body_is_passed_on_as_it_came_and_judged(body: bytes, end: End) -> None:
    reader = body_reader()
    assert reader.feed(body[:7]) + reader.feed(body[7:]) == b""
    assert reader.close() == body
    assert reader.end() is end


def test_a_body_larger_than_any_answer_is_an_error_not_a_full_memory() -> None:
    reader = ChatBodyReader(lambda _error: REFUSED, limit_bytes=10)
    with pytest.raises(ValueError, match="more than 10 bytes"):
        reader.feed(b"x" * 11)


def test_a_model_list_is_read_and_anything_else_is_said_to_be_none() -> None:
    assert decode_model_ids(b'{"data": [{"id": "a/b:c"}, {"id": ""}, 3]}') == ["a/b:c"]
    with pytest.raises(ValueError, match="no model list"):
        decode_model_ids(b"{}")


def test_a_header_that_cannot_be_said_again_is_left_out() -> None:
    came = {"X-Request-Id": "req_1", "OpenAI-Version": "2020\udcff", "OpenAI-Model": "a\tb", "Server": "x"}
    assert passed_headers(came) == [("x-request-id", "req_1")]
