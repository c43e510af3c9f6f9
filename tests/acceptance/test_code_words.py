"""Nobody gets another's answer: fifty at once, each with a code word of its own. Lanes are raised for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.calls import Ask, send_together
from tests.acceptance.console import Console
from tests.acceptance.live import wait_until_in_force
from tests.acceptance.served import ServedRelay
from tests.acceptance.upstream import Upstream

pytestmark = pytest.mark.served

AT_ONCE = 50
DEFAULTS = {"running": 10, "inside": 16, "lanes": 4, "per_model": 2}


@pytest.fixture
def upstream(relay: ServedRelay) -> Iterator[Upstream]:
    """Answers of many pieces, which come as slowly as to be in flight all together."""
    upstream = Upstream(relay.simulator_url)
    upstream.reset()
    upstream.set_scene("ttft_ms=300;jitter_ms=200;tokens_per_s=50;answer_tokens=20", times=None)
    yield upstream
    upstream.reset()
    upstream.close()


@pytest.fixture
def _wide(relay: ServedRelay) -> Iterator[None]:
    with Console(relay) as console:
        console.widen(AT_ONCE)
        wait_until_in_force(relay, lambda picture: picture["relay"]["limit"] == AT_ONCE)
        yield
        console.run(f"""
            RelayLimits.objects.update_or_create(
                defaults=dict(max_running={DEFAULTS["running"]}, max_inside={DEFAULTS["inside"]}), pk=1
            )
            profile = LaneProfile.objects.get(provider__slug="simulator")
            profile.lanes, profile.lanes_per_model = {DEFAULTS["lanes"]}, {DEFAULTS["per_model"]}
            profile.save()
        """)
        wait_until_in_force(relay, lambda picture: picture["relay"]["limit"] == DEFAULTS["running"])


@pytest.mark.usefixtures("_wide")
async def test_fifty_at_once_each_get_their_own_word_back(relay: ServedRelay, upstream: Upstream) -> None:
    asks = [Ask(stream=number % 2 == 0) for number in range(AT_ONCE)]
    answers = await send_together(relay, asks)
    words = {ask.word for ask in asks}
    for ask, answered in zip(asks, answers, strict=True):
        assert answered.status == 200
        said = set(answered.text.split())
        assert said & words == {ask.word}
    assert upstream.report()["peak_inflight"] == AT_ONCE  # they were in flight together
    assert len({answered.headers["x-relay-request-id"] for answered in answers}) == AT_ONCE
