"""Who asks, what they may spend, and what they have used.

Limits are null where there is none. Money is whole microusd. A usage row is written once per request and
outlives the user, token and team it names.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.outcomes import Outcome

AT_LEAST_ONE = [MinValueValidator(1)]


class OwnLimits(models.Model):
    """Limits of somebody's own, beside the provider's; null = not limited."""

    max_concurrent = models.PositiveIntegerField(
        _("at once"), null=True, blank=True, validators=AT_LEAST_ONE, help_text=_("Requests running at once.")
    )
    rpm = models.PositiveIntegerField(_("requests per minute"), null=True, blank=True, validators=AT_LEAST_ONE)
    tpm = models.PositiveIntegerField(_("tokens per minute"), null=True, blank=True, validators=AT_LEAST_ONE)

    class Meta:
        abstract = True


class Budgeted(models.Model):
    """A share of the relay and a monthly sum of money."""

    weight = models.PositiveSmallIntegerField(
        _("weight"),
        default=1,
        validators=AT_LEAST_ONE,
        help_text=_("Share of a crowded model: 2 starts twice as often as 1."),
    )
    monthly_budget_microusd = models.PositiveBigIntegerField(_("monthly budget"), null=True, blank=True)

    class Meta:
        abstract = True


class Team(OwnLimits, Budgeted):
    name = models.CharField(_("name"), max_length=100, unique=True)

    class Meta:
        verbose_name = _("team")
        verbose_name_plural = _("teams")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class User(AbstractUser, OwnLimits, Budgeted):  # noqa: DJ008 - AbstractUser has __str__
    class Language(models.TextChoices):
        BROWSER = "", _("As the browser asks")
        ENGLISH = "en", _("English")
        KOREAN = "ko", _("Korean")

    team = models.ForeignKey(
        Team, verbose_name=_("team"), null=True, blank=True, on_delete=models.SET_NULL, related_name="members"
    )
    language = models.CharField(
        _("language"), max_length=2, choices=Language.choices, default=Language.BROWSER, blank=True
    )

    class Meta(AbstractUser.Meta):
        pass


class Scope(models.TextChoices):
    """What a personal token may do."""

    CHAT = "chat", _("Send requests to models")
    MODELS = "models", _("List models")
    QUEUE = "queue", _("Watch the queue")


class ClassCap(models.TextChoices):
    """The highest priority class a token's requests may take."""

    INTERACTIVE = "interactive", _("Interactive")
    NORMAL = "normal", _("Normal")
    BATCH = "batch", _("Batch")


def every_scope() -> list[str]:
    return list(Scope.values)


def check_scopes(scopes: Any) -> None:
    if not isinstance(scopes, list) or not set(scopes) <= set(Scope.values):
        raise ValidationError(_("Scopes are a list of: %s.") % ", ".join(Scope.values))


class PersonalToken(OwnLimits):
    """The right to call the relay. With a team it is a service token: the team is its unit of fairness."""

    user = models.ForeignKey(User, verbose_name=_("user"), on_delete=models.CASCADE, related_name="tokens")
    team = models.ForeignKey(
        Team,
        verbose_name=_("team"),
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="service_tokens",
        help_text=_("Only for a service token: its requests count as the team's, not the user's."),
    )
    name = models.CharField(_("name"), max_length=100, help_text=_("What it is for, e.g. “laptop”."))
    prefix = models.CharField(_("starts with"), max_length=11, unique=True, editable=False)
    sha256 = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(_("scopes"), default=every_scope, validators=[check_scopes])
    class_cap = models.CharField(
        _("highest class"), max_length=11, choices=ClassCap.choices, default=ClassCap.INTERACTIVE
    )
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True, editable=False)
    last_used_at = models.DateTimeField(_("last used"), null=True, blank=True, editable=False)
    created_at = models.DateTimeField(_("made"), auto_now_add=True)

    class Meta:
        verbose_name = _("personal token")
        verbose_name_plural = _("personal tokens")
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def is_live(self) -> bool:
        """Neither revoked nor expired."""
        if self.revoked_at is not None:
            return False
        return self.expires_at is None or self.expires_at > timezone.now()


