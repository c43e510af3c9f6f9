"""The use case with what learning needs around it: answers of a length, caps, headers, windows."""

from __future__ import annotations

import json
from dataclasses import replace

from relay_project.calls import Call
from scheduling.core.spec import LaneRules, Measure, WindowSpec
from tests.relay_project.use_case_fakes import DONE, STOP, TEXT, World

TPM = WindowSpec(Measure.TOTAL_TOKENS, 60_000)
RPM = WindowSpec(Measure.REQUESTS, 600)
HOUR_S = 3_600


def whole(tokens: int, *, finish: str = "stop", prompt: int = 100) -> list[bytes]:
    """A whole answer of so many tokens."""
    usage = {"prompt_tokens": prompt, "completion_tokens": tokens}
    choice = {"message": {"content": "words"}, "finish_reason": finish}
    return [json.dumps({"choices": [choice], "usage": usage}).encode()]


def streamed(tokens: int) -> list[bytes]:
    usage = {"prompt_tokens": 100, "completion_tokens": tokens}
    return [TEXT, STOP, b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n", DONE]


def call(world: World, *, cap: int | None = None, stream: bool = False, text: str = "hi", **members: object) -> Call:
    body: dict[str, object] = {"model": "one", "stream": stream, "messages": [{"role": "user", "content": text}]}
    if cap is not None:
        body["max_tokens"] = cap
    return replace(world.call(), body=json.dumps(body | members).encode())


async def learned_world(*scripts: object, answers: int = 0, tokens: int = 300, **figures: object) -> World:
    """A world in which that user's answers of the model have come to `tokens` so often."""
    world = await World.open(*scripts, **({"windows": (TPM,), "lanes": 4} | figures))  # type: ignore[arg-type]
    for _ in range(answers):
        world.learning.lengths.record("one/m", "user:7", tokens)
    return world


def limit_output(world: World, max_output: int) -> None:
    """What the model may say at most."""
    before = world.configuration
    models = {key: replace(model, max_output=max_output) for key, model in before.models.items()}
    names = {model.public_name: model for model in models.values()}
    world.configuration = replace(before, models=models, models_by_name=names)


def rules_in_force(world: World, model: str = "one/m") -> LaneRules:
    core = world.coordinator._backend._core  # type: ignore[attr-defined]
    rules: LaneRules = core.state.models[model].rules
    return rules


def limits_in_force(world: World) -> list[int]:
    return [window.limit for window in rules_in_force(world).windows]


def charged(world: World) -> int:
    """On the first window of the first model, now."""
    return world.coordinator.snapshot().providers[0].models[0].windows[0].used
