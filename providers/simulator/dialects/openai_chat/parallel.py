"""Several tool calls in one stream, in the shapes that providers give them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from providers.simulator.dialects.openai_chat.chunks import Event
from providers.simulator.dialects.openai_chat.read import Chat, Tool
from providers.simulator.directives import FaultCall

ANY_TOOL = Tool("get_word", {"type": "object", "properties": {"word": {"type": "string"}}}, forced=False)


def three_tools(chat: Chat, fault: FaultCall) -> Chat:
    return replace(chat, tools=chat.tools or (ANY_TOOL,), tool_calls=3)


def shape_tools(events: list[Event], fault: FaultCall) -> list[Event]:
    shape = {"interleaved": _interleaved, "no_index": _no_index, "one_delta": _one_delta}.get(fault.word(""))
    return shape(events) if shape else events


def _tool_delta(event: Event) -> dict[str, Any]:
    calls = (event.choice.get("delta") or {}).get("tool_calls")
    return calls[0] if calls else {}


def _interleaved(events: list[Event]) -> list[Event]:
    """First every call's opening, then a piece of each in turn; ids stand on the openings only."""
    start, end = _tool_span(events)
    seen: dict[int, int] = {}

    def turn(event: Event) -> int:
        index = _tool_delta(event)["index"]
        seen[index] = seen.get(index, -1) + 1
        return seen[index]

    return [*events[:start], *sorted(events[start:end], key=turn), *events[end:]]


def _no_index(events: list[Event]) -> list[Event]:
    def bare(event: Event) -> Event:
        call = _tool_delta(event)
        return _with_tool_calls(event, {k: v for k, v in call.items() if k != "index"}) if call else event

    return [bare(event) for event in events]


def _one_delta(events: list[Event]) -> list[Event]:
    """Each call whole in a single delta."""
    start, end = _tool_span(events)
    whole: dict[int, Event] = {}
    for event in events[start:end]:
        call = _tool_delta(event)
        before = whole.get(call["index"])
        whole[call["index"]] = _joined(before, event) if before else event
    return [*events[:start], *whole.values(), *events[end:]]


def _joined(before: Event, after: Event) -> Event:
    call = _tool_delta(before)
    arguments = call["function"]["arguments"] + _tool_delta(after)["function"]["arguments"]
    joined = _with_tool_calls(before, {**call, "function": {**call["function"], "arguments": arguments}})
    return replace(joined, tokens=before.tokens + after.tokens)


def _tool_span(events: list[Event]) -> tuple[int, int]:
    places = [place for place, event in enumerate(events) if _tool_delta(event)]
    return places[0], places[-1] + 1


def _with_tool_calls(event: Event, *calls: dict[str, Any]) -> Event:
    choice = {**event.choice, "delta": {"tool_calls": list(calls)}}
    assert isinstance(event.data, dict)
    return replace(event, data={**event.data, "choices": [choice]})
