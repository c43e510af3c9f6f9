"""What all processes share through the database: the version of the configuration, and learned limits."""

from __future__ import annotations

from django.db import models


class ConfigurationVersion(models.Model):
    """One row (pk 1), polled by every process (see configuration.py)."""

    number = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.CheckConstraint(name="configuration_version_is_one_row", condition=models.Q(pk=1))]

    def __str__(self) -> str:
        return str(self.number)


class LearnedLimit(models.Model):
    """What an account turned out to allow (`scheduling.core.learned`): one row per limit, read every second."""

    KEY = ("provider", "source", "measure", "window_us", "group", "account")

    provider = models.CharField(max_length=64)  # slug
    source = models.CharField(max_length=10)
    measure = models.CharField(max_length=20)
    window_us = models.PositiveBigIntegerField()
    group = models.CharField(max_length=300, blank=True)
    account = models.CharField(max_length=200, blank=True)
    figure = models.PositiveBigIntegerField(default=0)
    configured = models.PositiveBigIntegerField(default=0)
    evidence = models.CharField(max_length=200, blank=True)
    since = models.DateTimeField()
    heard_at = models.DateTimeField()
    until = models.DateTimeField()
    revision = models.PositiveBigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=("provider", "source", "measure", "window_us", "group", "account"), name="learned_limit_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.group} {self.measure} {self.figure}".strip()
