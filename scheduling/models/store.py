"""What outlives the shared store, so that a store which has forgotten everything is told from a first start.

Rows for the machines (`scheduling/backends/valkey/rows.py`), not for the admin.
"""

from __future__ import annotations

from django.db import models
from django.utils import timezone


class StoreEpoch(models.Model):
    """The epoch that stands in the store too. One row."""

    epoch = models.CharField(max_length=64, editable=False)
    since = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return self.epoch


class StoreProcess(models.Model):
    """A process that works in the store. One that goes in order deletes its row; one that dies leaves it behind."""

    box = models.CharField(max_length=64, unique=True, editable=False)
    seen_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return self.box
