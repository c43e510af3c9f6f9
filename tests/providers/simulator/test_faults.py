"""Every fault, as it arrives on the wire: one check each, and a test that none is missing."""

from __future__ import annotations

import pytest

from providers.simulator.app import Simulator
from tests.providers.simulator.faults import content_checks, reply_checks, tool_checks, wire_checks
from tests.providers.simulator.faults.check import CHECKS, whole
from tests.providers.simulator.upstream import Upstream

pytestmark = pytest.mark.served

FAULTS = sorted(Simulator().provider.faults)
MODULES = (content_checks, reply_checks, tool_checks, wire_checks)  # importing them registers their checks


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_shows_on_the_wire(upstream: Upstream, fault: str):
    await CHECKS[fault](upstream)
    assert all(arrival["fault"] in {fault, "ok"} for arrival in upstream.arrivals)
    await upstream.ended(len(upstream.arrivals))
    assert upstream.simulator.provider.journal.inflight.now == 0


def test_no_check_is_of_a_fault_that_does_not_exist():
    assert set(CHECKS) == set(FAULTS)


@pytest.mark.parametrize("body", ["html", "json_array", "error_string", "text", "quota", "plan_window"])
async def test_a_429_can_have_any_of_the_odd_bodies(upstream: Upstream, body: str):
    assert (await whole(upstream, f"429({body})")).status_code == 429


HINTS = ["20", "12.5", "0", "-3", "6m0s", "500ms", "1h2m", "2026-10-21T07:28:00Z", "1790000000000", "abc", ""]


@pytest.mark.parametrize("hint", HINTS)
async def test_a_429_can_carry_any_hint(upstream: Upstream, hint: str):
    response = await whole(upstream, f"429(openai,retry-after={hint})")
    assert response.headers.get_list("retry-after") == [hint]


async def test_a_503_can_be_a_full_worker(upstream: Upstream):
    assert "(16/16)" in (await whole(upstream, "503(nvidia)")).text
