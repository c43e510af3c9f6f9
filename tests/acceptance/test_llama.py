"""A real llama.cpp server behind a lane of two and a line of sixteen."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.acceptance.calls import Answered, Ask, send_together
from tests.acceptance.console import Console
from tests.acceptance.live import provider_in, queue_of, wait_until_empty, wait_until_in_force
from tests.acceptance.llama import busy_at, llama_server
from tests.acceptance.served import ServedRelay

pytestmark = pytest.mark.served

SLOTS, LINE, CALLS, TOKENS = 2, 16, 12, 400
MIN_LOOKS = 5  # on a machine that is busy otherwise the looks are few
MODEL = "tiny-llama"
WAITED = CALLS - SLOTS


@pytest.fixture(scope="module")
def llama_url(relay: ServedRelay, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server's root; the shared relay has it as a provider. Its 12 calls fit into the relay's default limits."""
    with llama_server(tmp_path_factory.mktemp("llama"), SLOTS) as url, Console(relay) as console:
        console.run(f"""
            provider = Provider.objects.create(
                slug="llama", name="llama", vendor="llama.cpp", dialect="openai_chat", enabled=True,
                base_url="{url}/v1",
                lane_profile=create_profile("llama.cpp", "llama", lanes={SLOTS}, max_waiting={LINE}),
            )
            Model.objects.create(provider=provider, upstream_name="{MODEL}")
        """)
        wait_until_in_force(relay, lambda picture: provider_in(picture, "llama") is not None)
        yield url
        console.run("""
            provider = Provider.objects.get(slug="llama")
            profile = provider.lane_profile
            provider.delete()
            profile.delete()
        """)


async def test_twelve_calls_are_all_answered_and_never_more_than_two_are_inside(
    relay: ServedRelay, llama_url: str
) -> None:
    # ignore_eos: of random weights an end may come at once; it is llama.cpp's own member, which must get through.
    whole = {"max_tokens": TOKENS, "ignore_eos": True}
    streamed = whole | {"stream_options": {"include_usage": True}}
    asks = [Ask(MODEL, members=whole), Ask(MODEL, stream=True, members=streamed)] * (CALLS // 2)
    async with watching(llama_url) as counts:
        answers = await send_together(relay, asks)
    assert [answered.status for answered in answers] == [200] * CALLS
    assert [tokens_of(answered) for answered in answers] == [TOKENS] * CALLS
    assert len(counts) >= MIN_LOOKS, "it was hardly looked at"
    assert max(counts) == SLOTS
    assert sum(answered.headers["x-relay-queue-ms"] != "0" for answered in answers) == WAITED
    wait_until_empty(relay)
    assert busy_at(llama_url) == 0


@contextlib.asynccontextmanager
async def watching(llama_url: str) -> AsyncIterator[list[int]]:
    """How many calls llama.cpp itself says are inside, asked all the time."""
    counts: list[int] = []

    async def watch() -> None:
        while True:
            counts.append(await asyncio.to_thread(busy_at, llama_url))
            await asyncio.sleep(0.01)

    task = asyncio.create_task(watch())
    try:
        yield counts
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def tokens_of(answered: Answered) -> int:
    events = answered.events or [json.loads(answered.body)]
    usages = [event["usage"] for event in events if event != "[DONE]" and event.get("usage")]
    return int(usages[-1]["completion_tokens"])


def test_its_lanes_are_shown_as_configured(relay: ServedRelay, llama_url: str) -> None:
    lanes = provider_in(queue_of(relay), "llama")
    assert lanes is not None
    assert (lanes["limit"], lanes["max_waiting"]) == (SLOTS, LINE)
