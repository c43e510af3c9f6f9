"""Endings, errors inside a 200, usage, unusual chunks."""

from __future__ import annotations

from typing import Any

from tests.providers.simulator.faults.check import ECHO, delta_of, finish_of, shows, stream, text_of, whole
from tests.providers.simulator.upstream import Upstream, Wire


@shows("no_done")
async def no_done(upstream: Upstream) -> None:
    wire = await stream(upstream, "no_done", stream_options={"include_usage": True})
    assert (finish_of(wire.events), "[DONE]" in wire.events, wire.ended_properly) == ([], False, True)
    assert text_of(wire.events) == ECHO


@shows("done_without_finish")
async def done_without_finish(upstream: Upstream) -> None:
    wire = await stream(upstream, "done_without_finish")
    assert (finish_of(wire.events), wire.events[-1]) == ([], "[DONE]")
    assert (await whole(upstream, "done_without_finish")).json()["choices"][0]["finish_reason"] is None


@shows("finish_without_done")
async def finish_without_done(upstream: Upstream) -> None:
    wire = await stream(upstream, "finish_without_done")
    assert (finish_of(wire.events), "[DONE]" in wire.events) == (["stop"], False)


@shows("error_event_before_content")
async def error_before(upstream: Upstream) -> None:
    wire = await stream(upstream, "error_event_before_content(overloaded_error)")
    assert (wire.status, text_of(wire.events), wire.events[-1]["error"]["type"]) == (200, "", "overloaded_error")
    body = (await whole(upstream, "error_event_before_content")).json()
    assert (body["choices"], body["error"]["type"]) == ([], "server_error")


@shows("error_event_after_content")
async def error_after(upstream: Upstream) -> None:
    wire = await stream(upstream, "error_event_after_content(rate_limit_exceeded,2)")
    assert text_of(wire.events) == "3 words:"
    assert wire.events[-1]["error"]["code"] == "rate_limit_exceeded"
    body = (await whole(upstream, "error_event_after_content")).json()
    assert (body["choices"][0]["finish_reason"], "error" in body) == ("error", True)


@shows("short_answer_with_error_signal")
async def recovered(upstream: Upstream) -> None:
    wire = await stream(upstream, "short_answer_with_error_signal")
    assert text_of(wire.events) == "CODE-7 3 words: say"
    assert finish_of(wire.events) == ["stop"]
    assert "error" in wire.events[-2]
    assert wire.events[-1] == "[DONE]"
    body = (await whole(upstream, "short_answer_with_error_signal(insufficient_quota)")).json()
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["error"]["code"] == "insufficient_quota"


@shows("no_content")
async def no_content(upstream: Upstream) -> None:
    wire = await stream(upstream, "no_content")
    assert (text_of(wire.events), finish_of(wire.events)) == ("", ["stop"])
    assert (await whole(upstream, "no_content")).json()["choices"][0]["message"]["content"] == ""


@shows("no_usage")
async def no_usage(upstream: Upstream) -> None:
    wire = await stream(upstream, "no_usage", stream_options={"include_usage": True})
    assert not any(event.get("usage") for event in wire.events[:-1])
    assert "usage" not in (await whole(upstream, "no_usage")).json()


@shows("usage_zero")
async def usage_zero(upstream: Upstream) -> None:
    assert (await whole(upstream, "usage_zero")).json()["usage"]["total_tokens"] == 0


@shows("usage_only_last_chunk")
async def usage_only(upstream: Upstream) -> None:
    last = (await stream(upstream, "usage_only_last_chunk")).events[-2]
    assert ("choices" in last, last["usage"]["total_tokens"]) == (False, 8)


@shows("usage_in_empty_delta")
async def usage_indelta_of(upstream: Upstream) -> None:
    last = (await stream(upstream, "usage_in_empty_delta")).events[-2]
    assert (last["choices"], last["usage"]["total_tokens"]) == ([{"index": 0, "delta": {}}], 8)


@shows("azure_prompt_filter_first")
async def azure_first(upstream: Upstream) -> None:
    first = (await stream(upstream, "azure_prompt_filter_first")).events[0]
    assert (first["choices"], first["id"], "prompt_filter_results" in first) == ([], "", True)
    assert "prompt_filter_results" in (await whole(upstream, "azure_prompt_filter_first")).json()


@shows("choice_without_delta")
async def withoutdelta_of(upstream: Upstream) -> None:
    wire = await stream(upstream, "choice_without_delta")
    bare = [e for e in wire.events[:-1] if e["choices"] and "delta" not in e["choices"][0]]
    assert len(bare) == 1
    assert text_of(wire.events) == ECHO


@shows("comments")
async def comments(upstream: Upstream) -> None:
    wire = await stream(upstream, "comments")
    assert wire.body.count(b": OPENROUTER PROCESSING\n\n") == len(wire.events) == 8


@shows("n3_interleaved")
async def three_choices(upstream: Upstream) -> None:
    wire = await stream(upstream, "n3_interleaved")
    order = [event["choices"][0]["index"] for event in wire.events[:-1]]
    assert order[:9] == [2, 0, 1] * 3
    assert len((await whole(upstream, "n3_interleaved")).json()["choices"]) == 3


@shows("logprobs")
async def logprobs(upstream: Upstream) -> None:
    wire = await stream(upstream, "logprobs")
    tokens = [e["choices"][0]["logprobs"] for e in wire.events[:-1] if e["choices"][0]["logprobs"]]
    assert "".join(entry["content"][0]["token"] for entry in tokens) == ECHO


@shows("thinking_signature_only")
async def signature(upstream: Upstream) -> None:
    wire = await stream(upstream, "thinking_signature_only")
    [detail] = _details(wire)
    assert (detail["text"], len(detail["signature"])) == ("", 72)
    message = (await whole(upstream, "thinking_signature_only")).json()["choices"][0]["message"]
    assert message["reasoning_details"] == [detail]


@shows("signature_in_pieces")
async def signature_in_pieces(upstream: Upstream) -> None:
    pieces = [detail["signature"] for detail in _details(await stream(upstream, "signature_in_pieces(3)"))]
    [whole_one] = _details(await stream(upstream, "signature_in_pieces(1)"))
    assert len(pieces) == 3
    assert "".join(pieces) == whole_one["signature"]


def _details(wire: Wire) -> list[dict[str, Any]]:
    return [detail for event in wire.events for detail in delta_of(event).get("reasoning_details", [])]
