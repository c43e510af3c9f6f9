"""Python inside a relay's settings and database, kept open: a fresh `manage.py shell` takes more than a second."""

from __future__ import annotations

import json
import textwrap
from types import TracebackType
from typing import Any, Self

from tests.acceptance.served import ServedRelay
from tests.acceptance.waiting import wait_until

ROW_FIELDS = (
    *("request_id", "outcome", "reason", "stage", "http_status", "stream", "provider", "model", "queue_ms", "run_ms"),
    *("prompt_tokens", "completion_tokens", "measured", "recovered", "attempts", "refused_count"),
)
ROWS_WITHIN_S = 5.0  # the outbox drains four times a second

LOOP = """
import json, sys, traceback
from django.db import transaction
from accounts.models import *
from providers.models import *
from scheduling.models import *
from scheduling.presets import create_profile
for line in sys.stdin:
    names = globals() | {"result": None}
    try:
        with transaction.atomic():
            exec(json.loads(line), names)
        answer = {"result": names["result"]}
    except Exception:
        answer = {"error": traceback.format_exc()}
    print(json.dumps(answer), flush=True)
"""


class Console:
    """`with Console(relay) as console: console.run("result = Provider.objects.count()")`; one transaction per run."""

    def __init__(self, relay: ServedRelay) -> None:
        self._process = relay.start_managing("shell", "--verbosity", "0", "--command", LOOP)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate()

    def run(self, code: str) -> Any:
        """Execute `code`; returns what it assigned to `result`. All models are there."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(textwrap.dedent(code)) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def rows_of(self, client: str) -> list[dict[str, Any]]:
        """The usage rows so far of calls with this User-Agent."""
        found: list[dict[str, Any]] = self.run(
            f"result = list(UsageRow.objects.filter(client={client!r}).order_by('pk').values(*{ROW_FIELDS!r}))"
        )
        return found

    def row_of(self, client: str) -> dict[str, Any]:
        """The one row of the one call with this User-Agent, once it is there."""
        wait_until(lambda: self.rows_of(client), ROWS_WITHIN_S, f"a usage row of {client}")
        (row,) = self.rows_of(client)
        return row

    def rows_by_client(self, clients: list[str]) -> dict[str, dict[str, Any]]:
        """The rows of calls with these User-Agents, of each just one, once all are there."""
        wait_until(lambda: self.count_rows(client__in=clients) >= len(clients), ROWS_WITHIN_S, "row for each call")
        rows = self.run(
            f"result = list(UsageRow.objects.filter(client__in={clients!r}).values('client', *{ROW_FIELDS!r}))"
        )
        assert sorted(row["client"] for row in rows) == sorted(clients)
        return {row["client"]: row for row in rows}

    def count_rows(self, **conditions: object) -> int:
        count: int = self.run(f"result = UsageRow.objects.filter(**{conditions!r}).count()")
        return count

    def widen(self, lanes: int) -> None:
        """Raise the relay's limits and the simulator's lanes to `lanes`, all of them for any one model."""
        self.run(f"""
            RelayLimits.objects.update_or_create(defaults=dict(max_running={lanes}, max_inside={lanes}), pk=1)
            profile = LaneProfile.objects.get(provider__slug="simulator")
            profile.lanes, profile.lanes_per_model = {lanes}, None
            profile.save()
        """)
