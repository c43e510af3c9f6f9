"""The version of the configuration, polled by every process (see configuration.py)."""

from __future__ import annotations

from django.db import models


class ConfigurationVersion(models.Model):
    """One row (pk 1)."""

    number = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.CheckConstraint(name="configuration_version_is_one_row", condition=models.Q(pk=1))]

    def __str__(self) -> str:
        return str(self.number)
