"""Several tool calls at once, in four shapes."""

from __future__ import annotations

import json
from typing import Any

from tests.providers.simulator.faults.check import delta_of, finish_of, shows, stream, whole
from tests.providers.simulator.upstream import Upstream


@shows("parallel_tools")
async def parallel_tools(upstream: Upstream) -> None:
    for shape in ("", "interleaved", "no_index", "one_delta"):
        wire = await stream(upstream, f"parallel_tools({shape})")
        SHAPES[shape]([call for event in wire.events for call in delta_of(event).get("tool_calls", [])])
        assert finish_of(wire.events) == ["tool_calls"]
    calls = (await whole(upstream, "parallel_tools")).json()["choices"][0]["message"]["tool_calls"]
    assert [json.loads(call["function"]["arguments"])["word"] for call in calls] == WORDS


WORDS = ["CODE-7 0", "CODE-7 1", "CODE-7 2"]


def _joined(calls: list[dict[str, Any]]) -> list[str]:
    arguments = dict.fromkeys(range(3), "")
    for call in calls:
        arguments[call["index"]] += call["function"]["arguments"]
    return [json.loads(text)["word"] for text in arguments.values()]


def _one_after_the_other(calls: list[dict[str, Any]]) -> None:
    assert [call["index"] for call in calls] == sorted(call["index"] for call in calls)
    assert _joined(calls) == WORDS


def _in_turns(calls: list[dict[str, Any]]) -> None:
    assert [call["index"] for call in calls[:6]] == [0, 1, 2, 0, 1, 2]
    assert [("id" in call) for call in calls[:6]] == [True] * 3 + [False] * 3
    assert _joined(calls) == WORDS


def _without_index(calls: list[dict[str, Any]]) -> None:
    assert not any("index" in call for call in calls)
    assert sum("id" in call for call in calls) == 3


def _whole_at_once(calls: list[dict[str, Any]]) -> None:
    assert len(calls) == 3
    assert _joined(calls) == WORDS


SHAPES = {"": _one_after_the_other, "interleaved": _in_turns, "no_index": _without_index, "one_delta": _whole_at_once}
