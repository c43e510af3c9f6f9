"""What the simulator writes down, when, and how it is steered from outside."""

from __future__ import annotations

import asyncio
import itertools

import httpx
import pytest

from providers.simulator.directives import Behaviour
from providers.simulator.limits.settings import Ceilings
from providers.simulator.options import Options
from tests.providers.simulator.upstream import KEY, Upstream, chat, http_request, upstream_with

pytestmark = pytest.mark.served

HEADERS = {"Authorization": f"Bearer {KEY}", "traceparent": "00-" + "1" * 32 + "-" + "2" * 16 + "-01"}


async def test_an_arrival_tells_who_what_and_when(upstream: Upstream):
    async with httpx.AsyncClient() as client:
        document = chat(stream=True, max_tokens=4, n=2)
        await client.post(f"{upstream.url}/v1/chat/completions", json=document, headers=HEADERS)
    report = await upstream.control("GET", "/_arrivals")
    [arrival] = report["arrivals"]
    assert (
        arrival.items()
        >= {
            "number": 1,
            "method": "POST",
            "path": "/v1/chat/completions",
            "model": "sim-small",
            "stream": True,
            "fault": "ok",
            "code_word": "CODE-7",
            "prompt_tokens": 3,
            "cap_tokens": 8,
            "produced_tokens": 8,
            "status": 200,
            "outcome": "answered",
        }.items()
    )
    assert arrival["headers"]["traceparent"] == HEADERS["traceparent"]
    assert len(arrival["key_fingerprint"]) == 12
    assert KEY not in str(report)
    assert 0 <= arrival["at_us"] <= arrival["first_byte_us"] <= arrival["ended_at_us"] <= report["now_us"]


async def test_peaks_are_counted_overall_and_per_model():
    async with upstream_with(Options(behaviour=Behaviour(ttft_ms=150))) as upstream:
        async with asyncio.TaskGroup() as group:
            for model in ("sim-a", "sim-a", "sim-a", "sim-b", "sim-b"):
                group.create_task(upstream.post(model))
            await asyncio.sleep(0.1)
            during = await upstream.control("GET", "/_arrivals")
        after = await upstream.control("GET", "/_arrivals?model=sim-b")
    assert (during["inflight"], during["inflight_by_model"]) == (5, {"sim-a": 3, "sim-b": 2})
    assert (after["inflight"], after["peak_inflight"]) == (0, 5)
    assert after["peak_by_model"] == {"sim-a": 3, "sim-b": 2}
    assert [arrival["model"] for arrival in after["arrivals"]] == ["sim-b", "sim-b"]


@pytest.mark.parametrize("fault", ["silent_after_accept", "silent_after_events(2)", "slow_first_byte(9000)"])
async def test_a_client_that_leaves_is_seen_at_once(upstream: Upstream, fault: str):
    loop = asyncio.get_running_loop()
    _, writer = await asyncio.open_connection("127.0.0.1", upstream.port)
    writer.write(http_request(chat(f"sim-small;fault={fault}", stream=True)))
    await asyncio.sleep(0.05)
    left_us = upstream.simulator.provider.now_us()
    writer.transport.abort()
    started = loop.time()
    [arrival] = await upstream.ended()
    assert arrival["outcome"] == "aborted_by_client"
    assert 0 <= arrival["ended_at_us"] - left_us <= 50_000
    assert loop.time() - started < 0.5


async def test_who_leaves_in_mid_stream_is_charged_what_was_produced():
    behaviour = Behaviour(tokens_per_s=100, answer_tokens=1000)
    async with upstream_with(Options(behaviour=behaviour, ceilings=Ceilings(otpm=10_000))) as upstream:
        await _leave_after(upstream, 0.2)
        [arrival] = await upstream.ended()
        [reading] = upstream.simulator.provider.readings("sim-small")
    assert 0 < arrival["produced_tokens"] < 1000
    assert reading.used == arrival["produced_tokens"]


async def _leave_after(upstream: Upstream, seconds: float) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", upstream.port)
    writer.write(http_request(chat(stream=True)))
    await asyncio.sleep(seconds)
    writer.transport.abort()


