"""What goes wrong with the content of OpenAI-shaped answers: unusual, incomplete, contradictory.

A twist may change the chat as understood, the answer, the events of a stream, and the completion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from providers.simulator.canned import event_error
from providers.simulator.dialects.openai_chat.chunks import DONE, Event
from providers.simulator.dialects.openai_chat.compose import Answer, usage_of
from providers.simulator.dialects.openai_chat.parallel import shape_tools, three_tools
from providers.simulator.dialects.openai_chat.read import Chat
from providers.simulator.directives import FaultCall

Completion = dict[str, Any]
SIGNATURE = "EqQBCkYIBxgCKkBzaW11bGF0ZWQtc2lnbmF0dXJlLWJ5dGVzLXRoYXQtbXVzdC1zdXJ2aXZl"
SAFE = {kind: {"filtered": False, "severity": "safe"} for kind in ("hate", "self_harm", "sexual", "violence")}


@dataclass(frozen=True, slots=True)
class Twist:
    says: str
    chat: Callable[[Chat, FaultCall], Chat] = lambda chat, fault: chat
    answer: Callable[[Answer, FaultCall], Answer] = lambda answer, fault: answer
    events: Callable[[list[Event], FaultCall], list[Event]] = lambda events, fault: events
    completion: Callable[[Completion, FaultCall], Completion] = lambda completion, fault: completion


def _before_done(events: list[Event], *added: Event) -> list[Event]:
    return [*events[:-1], *added, events[-1]]


def _first_content(events: list[Event]) -> int:
    return next((place for place, event in enumerate(events) if event.tokens), 0)


# --- endings


def _no_end(events: list[Event], fault: FaultCall) -> list[Event]:
    return [event for event in events if event.data != DONE and not event.is_finish and not event.is_usage]


def _no_finish(events: list[Event], fault: FaultCall) -> list[Event]:
    return [event for event in events if not event.is_finish]


def _no_done(events: list[Event], fault: FaultCall) -> list[Event]:
    return [event for event in events if event.data != DONE]


def _unfinished(completion: Completion, fault: FaultCall) -> Completion:
    return {**completion, "choices": [{**choice, "finish_reason": None} for choice in completion["choices"]]}


# --- errors inside a 200


def _error_event(fault: FaultCall) -> Event:
    return Event({"error": event_error(fault.word("server_error"))})


def _error_before_content(events: list[Event], fault: FaultCall) -> list[Event]:
    return [*events[: _first_content(events)], _error_event(fault)]


def _error_after_content(events: list[Event], fault: FaultCall) -> list[Event]:
    return [*events[: _first_content(events) + fault.whole(1, position=1)], _error_event(fault)]


def _error_after_finish(events: list[Event], fault: FaultCall) -> list[Event]:
    return _before_done(events, _error_event(fault))


def _only_error(completion: Completion, fault: FaultCall) -> Completion:
    return {"id": completion["id"], "error": event_error(fault.word("server_error")), "choices": []}


def _part_and_error(completion: Completion, fault: FaultCall) -> Completion:
    failed = [{**choice, "finish_reason": "error"} for choice in completion["choices"]]
    return {**completion, "choices": failed, "error": event_error(fault.word("server_error"))}


def _whole_and_error(completion: Completion, fault: FaultCall) -> Completion:
    return {**completion, "error": event_error(fault.word("server_error"))}


# --- usage in unusual places


def _without_usage(answer: Answer, fault: FaultCall) -> Answer:
    return replace(answer, usage=None)


def _zero_usage(answer: Answer, fault: FaultCall) -> Answer:
    return replace(answer, usage=usage_of(0, 0))


def _usage_without_choices(events: list[Event], fault: FaultCall) -> list[Event]:
    return _usage_moved(events, {})


def _usage_with_empty_delta(events: list[Event], fault: FaultCall) -> list[Event]:
    return _usage_moved(events, {"choices": [{"index": 0, "delta": {}}]})


def _usage_moved(events: list[Event], choices: dict[str, Any]) -> list[Event]:
    """The usage chunk with other `choices`; the rest as if nobody had asked for usage."""
    return [_reshaped(event, choices) if event.is_usage else _without_null_usage(event) for event in events]


def _reshaped(event: Event, choices: dict[str, Any]) -> Event:
    return replace(event, data={**_members(event, "choices"), **choices})


def _without_null_usage(event: Event) -> Event:
    return replace(event, data=_members(event, "usage")) if isinstance(event.data, dict) else event


def _members(event: Event, left_out: str) -> dict[str, Any]:
    assert isinstance(event.data, dict)
    return {name: value for name, value in event.data.items() if name != left_out}


def _usage_asked(chat: Chat, fault: FaultCall) -> Chat:
    return replace(chat, include_usage=True)


def _no_content(answer: Answer, fault: FaultCall) -> Answer:
    return replace(answer, choices=tuple(replace(c, tokens=(), tool_calls=()) for c in answer.choices))


# --- unusual chunks


def _azure_first(events: list[Event], fault: FaultCall) -> list[Event]:
    results = [{"prompt_index": 0, "content_filter_results": SAFE}]
    first = {
        "id": "",
        "object": "",
        "created": 0,
        "model": "",
        "choices": [],
        "prompt_filter_results": results,
    }
    return [Event(first), *events]


def _azure_whole(completion: Completion, fault: FaultCall) -> Completion:
    results = [{"prompt_index": 0, "content_filter_results": SAFE}]
    return {**completion, "prompt_filter_results": results}


def _without_delta(events: list[Event], fault: FaultCall) -> list[Event]:
    place = _first_content(events) + 1
    source = events[place - 1].data
    assert isinstance(source, dict)
    filtered = {
        "index": 0,
        "finish_reason": None,
        "content_filter_results": SAFE,
        "content_filter_offsets": {},
    }
    return [*events[:place], Event({**source, "choices": [filtered]}), *events[place:]]


def _with_comments(events: list[Event], fault: FaultCall) -> list[Event]:
    return [event for each in events for event in (Event(": OPENROUTER PROCESSING"), each)]


def _three_choices(chat: Chat, fault: FaultCall) -> Chat:
    return replace(chat, n=3)


def _two_nought_one(answer: Answer, fault: FaultCall) -> Answer:
    return replace(answer, choices=tuple(answer.choices[index] for index in (2, 0, 1)))


def _with_logprobs(chat: Chat, fault: FaultCall) -> Chat:
    return replace(chat, top_logprobs=chat.top_logprobs or 2)


def _signed_whole(answer: Answer, fault: FaultCall) -> Answer:
    return replace(answer, choices=tuple(replace(c, signature=(SIGNATURE,)) for c in answer.choices))


def _signed_in_pieces(answer: Answer, fault: FaultCall) -> Answer:
    size = -(-len(SIGNATURE) // max(1, fault.whole(4)))
    pieces = tuple(SIGNATURE[start : start + size] for start in range(0, len(SIGNATURE), size))
    return replace(answer, choices=tuple(replace(c, signature=pieces) for c in answer.choices))


TWISTS: Mapping[str, Twist] = {
    "no_done": Twist("a stream that just ends: no finish reason, no [DONE]", events=_no_end, completion=_unfinished),
    "done_without_finish": Twist("[DONE] without a finish reason", events=_no_finish, completion=_unfinished),
    "finish_without_done": Twist("a finish reason without [DONE]", events=_no_done),
    "error_event_before_content": Twist(
        "(type=server_error) an error inside a 200 before any content",
        events=_error_before_content,
        completion=_only_error,
    ),
    "error_event_after_content": Twist(
        "(type=server_error, k=1) an error inside a 200 after k tokens",
        events=_error_after_content,
        completion=_part_and_error,
    ),
    "short_answer_with_error_signal": Twist(
        "(type=server_error) a short, complete answer, and an error after its finish reason or beside `choices`",
        events=_error_after_finish,
        completion=_whole_and_error,
    ),
    "no_content": Twist("a finish reason, and not a word before it", answer=_no_content),
    "no_usage": Twist("no usage though it was asked for", answer=_without_usage),
    "usage_zero": Twist("usage that says nought", answer=_zero_usage),
    "usage_only_last_chunk": Twist(
        "usage, asked for or not, in a chunk without `choices`",
        chat=_usage_asked,
        events=_usage_without_choices,
    ),
    "usage_in_empty_delta": Twist(
        "usage, asked for or not, in a last chunk with an empty delta",
        chat=_usage_asked,
        events=_usage_with_empty_delta,
    ),
    "azure_prompt_filter_first": Twist(
        "a first chunk with `choices: []` and the prompt's filter results",
        events=_azure_first,
        completion=_azure_whole,
    ),
    "choice_without_delta": Twist("a choice that holds filter results and no delta", events=_without_delta),
    "comments": Twist("comment lines between the events", events=_with_comments),
    "parallel_tools": Twist(
        "(interleaved | no_index | one_delta) three calls at once", chat=three_tools, events=shape_tools
    ),
    "n3_interleaved": Twist(
        "three choices, in turns, in the order 2, 0, 1", chat=_three_choices, answer=_two_nought_one
    ),
    "logprobs": Twist("logprobs, asked for or not", chat=_with_logprobs),
    "thinking_signature_only": Twist("a thinking block of no text and a signature", answer=_signed_whole),
    "signature_in_pieces": Twist("(pieces=4) its signature in several deltas", answer=_signed_in_pieces),
}
PLAIN = Twist("")
