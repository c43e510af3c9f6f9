"""Who answers: providers, their API keys and their models.

A provider is a row: its vendor preset says which dialect it speaks. Nothing starts on it without a lane
profile (`scheduling.LaneProfile`), which the database itself demands of enabled providers. Prices are whole
microusd per million tokens: one US dollar per million is 1,000,000.
"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from providers.sealing import SealedField

AT_LEAST_ONE = [MinValueValidator(1)]
PROFILE_MISSING = _("An enabled provider needs a lane profile: choose one, or clear “enabled”.")


class ConnectionState(models.TextChoices):
    """What the last connection check found. Congestion and used-up quota never change it."""

    UNVERIFIED = "unverified", _("not checked yet")
    VERIFIED = "verified", _("verified")
    FAILED = "failed", _("failed")


class Provider(models.Model):
    slug = models.SlugField(_("key"), max_length=64, unique=True, help_text=_("Names it everywhere; stays as it is."))
    name = models.CharField(_("name"), max_length=100)
    vendor = models.CharField(_("preset"), max_length=32)
    dialect = models.CharField(_("dialect"), max_length=32)
    base_url = models.CharField(
        _("base URL"),
        max_length=500,
        blank=True,
        validators=[RegexValidator(r"^https?://[^\s/]", _("Start with http:// or https:// and a host."))],
        help_text=_("Without the path of the call, e.g. https://api.openai.com/v1"),
    )
    enabled = models.BooleanField(_("enabled"), default=False)
    paused = models.BooleanField(_("paused"), default=False)
    pause_message = models.CharField(_("pause message"), max_length=200, blank=True)
    lane_profile = models.OneToOneField(
        "scheduling.LaneProfile",
        verbose_name=_("lane profile"),
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="provider",
    )
    connection_state = models.CharField(
        _("connection"), max_length=10, choices=ConnectionState.choices, default=ConnectionState.UNVERIFIED
    )
    verified_at = models.DateTimeField(_("verified"), null=True, blank=True)
    failed_stage = models.CharField(_("failed stage"), max_length=20, blank=True)
    failed_reason = models.CharField(_("failed reason"), max_length=500, blank=True)
    last_check_at = models.DateTimeField(_("last check"), null=True, blank=True)
    last_check_ms = models.PositiveIntegerField(_("last check took, ms"), null=True, blank=True)
    upstream_models = models.JSONField(_("models it listed"), default=list, blank=True)

    class Meta:
        verbose_name = _("provider")
        verbose_name_plural = _("providers")
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                name="enabled_provider_has_lane_profile",
                condition=models.Q(enabled=False) | models.Q(lane_profile__isnull=False),
                violation_error_message=PROFILE_MISSING,
            )
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        if self.enabled and self.lane_profile_id is None:
            raise ValidationError({"lane_profile": PROFILE_MISSING})


class Capability(models.TextChoices):
    VISION = "vision", _("Reads images")
    TOOLS = "tools", _("Calls tools")
    JSON = "json", _("Answers in a JSON schema")
    REASONING = "reasoning", _("Reasons before answering")
    AUDIO = "audio", _("Hears or speaks")
    EMBEDDINGS = "embeddings", _("Makes embeddings")


def check_capabilities(capabilities: Any) -> None:
    if not isinstance(capabilities, list) or not set(capabilities) <= set(Capability.values):
        raise ValidationError(_("Capabilities are a list of: %s.") % ", ".join(Capability.values))


class Model(models.Model):
    class SplitAdvice(models.TextChoices):
        NONE = "", _("No advice")
        FEW_LARGE = "few_large", _("Few large requests")
        MANY_SMALL = "many_small", _("Many small requests")

    provider = models.ForeignKey(Provider, verbose_name=_("provider"), on_delete=models.CASCADE, related_name="models")
    upstream_name = models.CharField(_("upstream name"), max_length=200, help_text=_("As the provider spells it."))
    public_name = models.CharField(
        _("public name"),
        max_length=200,
        unique=True,
        blank=True,
        help_text=_("What callers say; one of its kind in the relay. Empty: the upstream name."),
    )
    enabled = models.BooleanField(_("enabled"), default=True)
    paused = models.BooleanField(_("paused"), default=False)
    pause_message = models.CharField(_("pause message"), max_length=200, blank=True)
    context_window = models.PositiveIntegerField(
        _("context window"), null=True, blank=True, validators=AT_LEAST_ONE, help_text=_("Tokens.")
    )
    max_output = models.PositiveIntegerField(
        _("longest answer"), null=True, blank=True, validators=AT_LEAST_ONE, help_text=_("Tokens.")
    )
    input_microusd_per_mtok = models.PositiveBigIntegerField(_("price of input"), null=True, blank=True)
    output_microusd_per_mtok = models.PositiveBigIntegerField(_("price of output"), null=True, blank=True)
    cached_input_microusd_per_mtok = models.PositiveBigIntegerField(_("price of cached input"), null=True, blank=True)
    capabilities = models.JSONField(_("capabilities"), default=list, blank=True, validators=[check_capabilities])
    limit_group = models.CharField(
        _("limit group"),
        max_length=100,
        blank=True,
        help_text=_("Models that share the provider's limit name the same group. Empty: its own."),
    )
    split_advice = models.CharField(
        _("splitting work"), max_length=10, choices=SplitAdvice.choices, default=SplitAdvice.NONE, blank=True
    )
    advised_concurrency = models.PositiveSmallIntegerField(
        _("advised at once"), null=True, blank=True, validators=AT_LEAST_ONE
    )
    created_at = models.DateTimeField(_("made"), auto_now_add=True)

    class Meta:
        verbose_name = _("model")
        verbose_name_plural = _("models")
        ordering = ["provider", "public_name"]
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "upstream_name"],
                name="one_row_per_upstream_model",
                violation_error_message=_("This provider already has a model with this upstream name."),
            )
        ]

    def __str__(self) -> str:
        return self.public_name

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.public_name = self.public_name or self.upstream_name
        super().save(*args, **kwargs)

    @property
    def key(self) -> str:
        """Unique in the relay: "<provider slug>/<upstream name>"."""
        return f"{self.provider.slug}/{self.upstream_name}"

    def clean(self) -> None:
        self.public_name = self.public_name or self.upstream_name


class Credential(models.Model):
    provider = models.ForeignKey(
        Provider, verbose_name=_("provider"), on_delete=models.CASCADE, related_name="credentials"
    )
    label = models.CharField(_("label"), max_length=100, help_text=_("To tell keys apart, e.g. the account's name."))
    key = SealedField(_("key"), blank=True)
    bound_model = models.ForeignKey(
        Model,
        verbose_name=_("only for model"),
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="bound_credentials",
    )
    quota_group = models.CharField(
        _("quota group"),
        max_length=100,
        blank=True,
        help_text=_("The account or project the provider counts: keys of one account share it. Empty: its label."),
    )
    lanes = models.PositiveSmallIntegerField(
        _("at once"),
        null=True,
        blank=True,
        validators=AT_LEAST_ONE,
        help_text=_("Empty: only the provider's lanes."),
    )
    enabled = models.BooleanField(_("enabled"), default=True)
    paused = models.BooleanField(_("paused"), default=False)

    class Meta:
        verbose_name = _("API key")
        verbose_name_plural = _("API keys")
        ordering = ["provider", "label"]
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "label"],
                name="one_key_per_label",
                violation_error_message=_("This provider already has an API key with this label."),
            )
        ]

    def __str__(self) -> str:
        return self.label

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.quota_group = self.quota_group or self.label
        super().save(*args, **kwargs)

    def clean(self) -> None:
        if self.bound_model is not None and self.bound_model.provider_id != self.provider_id:
            raise ValidationError({"bound_model": _("This model belongs to another provider.")})
