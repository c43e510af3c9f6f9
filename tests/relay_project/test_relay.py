"""The use case: whatever happens, one clear answer, one row, and nothing stays held."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from django.http import BadHeaderError

from accounts.outcomes import Outcome
from providers.contract import Refusal, RefusalKind, RefusalScope, UpstreamFault
from relay_project.api.chat import relayed
from relay_project.errors import InvalidRequest, NoSuchModel, NotAllowed, NothingToTry, ProviderSaidNo
from relay_project.problems import problem_of
from scheduling.core.spec import OnBriefRefusal, OnDisconnect
from scheduling.errors import GaveUpWaiting
from tests.relay_project.use_case_fakes import DONE, ERROR, STOP, TEXT, USAGE, WHOLE, World

RESET = UpstreamFault(Refusal(RefusalKind.SERVER_ERROR, evidence="connection_reset"))
TIMED_OUT = UpstreamFault(Refusal(RefusalKind.TIMEOUT, evidence="total_timeout"))
BUSY = Refusal(RefusalKind.RATE_LIMITED, status=429, retry_after_s=7, message="slow down")
WRONG = Refusal(RefusalKind.BAD_REQUEST, status=400, message="no such parameter")


async def test_a_stream_is_relayed_as_it_came_and_leaves_one_measured_row() -> None:
    world = await World.open([TEXT, STOP, USAGE, DONE])
    reply = await world.relay.answer(world.call())
    assert b"".join([part async for part in reply.stream]) == TEXT + STOP + DONE
    headers = dict(reply.headers)
    assert (headers["x-relay-provider"], headers["x-relay-model"], headers["x-relay-attempts"]) == (
        "one",
        "one",
        "1",
    )
    [row] = world.books.rows
    assert (row.outcome, row.measured, row.prompt_tokens, row.completion_tokens) == (
        "completed",
        "measured",
        11,
        2,
    )
    assert row.cost_microusd == 11 * 2 + 2 * 8
    assert [intent.request_id for intent in world.books.intents] == [row.request_id] == ["req_1"]
    assert world.is_quiet()


async def test_a_whole_answer_is_relayed_byte_for_byte() -> None:
    world = await World.open([WHOLE])
    assert await world.ask(world.call(stream=False)) == WHOLE
    assert world.books.rows[0].outcome == Outcome.COMPLETED
    assert world.is_quiet()


async def test_an_answer_that_is_whole_says_how_long_it_is() -> None:
    world = await World.open([WHOLE], [TEXT, STOP, DONE])
    whole = await world.relay.answer(world.call(stream=False))
    assert dict(whole.headers)["content-length"] == str(len(WHOLE))
    stream = await world.relay.answer(world.call())
    assert "content-length" not in dict(stream.headers)


async def test_what_the_edge_refuses_to_a_known_caller_leaves_its_row() -> None:
    world = await World.open()
    world.relay.refuse(world.call(), NotAllowed("no scope"))
    [row] = world.books.rows
    assert (row.request_id, row.user_id, row.outcome, row.reason, row.stage, row.http_status) == (
        *("req_1", 7, Outcome.REJECTED, "model_not_allowed", "request", 403),
    )
    assert world.books.intents == []


async def test_without_reported_usage_the_row_is_estimated_and_says_so() -> None:
    world = await World.open([TEXT, STOP, DONE])
    await world.ask()
    row = world.books.rows[0]
    assert row.measured == "estimated"
    assert row.completion_tokens == 1
    assert row.prompt_tokens is not None
    assert row.prompt_tokens > 0


async def test_a_refusal_before_content_goes_on_to_the_next_candidate_of_a_role() -> None:
    world = await World.open(BUSY, [TEXT, STOP, DONE])
    reply = await world.relay.answer(world.call("fast-chat"))
    headers = dict(reply.headers)
    assert (headers["x-relay-provider"], headers["x-relay-attempts"]) == ("two", "2")
    await asyncio.sleep(0)
    assert b"".join([part async for part in reply.stream]) == TEXT + STOP + DONE
    [row] = world.books.rows
    assert [(a["provider"], a["outcome"]) for a in row.attempts] == [("one", "refused"), ("two", "completed")]
    assert row.role == "fast-chat"
    assert world.is_quiet()


async def test_an_error_as_the_first_event_of_a_200_goes_on_too_and_the_caller_sees_none_of_it() -> None:
    world = await World.open([ERROR], [TEXT, STOP, DONE])
    assert await world.ask(world.call("fast-chat")) == TEXT + STOP + DONE
    assert world.is_quiet()


async def test_a_fault_of_the_request_itself_asks_no_other_candidate() -> None:
    world = await World.open(WRONG, [TEXT])
    with pytest.raises(ProviderSaidNo) as said:
        await world.ask(world.call("fast-chat"))
    assert said.value.code == "invalid_request"
    assert len(world.upstream.asked) == 1
    assert world.is_quiet()


async def test_when_all_say_no_the_one_who_is_back_first_is_told() -> None:
    world = await World.open(BUSY, Refusal(RefusalKind.RATE_LIMITED, status=429, retry_after_s=3))
    with pytest.raises(ProviderSaidNo) as said:
        await world.ask(world.call("fast-chat"))
    assert (said.value.provider, said.value.retry_after_s) == ("two", 3)
    assert world.books.rows[0].outcome == Outcome.REFUSED
    assert world.is_quiet()


async def test_an_error_after_content_is_an_event_in_the_stream_and_an_honest_row() -> None:
    world = await World.open([TEXT, ERROR])
    answer = await world.ask(world.call("fast-chat"))
    assert answer.startswith(TEXT)
    error = json.loads(answer[len(TEXT) :].removeprefix(b"data: "))["error"]
    assert (error["code"], error["source"], error["request_id"]) == (
        "provider_overloaded",
        "provider",
        "req_1",
    )
    row = world.books.rows[0]
    assert (row.outcome, row.measured) == (Outcome.UPSTREAM_ERROR, "partial")
    assert len(world.upstream.asked) == 1
    assert world.is_quiet()


async def test_an_error_signal_with_a_complete_answer_is_delivered_and_marked_recovered() -> None:
    world = await World.open([TEXT, STOP, ERROR])
    assert await world.ask() == TEXT + STOP + DONE
    row = world.books.rows[0]
    assert (row.outcome, row.recovered) == (Outcome.RECOVERED, True)


async def test_a_whole_answer_with_an_error_member_is_delivered_and_marked_recovered() -> None:
    body = WHOLE[:-1] + b',"error":{"message":"oops"}}'
    world = await World.open([body])
    assert await world.ask(world.call(stream=False)) == body
    assert world.books.rows[0].outcome == Outcome.RECOVERED


@pytest.mark.parametrize("script", [[], [STOP, DONE], [DONE], [b": hello\n\n"]])
async def test_an_empty_answer_is_a_failure(script: list[bytes]) -> None:
    world = await World.open(script)
    with pytest.raises(ProviderSaidNo) as said:
        await world.ask()
    assert said.value.code == "provider_unavailable"
    assert world.books.rows[0].outcome == Outcome.EMPTY
    assert world.is_quiet()


async def test_a_stream_that_breaks_off_is_told_and_marked_truncated() -> None:
    world = await World.open([TEXT])
    assert b'"code":"provider_unavailable"' in await world.ask()
    assert world.books.rows[0].outcome == Outcome.TRUNCATED


async def test_a_finish_without_the_terminator_is_complete_and_gets_its_terminator() -> None:
    world = await World.open([TEXT, STOP])
    assert await world.ask() == TEXT + STOP + DONE
    assert world.books.rows[0].outcome == Outcome.COMPLETED


@pytest.mark.parametrize(("script", "outcome"), [([RESET], Outcome.UPSTREAM_ERROR), ([TIMED_OUT], Outcome.RUN_TIMEOUT)])
async def test_a_fault_before_content_is_an_error_with_its_outcome(
    script: list[UpstreamFault], outcome: Outcome
) -> None:
    world = await World.open(script)
    with pytest.raises(ProviderSaidNo):
        await world.ask()
    assert world.books.rows[0].outcome == outcome
    assert world.is_quiet()


@pytest.mark.parametrize(
    ("fault", "outcome", "code"),
    [
        (RESET, Outcome.UPSTREAM_ERROR, b"provider_unavailable"),
        (TIMED_OUT, Outcome.RUN_TIMEOUT, b"run_timeout"),
    ],
)
async def test_a_fault_in_mid_stream_is_told_in_the_stream(fault: UpstreamFault, outcome: Outcome, code: bytes) -> None:
    world = await World.open([TEXT, fault])
    assert code in await world.ask()
    assert world.books.rows[0].outcome == outcome
    assert world.is_quiet()


async def test_half_an_event_before_a_fault_does_not_swallow_the_error() -> None:
    world = await World.open([TEXT, TEXT[:20], UpstreamFault(Refusal(RefusalKind.SERVER_ERROR))])
    answer = await world.ask()
    assert answer.startswith(TEXT + b'data: {"error"')
    assert world.books.rows[0].outcome == Outcome.UPSTREAM_ERROR


async def test_a_fault_behind_a_finish_and_an_error_signal_is_recovered_too() -> None:
    world = await World.open([TEXT + STOP, ERROR.rstrip(), UpstreamFault(Refusal(RefusalKind.SERVER_ERROR))])
    assert await world.ask() == TEXT + STOP + DONE
    assert world.books.rows[0].outcome == Outcome.RECOVERED


async def test_twenty_failures_in_a_row_leak_nothing_and_the_next_call_runs() -> None:
    failures = [[RESET], [TIMED_OUT], [b"<html>garbage"], [TEXT, RESET], WRONG] * 4
    world = await World.open(*failures, [TEXT, STOP, DONE])
    for _ in failures:
        try:
            await world.ask()
        except ProviderSaidNo:
            pass
        assert world.is_quiet()
    assert await world.ask() == TEXT + STOP + DONE
    assert len(world.books.rows) == 21


async def test_a_stale_connection_is_sent_once_more_through_admission() -> None:
    stale = Refusal(RefusalKind.SERVER_ERROR, evidence="stale_connection", safe_to_resend=True)
    world = await World.open(stale, [TEXT, STOP, DONE])
    assert await world.ask() == TEXT + STOP + DONE
    assert len(world.books.rows[0].attempts) == 2
    world = await World.open(stale, stale, [TEXT])
    with pytest.raises(ProviderSaidNo):
        await world.ask()
    assert len(world.upstream.asked) == 2


async def test_waiting_to_the_limit_is_told_with_the_whole_wait_and_no_run() -> None:
    world = await World.open([asyncio.Event(), TEXT])
    running = asyncio.create_task(world.ask())
    await world.until(lambda: world.upstream.open == 1)
    waiting = asyncio.create_task(world.ask())
    await world.clock.advance(2.1)
    with pytest.raises(GaveUpWaiting):
        await waiting
    [row] = world.books.rows
    assert (row.outcome, row.reason, row.stage) == ("queue_timeout", "provider_queue_timeout", "capacity")
    assert (row.queue_ms, row.run_ms, row.provider, row.model) == (2000, 0, "one", "one")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert world.is_quiet()


async def test_a_caller_that_leaves_in_line_leaves_a_row_and_no_ticket() -> None:
    world = await World.open([asyncio.Event(), TEXT])
    running = asyncio.create_task(world.ask())
    await world.until(lambda: world.upstream.open == 1)
    waiting = asyncio.create_task(world.ask())
    await world.until(lambda: world.coordinator.snapshot().waiting == 1)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert world.coordinator.snapshot().waiting == 0
    assert [row.outcome for row in world.books.rows] == [Outcome.CLIENT_GONE]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert [row.outcome for row in world.books.rows] == [Outcome.CLIENT_GONE] * 2
    assert world.is_quiet()


async def test_a_caller_that_leaves_before_the_first_token_cuts_the_upstream() -> None:
    world = await World.open([asyncio.Event(), TEXT])
    asking = asyncio.create_task(world.ask())
    await world.until(lambda: world.upstream.open == 1)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert world.upstream.closed_early == 1
    assert [row.outcome for row in world.books.rows] == [Outcome.CLIENT_GONE]
    assert world.is_quiet()


async def test_a_caller_that_leaves_mid_stream_leaves_a_partial_row() -> None:
    world = await World.open([TEXT, asyncio.Event(), STOP])
    reply = await world.relay.answer(world.call())
    assert await anext(reply.stream) == TEXT
    await reply.stream.aclose()  # type: ignore[attr-defined]
    [row] = world.books.rows
    assert (row.outcome, row.measured, row.completion_tokens) == (Outcome.CLIENT_GONE, "partial", 1)
    assert world.upstream.closed_early == 1
    assert world.is_quiet()


async def test_a_caller_that_leaves_after_everything_was_said_has_had_a_complete_answer() -> None:
    world = await World.open([TEXT, STOP, USAGE, DONE])
    reply = await world.relay.answer(world.call())
    for _ in range(3):
        await anext(reply.stream)
    await reply.stream.aclose()  # type: ignore[attr-defined]
    assert [row.outcome for row in world.books.rows] == [Outcome.COMPLETED]


async def test_draining_reads_on_to_learn_the_usage_and_holds_the_lane_meanwhile() -> None:
    go = asyncio.Event()
    world = await World.open([TEXT, go, STOP, USAGE, DONE], on_disconnect=OnDisconnect.DRAIN, drain_us=5_000_000)
    reply = await world.relay.answer(world.call())
    await anext(reply.stream)
    await reply.stream.aclose()  # type: ignore[attr-defined]
    assert world.coordinator.snapshot().running == 1
    go.set()
    await world.until(world.is_quiet)
    [row] = world.books.rows
    assert (row.outcome, row.completion_tokens, row.measured) == (Outcome.CLIENT_GONE, 2, "partial")


async def test_draining_ends_at_its_limit() -> None:
    world = await World.open([TEXT, asyncio.Event()], on_disconnect=OnDisconnect.DRAIN, drain_us=5_000_000)
    reply = await world.relay.answer(world.call())
    await anext(reply.stream)
    await reply.stream.aclose()  # type: ignore[attr-defined]
    await world.clock.advance(5.1)
    assert world.is_quiet()
    assert len(world.books.rows) == 1


async def test_a_request_that_cannot_be_read_leaves_a_row_and_holds_nothing() -> None:
    world = await World.open([TEXT])
    with pytest.raises(InvalidRequest):
        await world.ask(world.call(headers={"x-relay-max-wait-ms": "soon"}))
    with pytest.raises(NoSuchModel):
        await world.ask(world.call("nobody"))
    assert [(row.outcome, row.reason) for row in world.books.rows] == [
        (Outcome.REJECTED, "invalid_request"),
        (Outcome.REJECTED, "model_not_found"),
    ]
    assert world.is_quiet()


async def test_one_at_a_time_is_never_two() -> None:
    world = await World.open([TEXT, STOP, DONE])
    await asyncio.gather(*(world.ask() for _ in range(9)))
    assert world.upstream.peak == 1
    assert world.is_quiet()


USED_UP = Refusal(RefusalKind.EXHAUSTED, RefusalScope.DAY, status=429, retry_after_s=3600, message="daily quota")
BRIEFLY = Refusal(RefusalKind.RATE_LIMITED, status=429, retry_after_s=1, message="slow down")


async def test_a_used_up_candidate_is_not_even_tried_by_the_next_call() -> None:
    world = await World.open(USED_UP, [TEXT, STOP, DONE], [TEXT, STOP, DONE])
    for _ in range(2):
        await world.ask(world.call("fast-chat"))
    assert [target.provider for target in world.upstream.asked] == ["one", "two", "two"]
    assert world.is_quiet()


async def test_after_its_time_a_used_up_candidate_is_preferred_again() -> None:
    world = await World.open(USED_UP, [TEXT, STOP, DONE], [TEXT, STOP, DONE])
    await world.ask(world.call("fast-chat"))
    await world.clock.advance(3601)
    await world.ask(world.call("fast-chat"))
    assert [target.provider for target in world.upstream.asked] == ["one", "two", "one"]


async def test_all_used_up_is_one_no_with_the_earliest_time_and_why_for_each() -> None:
    sooner = replace(USED_UP, retry_after_s=600)
    world = await World.open(USED_UP, sooner)
    for _ in range(2):
        with pytest.raises(NothingToTry) as nothing:
            await world.ask(world.call("fast-chat"))
        problem = problem_of(nothing.value)
        assert (problem.code, problem.retry_after_s, problem.pointless) == ("insufficient_quota", 600, True)
        assert [(left.model, left.retry_after_s) for left in nothing.value.left_out] == [("one", 3600), ("two", 600)]
    assert len(world.upstream.asked) == 2
    assert world.is_quiet()


async def test_another_model_of_the_same_provider_stays_open() -> None:
    world = await World.open(USED_UP, [TEXT, STOP, DONE])
    with pytest.raises(ProviderSaidNo):
        await world.ask(world.call("one"))
    assert await world.ask(world.call("two")) == TEXT + STOP + DONE


async def test_a_brief_refusal_is_waited_out_once_and_then_tried_again() -> None:
    world = await World.open(BRIEFLY, [TEXT, STOP, DONE])
    asking = asyncio.create_task(world.ask())
    await world.until(lambda: len(world.upstream.asked) == 1)
    await world.clock.advance(0.9)
    assert len(world.upstream.asked) == 1
    await world.clock.advance(0.2)
    assert await asking == TEXT + STOP + DONE
    [row] = world.books.rows
    assert [attempt["outcome"] for attempt in row.attempts] == ["refused", "completed"]
    assert row.queue_ms == 1000


async def test_a_second_brief_refusal_is_told() -> None:
    world = await World.open(BRIEFLY, BRIEFLY)
    asking = asyncio.create_task(world.ask())
    await world.until(lambda: len(world.upstream.asked) == 1)
    await world.clock.advance(1.1)
    with pytest.raises(ProviderSaidNo):
        await asking
    assert len(world.upstream.asked) == 2
    assert world.is_quiet()


async def test_a_brief_refusal_that_outlasts_the_line_is_told_at_once_with_the_providers_time() -> None:
    world = await World.open(BUSY)
    with pytest.raises(ProviderSaidNo) as said:
        await world.ask()
    assert (said.value.code, said.value.retry_after_s) == ("provider_rate_limited", 7)


async def test_a_profile_that_passes_on_neither_waits_nor_closes_anything_for_others() -> None:
    world = await World.open(BRIEFLY, [TEXT, STOP, DONE], on_brief_refusal=OnBriefRefusal.PASS_ON)
    with pytest.raises(ProviderSaidNo) as said:
        await world.ask()
    assert said.value.retry_after_s == 1
    assert await world.ask() == TEXT + STOP + DONE


async def test_a_role_leaves_a_candidate_that_would_keep_it_beyond_its_patience() -> None:
    world = await World.open([TEXT, asyncio.Event()], [TEXT, STOP, DONE], wait_timeout_us=60_000_000)
    holding = asyncio.create_task(world.ask())
    await world.until(lambda: world.upstream.open == 1)
    asking = asyncio.create_task(world.ask(world.call("fast-chat")))
    await world.until(lambda: world.coordinator.snapshot().waiting == 1)
    await world.clock.advance(5.1)
    assert await asking == TEXT + STOP + DONE
    assert [target.provider for target in world.upstream.asked] == ["one", "two"]
    assert world.books.rows[0].queue_ms == 5000
    holding.cancel()
    await asyncio.gather(holding, return_exceptions=True)
    assert world.is_quiet()


async def test_a_full_line_of_the_preferred_one_sends_the_call_on() -> None:
    world = await World.open([TEXT, asyncio.Event()], [TEXT, STOP, DONE], max_waiting=0)
    holding = asyncio.create_task(world.ask())
    await world.until(lambda: world.upstream.open == 1)
    assert await world.ask(world.call("fast-chat")) == TEXT + STOP + DONE
    holding.cancel()
    await asyncio.gather(holding, return_exceptions=True)


async def test_a_caller_of_a_role_that_leaves_in_line_leaves_nothing_behind() -> None:
    world = await World.open([TEXT, asyncio.Event()], wait_timeout_us=60_000_000)
    holding = asyncio.create_task(world.ask())
    await world.until(lambda: world.upstream.open == 1)
    asking = asyncio.create_task(world.ask(world.call("fast-chat")))
    await world.until(lambda: world.coordinator.snapshot().waiting == 1)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert world.coordinator.snapshot().waiting == 0
    assert [row.outcome for row in world.books.rows] == [Outcome.CLIENT_GONE]
    holding.cancel()
    await asyncio.gather(holding, return_exceptions=True)
    assert world.is_quiet()


async def test_a_target_that_keeps_failing_is_asked_last_by_a_role_and_still_answers_who_names_it() -> None:
    fault = Refusal(RefusalKind.SERVER_ERROR, status=500)
    world = await World.open(*[fault, [TEXT, STOP, DONE]] * 5, [TEXT, STOP, DONE], [TEXT, STOP, DONE])
    for _ in range(5):
        await world.ask(world.call("fast-chat"))
    await world.ask(world.call("fast-chat"))
    await world.ask(world.call("one"))
    assert [target.provider for target in world.upstream.asked[-2:]] == ["two", "one"]


@pytest.mark.parametrize("calls", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
async def test_calls_over_a_flapping_target_try_nothing_twice_and_leave_nothing(calls: int) -> None:
    fault = Refusal(RefusalKind.OVERLOADED, status=503)
    world = await World.open(*[fault, [TEXT, STOP, DONE], [TEXT, STOP, DONE]] * 4)
    for number in range(calls):
        before = len(world.upstream.asked)
        try:
            await world.ask(world.call("fast-chat"))
        except ProviderSaidNo:
            pass
        asked = [target.provider for target in world.upstream.asked[before:]]
        assert len(asked) == len(set(asked)) <= 2
        if number % 1000 == 0:
            await world.clock.advance(61)
    assert world.is_quiet()
    assert len(world.books.rows) == calls


async def test_a_bug_between_the_first_byte_and_the_reply_leaks_neither_lane_nor_connection() -> None:
    world = await World.open([TEXT, STOP, DONE])

    def breaks(_place: object) -> None:
        raise ZeroDivisionError

    world.quota.succeeded = breaks  # type: ignore[method-assign,assignment]
    with pytest.raises(ZeroDivisionError):
        await world.ask()
    assert world.is_quiet()
    assert [row.outcome for row in world.books.rows] == [Outcome.RELAY_ERROR]


async def test_a_reply_that_makes_no_response_gives_back_what_it_holds() -> None:
    world = await World.open([TEXT, STOP, DONE])
    reply = await world.relay.answer(world.call())
    reply.headers.append(("x-relay-model", "two\nlines"))
    with pytest.raises(BadHeaderError):
        await relayed(reply)
    assert world.is_quiet()
