"""Answer lengths of the last days, from usage rows: what a restart would forget. Blocking: called in a thread."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from accounts.models import UsageRow
from accounts.outcomes import Outcome
from relay_project.learning.lengths import lengths_of
from scheduling.core.answers import AnswerLengths

LOOKS_BACK: Final = timedelta(days=7)
AT_MOST: Final = 20_000


def recent_lengths(now: datetime) -> AnswerLengths:
    """From the newest answers that were measured, at most 20,000 of them."""
    rows = UsageRow.objects.filter(
        created_at__gte=now - LOOKS_BACK,
        outcome=Outcome.COMPLETED,
        measured=UsageRow.Measured.MEASURED,
        completion_tokens__isnull=False,
        user__isnull=False,
    )
    figures = rows.order_by("-created_at").values_list("provider", "upstream_model", "user_id", "completion_tokens")
    return lengths_of(
        (f"{provider}/{model}", f"user:{user_id}", tokens or 0)
        for provider, model, user_id, tokens in reversed(figures[:AT_MOST])
    )
