"""What is used up, since when and until when."""

from __future__ import annotations

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from scheduling.choices import WINDOW_SCOPES, choices


class QuotaState(models.Model):
    """Something is used up, and until when. Open again = `cleared_at` set, or `until` passed."""

    scope = models.CharField(_("what"), max_length=10, choices=choices(WINDOW_SCOPES))
    provider = models.ForeignKey(
        "providers.Provider",
        verbose_name=_("provider"),
        on_delete=models.CASCADE,
        related_name="quota_states",
    )
    model = models.ForeignKey(
        "providers.Model",
        verbose_name=_("model"),
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
    )
    credential = models.ForeignKey(
        "providers.Credential",
        verbose_name=_("API key"),
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="+",
    )
    reason = models.CharField(_("reason"), max_length=20)
    limit_name = models.CharField(_("limit"), max_length=200, blank=True)
    since = models.DateTimeField(_("since"), default=timezone.now)
    until = models.DateTimeField(_("until"))
    evidence = models.TextField(_("what the provider said"), blank=True)
    history = models.JSONField(_("history"), default=list, blank=True)
    cleared_at = models.DateTimeField(_("cleared"), null=True, blank=True)
    next_probe_at = models.DateTimeField(
        _("next probe"), null=True, blank=True, editable=False, help_text=_("Whoever moves it on first probes.")
    )

    class Meta:
        verbose_name = _("quota state")
        verbose_name_plural = _("quota states")
        ordering = ["-since"]
        indexes = [models.Index(fields=["cleared_at", "until"], name="quota_state_open")]

    def __str__(self) -> str:
        return f"{self.model or self.credential or self.provider}: {self.reason}"

    @property
    def is_closed(self) -> bool:
        return self.cleared_at is None and self.until > timezone.now()
