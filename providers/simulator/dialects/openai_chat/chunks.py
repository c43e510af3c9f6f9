"""An answer → the events of a stream, or one completion. Shapes as in OpenAI's API description."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from providers.simulator.dialects.openai_chat.compose import Answer, Choice, ToolCall, logprobs_of, tokens_of
from providers.simulator.plan import encode_json

DONE = "[DONE]"
FINGERPRINT = "fp_simulator"


@dataclass(frozen=True, slots=True)
class Event:
    """One event: a chunk, `[DONE]`, or a comment line (text that starts with a colon)."""

    data: dict[str, Any] | str
    tokens: int = 0

    @property
    def choice(self) -> dict[str, Any]:
        """The first choice; empty for `[DONE]`, comments and the usage chunk."""
        choices = self.data.get("choices") if isinstance(self.data, dict) else None
        return choices[0] if choices else {}

    @property
    def is_finish(self) -> bool:
        return bool(self.choice.get("finish_reason"))

    @property
    def is_usage(self) -> bool:
        return isinstance(self.data, dict) and bool(self.data.get("usage"))

    def encode(self) -> bytes:
        if isinstance(self.data, str):
            return f"{self.data}\n\n".encode() if self.data.startswith(":") else f"data: {self.data}\n\n".encode()
        return b"data: " + encode_json(self.data) + b"\n\n"


def completion_of(answer: Answer) -> dict[str, Any]:
    """The answer in one piece."""
    completion = {
        "id": answer.id,
        "object": "chat.completion",
        "created": answer.created,
        "model": answer.model,
        "choices": [_whole(choice, answer.top_logprobs) for choice in answer.choices],
        "usage": answer.usage,
        "service_tier": "default",
        "system_fingerprint": FINGERPRINT,
    }
    return completion if answer.usage is not None else {k: v for k, v in completion.items() if k != "usage"}


def events_of(answer: Answer, *, include_usage: bool) -> list[Event]:
    """The answer as a stream, `[DONE]` included; several choices take turns."""
    base = _base(answer)
    if include_usage:
        base["usage"] = None
    events = [Event(_chunk(base, choice.index, delta)) for choice in answer.choices for delta in _openings(choice)]
    events += _in_turns([list(_content(base, choice, answer.top_logprobs)) for choice in answer.choices])
    events += [Event(_chunk(base, c.index, {}, finish_reason=c.finish_reason)) for c in answer.choices]
    if include_usage and answer.usage is not None:
        events.append(Event({**base, "choices": [], "usage": answer.usage}))
    return [*events, Event(DONE)]


def _base(answer: Answer) -> dict[str, Any]:
    return {
        "id": answer.id,
        "object": "chat.completion.chunk",
        "created": answer.created,
        "model": answer.model,
        "service_tier": "default",
        "system_fingerprint": FINGERPRINT,
    }


def _chunk(
    base: dict[str, Any],
    index: int,
    delta: dict[str, Any],
    *,
    logprobs: dict[str, Any] | None = None,
    finish_reason: str | None = None,
) -> dict[str, Any]:
    choice = {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish_reason}
    return {**base, "choices": [choice]}


def _openings(choice: Choice) -> Iterator[dict[str, Any]]:
    content = None if choice.tool_calls else ""
    yield {"role": "assistant", "content": content, "refusal": None}
    for piece in choice.signature:
        yield {"reasoning_details": [_signed(piece)]}


def _content(base: dict[str, Any], choice: Choice, top_logprobs: int | None) -> Iterator[Event]:
    for token in choice.tokens:
        logprobs = None if top_logprobs is None else logprobs_of((token,), top_logprobs)
        yield Event(_chunk(base, choice.index, {"content": token}, logprobs=logprobs), tokens=1)
    for place, call in enumerate(choice.tool_calls):
        yield Event(_chunk(base, choice.index, {"tool_calls": [_opened(place, call)]}))
        for piece in tokens_of(call.arguments):
            delta = {"tool_calls": [{"index": place, "function": {"arguments": piece}}]}
            yield Event(_chunk(base, choice.index, delta), tokens=1)


def _opened(place: int, call: ToolCall) -> dict[str, Any]:
    return {
        "index": place,
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": ""},
    }


def _in_turns(choices: Sequence[Sequence[Event]]) -> list[Event]:
    return [event for turn in zip_longest(*choices) for event in turn if event is not None]


def _whole(choice: Choice, top_logprobs: int | None) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None if choice.tool_calls else "".join(choice.tokens),
        "refusal": None,
        "annotations": [],
    }
    if choice.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in choice.tool_calls
        ]
    if choice.signature:
        message["reasoning_details"] = [_signed("".join(choice.signature))]
    logprobs = None if top_logprobs is None else logprobs_of(choice.tokens, top_logprobs)
    return {
        "index": choice.index,
        "message": message,
        "logprobs": logprobs,
        "finish_reason": choice.finish_reason,
    }


def _signed(signature: str) -> dict[str, Any]:
    return {
        "type": "reasoning.text",
        "text": "",
        "signature": signature,
        "format": "anthropic-claude-v1",
        "index": 0,
    }
