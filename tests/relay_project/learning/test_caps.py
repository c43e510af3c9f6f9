"""What answers teach: charges without a cap, caps far above use, prompts as the provider counts them."""

from __future__ import annotations

import asyncio
import json

import pytest

from providers.adapters.openai_chat.encode import encode_chat
from providers.contract import Refusal, RefusalKind
from scheduling.core.spec import ChargeRule
from tests.relay_project.learning.worlds import (
    call,
    charged,
    learned_world,
    limit_output,
    streamed,
    whole,
)
from tests.relay_project.use_case_fakes import STOP, TEXT, World

NO = Refusal(RefusalKind.BAD_REQUEST, status=400, message="no")
CAPPED = {"answer_cap": True}


async def charged_while_running(world: World, **asked: object) -> int:
    """What stands in the token window while the answer is being given."""
    going_on = asyncio.Event()
    world.upstream.scripts = [[TEXT, going_on, STOP]]
    reply = await world.relay.answer(call(world, stream=True, **asked))  # type: ignore[arg-type]
    amount = charged(world)
    going_on.set()
    async for _part in reply.stream:
        pass
    return amount


async def test_without_a_cap_the_models_own_output_limit_is_charged() -> None:
    world = await learned_world()
    limit_output(world, 4_000)
    assert await charged_while_running(world) == 4_000 + 2  # the prompt: “user”, “hi”


async def test_without_a_cap_the_learned_p95_is_charged() -> None:
    world = await learned_world(answers=20)
    limit_output(world, 4_000)
    assert 300 < await charged_while_running(world) < 312


async def test_a_learned_length_never_exceeds_what_the_model_may_say() -> None:
    world = await learned_world(answers=20)
    limit_output(world, 100)
    assert await charged_while_running(world) == 102


async def test_a_learned_length_never_refuses_a_request() -> None:
    world = await learned_world(whole(300), answers=20, tokens=500_000)
    assert b"words" in await world.ask(call(world))


async def test_each_choice_is_charged_its_own_answer() -> None:
    world = await learned_world(answers=20)
    assert 600 < await charged_while_running(world, n=2) < 624


async def test_answers_are_remembered_when_they_end() -> None:
    world = await learned_world(whole(300))
    for _ in range(20):
        await world.ask(call(world, cap=4_096))
    world.learning.work_in()
    expected = world.learning.lengths.expected("one/m", "user:7")
    assert expected is not None
    assert 300 <= expected < 310
    assert world.learning.lengths.expected("one/m", "user:8") is None
    assert world.learning.lengths.expected("two/m", "user:7") is None


async def test_a_prompt_is_charged_as_the_provider_has_counted_those_before() -> None:
    text = "word " * 99  # and “user”
    world = await learned_world(whole(1, prompt=150))
    for _ in range(8):
        await world.ask(call(world, cap=1, text=text))
    world.learning.work_in()
    assert world.learning.prompts.permille("one/m") == 1_500
    assert await charged_while_running(world, cap=1, text=text) - charged_before(world) == 151


def charged_before(world: World) -> int:
    """Eight settled calls of 151 tokens are still in the window."""
    return 8 * 151


async def test_what_caps_cost_is_reserved_against_used() -> None:
    world = await learned_world(whole(300, prompt=200), charge_rule=ChargeRule.PROMPT_PLUS_MAX)
    for _ in range(3):
        await world.ask(call(world, cap=998))
    world.learning.work_in()
    cost = world.learning.costs.of("one/m")
    assert (cost.reserved_tokens, cost.used_tokens, cost.answers) == (3_000, 1_500, 3)
    assert cost.ratio == 2.0


async def test_a_cap_far_above_use_is_lowered_on_the_way_out() -> None:
    world = await learned_world(whole(300), answers=100, **CAPPED)
    reply = await world.relay.answer(call(world, cap=4_096, seed=12345678901234567890))
    [request] = world.upstream.requests
    sent = encode_chat(request, world.upstream.asked[0])
    assert request.cap_tokens is not None
    assert 375 <= request.cap_tokens < 400
    assert b'"max_tokens":%d' % request.cap_tokens in sent
    assert b'"seed":12345678901234567890' in sent.replace(b": ", b":")
    assert "x-relay-warnings" not in dict(reply.headers)
    await reply.stream.aclose()  # type: ignore[attr-defined]


