"""Background work of accounts."""

from __future__ import annotations

from datetime import datetime, timedelta

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from accounts.models import UsageRow

BATCH_ROWS = 500


@shared_task(name="accounts.tasks.delete_old_usage_rows")  # type: ignore[untyped-decorator]  # celery has no types
def delete_old_usage_rows() -> int:
    """Delete usage rows older than `RELAY_USAGE_RETENTION_DAYS`; how many went.

    Safe to run twice, or side by side.
    """
    return delete_rows_before(timezone.now() - timedelta(days=settings.RELAY_USAGE_RETENTION_DAYS))


def delete_rows_before(cutoff: datetime, batch_rows: int = BATCH_ROWS) -> int:
    """Delete rows made before `cutoff`, in small transactions: nobody who books a request waits for long."""
    deleted = 0
    while True:
        oldest = UsageRow.objects.filter(created_at__lt=cutoff).order_by("created_at")[:batch_rows]
        ids = list(oldest.values_list("pk", flat=True))
        if not ids:
            return deleted
        deleted += UsageRow.objects.filter(pk__in=ids).delete()[0]
