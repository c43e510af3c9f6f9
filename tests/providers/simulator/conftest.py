from collections.abc import AsyncIterator

import pytest

for _checks in ("check", "content_checks", "reply_checks", "tool_checks", "wire_checks"):
    pytest.register_assert_rewrite(f"tests.providers.simulator.faults.{_checks}")

from tests.providers.simulator.upstream import Upstream, upstream_with  # noqa: E402


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    async with upstream_with() as upstream:
        yield upstream