async def test_only_caps_that_the_caller_set_are_replaced() -> None:
    world = await learned_world(whole(300), answers=100, **CAPPED)
    body = {"max_completion_tokens": 4_096, "max_tokens": None}
    await world.ask(call(world, **body))  # type: ignore[arg-type]
    [request] = world.upstream.requests
    sent = json.loads(encode_chat(request, world.upstream.asked[0]))
    assert (sent["max_tokens"], sent["max_completion_tokens"]) == (None, request.cap_tokens)
    assert "max_output_tokens" not in sent


@pytest.mark.parametrize(
    ("answers", "figures", "asked"),
    [
        (100, {}, {"cap": 4_096}),  # not opted in
        (99, CAPPED, {"cap": 4_096}),  # too few answers
        (100, CAPPED, {"cap": 500}),  # not far above use
        (100, CAPPED, {}),  # no cap of the caller's
        (100, CAPPED, {"cap": 4_096, "n": 2}),  # whose answer would it cut?
        (100, CAPPED, {"cap": 4_096, "stream": True}),  # streams are opted in by themselves
    ],
)
async def test_a_cap_is_left_alone(answers: int, figures: dict[str, bool], asked: dict[str, int]) -> None:
    world = await learned_world(streamed(9) if "stream" in asked else whole(9), answers=answers, **figures)
    await world.ask(call(world, **asked))  # type: ignore[arg-type]
    assert [request.cap_tokens for request in world.upstream.requests] == [None]


async def test_an_answer_that_our_cap_cut_is_asked_for_once_more_with_the_callers_own() -> None:
    world = await learned_world(whole(395, finish="length"), whole(2_000), answers=100, lanes=1, **CAPPED)
    reply = await world.relay.answer(call(world, cap=4_096))
    assert [request.cap_tokens is None for request in world.upstream.requests] == [False, True]
    assert b'"completion_tokens": 2000' in b"".join([part async for part in reply.stream])
    assert "x-relay-warnings" not in dict(reply.headers)
    assert dict(reply.headers)["x-relay-attempts"] == "2"
    [row] = world.books.rows
    assert (row.prompt_tokens, row.completion_tokens) == (200, 2_395)  # both were billed
    assert [one["reason"] for one in row.attempts] == ["max_tokens_capped", ""]
    assert charged(world) == 2_395 + 200
    assert world.is_quiet()


async def test_an_answer_that_ends_for_length_below_our_cap_is_whole() -> None:
    world = await learned_world(whole(50, finish="length"), answers=100, **CAPPED)
    await world.ask(call(world, cap=4_096))
    assert len(world.upstream.asked) == 1


async def test_what_cannot_be_had_again_is_told_short_with_a_warning() -> None:
    world = await learned_world(whole(395, finish="length"), NO, answers=100, **CAPPED)
    reply = await world.relay.answer(call(world, cap=4_096))
    cap = world.upstream.requests[0].cap_tokens
    assert dict(reply.headers)["x-relay-warnings"] == f"max_tokens_capped={cap}"
    assert b'"completion_tokens": 395' in b"".join([part async for part in reply.stream])
    [row] = world.books.rows
    assert (row.outcome, row.completion_tokens) == ("completed", 395)
    assert [one["outcome"] for one in row.attempts] == ["completed", "refused"]
    assert world.is_quiet()


async def test_an_own_cap_too_large_for_the_limit_leaves_the_short_answer() -> None:
    world = await learned_world(whole(395, finish="length"), answers=100, **CAPPED)
    reply = await world.relay.answer(call(world, cap=100_000))  # the window holds 60,000
    assert "x-relay-warnings" in dict(reply.headers)
    assert b"words" in b"".join([part async for part in reply.stream])
    assert [row.outcome for row in world.books.rows] == ["completed"]


async def test_a_cut_answer_teaches_nothing_of_lengths() -> None:
    world = await learned_world(whole(395, finish="length"), whole(2_000), answers=100, **CAPPED)
    await world.ask(call(world, cap=4_096))
    world.learning.work_in()
    seen = world.learning.lengths._lengths.distribution("one/m", "user:7")
    assert sum(bucket.count for bucket in seen) == 101
    assert seen[-1].upto_tokens >= 2_000


async def test_a_streams_lowered_cap_is_told() -> None:
    world = await learned_world(streamed(300), answers=100, answer_cap_streams=True, **CAPPED)
    reply = await world.relay.answer(call(world, cap=4_096, stream=True))
    cap = world.upstream.requests[0].cap_tokens
    assert cap is not None
    assert dict(reply.headers)["x-relay-warnings"] == f"max_tokens_capped={cap}"
    await reply.stream.aclose()  # type: ignore[attr-defined]
