"""A transport on a clock that stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from providers.transport import Transport
from scheduling.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def transport(clock: FakeClock) -> AsyncIterator[Transport]:
    transport = Transport(clock)
    yield transport
    await transport.close()