class UsageRow(models.Model):
    """One request, once. Counts are null where not known; names are copies: the row outlives its subjects."""

    class Measured(models.TextChoices):
        MEASURED = "measured", _("measured")
        ESTIMATED = "estimated", _("estimated")
        PARTIAL = "partial", _("partial")
        NOTHING = "", _("nothing used")

    request_id = models.CharField(_("request"), max_length=64, unique=True)
    created_at = models.DateTimeField(_("at"), default=timezone.now)
    user = models.ForeignKey(
        User, verbose_name=_("user"), null=True, blank=True, on_delete=models.SET_NULL, related_name="usage"
    )
    token = models.ForeignKey(
        PersonalToken,
        verbose_name=_("token"),
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="usage",
    )
    team = models.ForeignKey(
        Team, verbose_name=_("team"), null=True, blank=True, on_delete=models.SET_NULL, related_name="usage"
    )
    client = models.CharField(_("client"), max_length=80, blank=True)
    role = models.CharField(_("role"), max_length=100, blank=True)
    provider = models.CharField(_("provider"), max_length=64, blank=True)
    model = models.CharField(_("model"), max_length=200, blank=True)
    upstream_model = models.CharField(_("upstream model"), max_length=200, blank=True)
    klass = models.CharField(_("class"), max_length=11, blank=True, db_column="class", choices=ClassCap.choices)
    purpose = models.CharField(_("purpose"), max_length=20, blank=True)
    outcome = models.CharField(_("outcome"), max_length=20, choices=[(o.value, o.value) for o in Outcome])
    reason = models.CharField(_("reason"), max_length=64, blank=True)
    stage = models.CharField(_("stage"), max_length=20, blank=True)
    http_status = models.PositiveSmallIntegerField(_("status"), null=True, blank=True)
    stream = models.BooleanField(_("stream"), default=False)
    queue_ms = models.PositiveBigIntegerField(_("waited, ms"), default=0)
    pace_ms = models.PositiveBigIntegerField(_("of that paced, ms"), default=0)
    run_ms = models.PositiveBigIntegerField(_("ran, ms"), default=0)
    ttft_ms = models.PositiveBigIntegerField(_("first token, ms"), null=True, blank=True)
    prompt_tokens = models.PositiveBigIntegerField(_("prompt tokens"), null=True, blank=True)
    completion_tokens = models.PositiveBigIntegerField(_("completion tokens"), null=True, blank=True)
    cached_prompt_tokens = models.PositiveBigIntegerField(_("cached prompt tokens"), null=True, blank=True)
    cache_write_tokens = models.PositiveBigIntegerField(_("cache write tokens"), null=True, blank=True)
    reasoning_tokens = models.PositiveBigIntegerField(_("reasoning tokens"), null=True, blank=True)
    charged_tokens = models.PositiveBigIntegerField(_("charged tokens"), null=True, blank=True)
    cost_microusd = models.PositiveBigIntegerField(_("cost, microusd"), null=True, blank=True)
    measured = models.CharField(_("measured"), max_length=9, blank=True, choices=Measured.choices)
    recovered = models.BooleanField(_("recovered"), default=False)
    attempts = models.JSONField(_("attempts"), default=list, blank=True)
    refused_count = models.PositiveIntegerField(
        _("requests"), default=1, help_text=_("More than 1: rejections of one minute in one row.")
    )

    class Meta:
        verbose_name = _("usage row")
        verbose_name_plural = _("usage rows")
        ordering = ["-created_at", "-pk"]
        indexes = [
            models.Index(fields=["created_at"], name="usage_at"),
            models.Index(fields=["user", "created_at"], name="usage_user_at"),
            models.Index(fields=["provider", "model", "created_at"], name="usage_model_at"),
        ]

    def __str__(self) -> str:
        return self.request_id
