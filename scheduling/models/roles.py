"""Roles: a name for a job and the models that can do it, best first."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy as _


class Role(models.Model):
    """A name for a job; callers say it in place of a model."""

    class Strategy(models.TextChoices):
        ORDERED = "ordered", _("The first that starts soon enough")
        LEAST_WAIT = "least_wait", _("The one that starts first")
        ROUND_ROBIN = "round_robin", _("In turn")
        CHEAPEST = "cheapest", _("The cheapest")
        CHEAPEST_ABOVE = "cheapest_above", _("The cheapest once much of the budget is spent")

    name = models.CharField(
        _("name"),
        max_length=100,
        unique=True,
        validators=[RegexValidator(r"^[a-z0-9][a-z0-9._-]*$", _("Small letters, digits, dot, dash, underscore."))],
        help_text=_("e.g. fast-chat"),
    )
    description = models.CharField(_("what for"), max_length=300, blank=True)
    strategy = models.CharField(_("choose"), max_length=15, choices=Strategy.choices, default=Strategy.ORDERED)
    patience_s = models.PositiveIntegerField(
        _("patience, s"), default=5, help_text=_("How long the preferred model may keep one waiting.")
    )
    cheapest_above_percent = models.PositiveSmallIntegerField(
        _("from budget share, %"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text=_("Only for “the cheapest once much of the budget is spent”."),
    )
    enabled = models.BooleanField(_("enabled"), default=True)

    class Meta:
        verbose_name = _("role")
        verbose_name_plural = _("roles")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        if self.strategy == self.Strategy.CHEAPEST_ABOVE and self.cheapest_above_percent is None:
            raise ValidationError({"cheapest_above_percent": _("Say from which share of the budget on.")})


class RoleCandidate(models.Model):
    role = models.ForeignKey(Role, verbose_name=_("role"), on_delete=models.CASCADE, related_name="candidates")
    model = models.ForeignKey(
        "providers.Model", verbose_name=_("model"), on_delete=models.CASCADE, related_name="candidacies"
    )
    position = models.PositiveSmallIntegerField(_("order"), default=0)

    class Meta:
        verbose_name = _("candidate")
        verbose_name_plural = _("candidates, best first")
        ordering = ["role", "position", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["role", "model"],
                name="one_candidacy_per_model",
                violation_error_message=_("This model is already a candidate of the role."),
            )
        ]

    def __str__(self) -> str:
        return str(self.model)