async def test_one_after_the_other_never_counts_as_two(upstream: Upstream):
    """A lane of one: the next request goes out once the last byte has come, or the connection is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", upstream.port)
    request = http_request(chat()).replace(b"Connection: close\r\n", b"")
    for _ in range(100):
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
        _, other = await asyncio.open_connection("127.0.0.1", upstream.port)
        other.write(http_request(chat("sim-small;fault=silent_after_events(1)", stream=True)))
        await _until_inflight(upstream, 1)
        other.transport.abort()
        await other.wait_closed()
    writer.transport.abort()
    assert upstream.simulator.provider.journal.inflight.peak == 1


async def _until_inflight(upstream: Upstream, count: int) -> None:
    for _ in range(2000):
        if upstream.simulator.provider.journal.inflight.now == count:
            return
        await asyncio.sleep(0)
    raise AssertionError("nothing came in")


async def test_a_refused_call_is_no_call_in_flight():
    async with upstream_with(Options(ceilings=Ceilings(concurrency=2), behaviour=Behaviour(ttft_ms=100))) as upstream:
        responses = await asyncio.gather(*(upstream.post() for _ in range(5)))
        assert sorted(response.status_code for response in responses) == [200, 200, 429, 429, 429]
        assert upstream.simulator.provider.journal.inflight.peak == 2
        assert (await upstream.post()).status_code == 200


async def test_reset_forgets_arrivals_script_and_what_was_used():
    async with upstream_with(Options(ceilings=Ceilings(rpm=1))) as upstream:
        await upstream.control("POST", "/_script", {"set": "fault=500", "times": None})
        await upstream.post()
        assert (await upstream.post()).status_code == 429
        await upstream.control("POST", "/_reset")
        assert (await upstream.control("GET", "/_arrivals"))["arrivals"] == []
        assert (await upstream.post()).status_code == 200


async def test_limits_change_while_running_and_come_back():
    async with upstream_with(Options(ceilings=Ceilings(rpm=4), style="azure")) as upstream:
        await upstream.post()
        halved = await upstream.control("POST", "/_limits", {"rpm": 2})
        assert (halved["style"], halved["rpm"], halved["window"]) == ("azure", 2, "fixed")
        codes = [(await upstream.post()).status_code for _ in range(2)]
        assert codes == [200, 429]
        await upstream.control("POST", "/_limits", {"rpm": 40})
        assert (await upstream.post()).status_code == 200
        other = await upstream.control("POST", "/_limits", {"style": "nvidia", "rpm": 0})
        assert other["charge"] == "measured"
        assert (await upstream.post()).json() == {"status": 429, "title": "Too Many Requests"}
        readings = (await upstream.control("GET", "/_limits?model=sim-small"))["readings"]
        assert [reading["name"] for reading in readings] == ["rpm"]


@pytest.mark.parametrize(
    "changes", [{"rpm": -1}, {"rpn": 3}, {"style": "nobody"}, {"window": "round"}, {"day": "Mars"}, [1]]
)
async def test_a_change_of_limits_that_makes_no_sense_changes_nothing(upstream: Upstream, changes):
    before = await upstream.control("GET", "/_limits")
    assert "error" in await upstream.control("POST", "/_limits", changes)
    assert await upstream.control("GET", "/_limits") == before


async def test_a_script_holds_for_the_next_requests_to_a_path_or_model(upstream: Upstream):
    scenes = [
        {"set": "fault=500", "model": "sim-large", "times": 2},
        {"set": "fault=502", "path": "/v1/models"},
    ]
    await upstream.control("POST", "/_script", scenes)
    assert (await upstream.post("sim-small")).status_code == 200
    assert [(await upstream.post("sim-large")).status_code for _ in range(3)] == [500, 500, 200]
    assert [(await upstream.get("/v1/models")).status_code for _ in range(2)] == [502, 200]
    assert (await upstream.control("GET", "/_script"))["script"] == []


async def test_a_model_list_can_be_slow(upstream: Upstream):
    await upstream.control("POST", "/_script", {"set": "ttft_ms=120", "path": "/v1/models"})
    assert len((await upstream.get("/v1/models")).json()["data"]) == 4
    [arrival] = await upstream.ended()
    assert arrival["ended_at_us"] - arrival["at_us"] >= 120_000
    assert arrival["model"] == ""


@pytest.mark.parametrize("scene", [{"set": "fault=("}, {"set": "x=1"}, {"times": 3}, {"set": "", "who": 1}, "no"])
async def test_a_scene_that_makes_no_sense_is_refused(upstream: Upstream, scene):
    assert "error" in await upstream.control("POST", "/_script", scene)
    assert (await upstream.control("GET", "/_script"))["script"] == []


async def test_a_fault_can_be_chosen_by_a_header(upstream: Upstream):
    async with httpx.AsyncClient(headers=HEADERS) as client:
        for headers in ({"X-Sim-Fault": "503"}, {"X-Sim": "fault=503"}):
            response = await client.post(f"{upstream.url}/v1/chat/completions", json=chat(), headers=headers)
            assert response.status_code == 503


async def test_the_date_agrees_with_the_resets_in_the_body():
    options = Options(ceilings=Ceilings(rpd=0), style="openrouter", started_epoch_s=1_790_000_000)
    async with upstream_with(options) as upstream:
        response = await upstream.post()
    assert response.headers["date"] == "Mon, 21 Sep 2026 14:13:20 GMT"


async def test_an_unknown_control_path_tells_the_known_ones(upstream: Upstream):
    answer = await upstream.control("GET", "/_nothing")
    assert "GET /_arrivals" in answer["endpoints"]
    assert {"ok", "parallel_tools"} <= set((await upstream.control("GET", "/_faults"))["faults"])


async def test_fifty_at_once_get_their_own_word(upstream: Upstream):
    words = [f"CODE-{number}" for number in range(50)]
    responses = await asyncio.gather(*(upstream.post(text=f"repeat {word}") for word in words))
    texts = [response.json()["choices"][0]["message"]["content"] for response in responses]
    assert texts == [f"2 words: repeat {word}" for word in words]
    numbers = [arrival["number"] for arrival in upstream.arrivals]
    assert all(later == earlier + 1 for earlier, later in itertools.pairwise(numbers))
