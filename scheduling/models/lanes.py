"""Lanes: the relay's own bounds, lane profiles, their windows, and what single models have otherwise.

`lanes`, `wait_timeout_s` and `run_timeout_s` have no default on purpose: a preset brings them, or a person
types them. Durations are whole seconds unless the name says otherwise.
"""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from scheduling.choices import (
    BRIEF_REFUSALS,
    CHARGE_RULES,
    DISCONNECTS,
    FAIRNESS,
    MEASURES,
    PERIODS,
    WINDOW_KINDS,
    WINDOW_MODES,
    WINDOW_SCOPES,
    choices,
)
from scheduling.core.spec import (
    ChargeRule,
    FairBy,
    OnBriefRefusal,
    OnDisconnect,
    Scope,
    WindowKind,
    WindowMode,
)

AT_LEAST_ONE = [MinValueValidator(1)]


class RelayLimits(models.Model):
    """One row (pk 1): how many requests the whole relay lets in."""

    max_running = models.PositiveSmallIntegerField(_("running at once"), default=10, validators=AT_LEAST_ONE)
    max_inside = models.PositiveSmallIntegerField(
        _("inside at once"), default=16, validators=AT_LEAST_ONE, help_text=_("Running and waiting together.")
    )

    class Meta:
        verbose_name = _("relay limits")
        verbose_name_plural = _("relay limits")
        constraints = [models.CheckConstraint(name="relay_limits_is_one_row", condition=models.Q(pk=1))]

    def __str__(self) -> str:
        return str(_("Whole relay"))

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.pk = 1
        super().save(*args, **kwargs)

    @classmethod
    def current(cls) -> RelayLimits:
        """The row, or an unsaved one with the defaults."""
        return cls.objects.filter(pk=1).first() or cls(pk=1)

    def clean(self) -> None:
        if self.max_inside < self.max_running:
            raise ValidationError({"max_inside": _("Not fewer than may run at once.")})


class LaneProfile(models.Model):
    name = models.CharField(_("name"), max_length=100, unique=True)
    preset = models.CharField(_("preset"), max_length=32)
    lanes = models.PositiveSmallIntegerField(
        _("lanes"), validators=AT_LEAST_ONE, help_text=_("Running at once on this provider.")
    )
    lanes_per_model = models.PositiveSmallIntegerField(
        _("of these per model"),
        null=True,
        blank=True,
        validators=AT_LEAST_ONE,
        help_text=_("Running at once on one model. Empty: as many as there are lanes."),
    )
    max_waiting = models.PositiveSmallIntegerField(
        _("places in line"),
        default=8,
        help_text=_("Waiting at once, all models together; one more is refused."),
    )
    wait_timeout_s = models.PositiveIntegerField(
        _("longest wait, s"), validators=AT_LEAST_ONE, help_text=_("Who has waited this long is refused.")
    )
    run_timeout_s = models.PositiveIntegerField(
        _("longest run, s"),
        validators=AT_LEAST_ONE,
        help_text=_("A call that runs longer is stopped; must exceed the adapter's own limit."),
    )
    burst = models.PositiveSmallIntegerField(
        _("burst"),
        default=1,
        validators=AT_LEAST_ONE,
        help_text=_("1: starts are evenly spaced. More: so many may start together."),
    )
    guard_ms = models.PositiveIntegerField(
        _("guard, ms"), default=50, help_text=_("Lengthens every window, against jitter on the way.")
    )
    charge_rule = models.CharField(
        _("how tokens are charged"),
        max_length=20,
        choices=choices(CHARGE_RULES),
        default=ChargeRule.RESERVE_AND_SETTLE,
    )
    fair_by = models.CharField(_("who goes next"), max_length=10, choices=choices(FAIRNESS), default=FairBy.USER)
    on_brief_refusal = models.CharField(
        _("when refused briefly"),
        max_length=10,
        choices=choices(BRIEF_REFUSALS),
        default=OnBriefRefusal.WAIT_ONCE,
    )
    on_disconnect = models.CharField(
        _("when the caller leaves"), max_length=10, choices=choices(DISCONNECTS), default=OnDisconnect.CANCEL
    )
    drain_s = models.PositiveIntegerField(
        _("read on for, s"),
        null=True,
        blank=True,
        validators=AT_LEAST_ONE,
        help_text=_("Only when reading on."),
    )
    brief_default_s = models.PositiveIntegerField(
        _("brief refusal without a time, s"), default=1, validators=AT_LEAST_ONE
    )
    used_up_default_s = models.PositiveIntegerField(
        _("used up without a time, s"), default=600, validators=AT_LEAST_ONE
    )
    adaptive = models.BooleanField(
        _("adaptive"),
        default=False,
        help_text=_("Slow down on refusals and speed up again, below the limits."),
    )
    answer_cap = models.BooleanField(
        _("cap answer length"),
        default=False,
        help_text=_("Lower a far too large max_tokens to what answers of this model need."),
    )
    answer_cap_streams = models.BooleanField(_("cap streams too"), default=False)
    note = models.TextField(_("note"), blank=True)

    class Meta:
        verbose_name = _("lane profile")
        verbose_name_plural = _("lane profiles")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        clean_figures(self, lanes=self.lanes)


class ModelOverride(models.Model):
    """Figures of one model that differ from its provider's profile; null = the profile's.

    `lanes` and `max_waiting` are not here: they count a whole provider, a model has `lanes_per_model`.
    """

    FIGURES = (
        "lanes_per_model",
        "wait_timeout_s",
        "run_timeout_s",
        "burst",
        "guard_ms",
        "charge_rule",
        "fair_by",
        "on_brief_refusal",
        "on_disconnect",
        "drain_s",
        "brief_default_s",
        "used_up_default_s",
        "adaptive",
        "answer_cap",
        "answer_cap_streams",
    )

    profile = models.ForeignKey(
        LaneProfile, verbose_name=_("lane profile"), on_delete=models.CASCADE, related_name="overrides"
    )
    model = models.OneToOneField(
        "providers.Model", verbose_name=_("model"), on_delete=models.CASCADE, related_name="lane_override"
    )
    lanes_per_model = models.PositiveSmallIntegerField(
        _("at once"),
        null=True,
        blank=True,
        validators=AT_LEAST_ONE,
        help_text=_("Running at once on this model."),
    )
    wait_timeout_s = models.PositiveIntegerField(_("longest wait, s"), null=True, blank=True, validators=AT_LEAST_ONE)
    run_timeout_s = models.PositiveIntegerField(_("longest run, s"), null=True, blank=True, validators=AT_LEAST_ONE)
    burst = models.PositiveSmallIntegerField(_("burst"), null=True, blank=True, validators=AT_LEAST_ONE)
    guard_ms = models.PositiveIntegerField(_("guard, ms"), null=True, blank=True)
    charge_rule = models.CharField(  # noqa: DJ001 - null = the profile's, "" is no rule
        _("how tokens are charged"), max_length=20, choices=choices(CHARGE_RULES), null=True, blank=True
    )
    fair_by = models.CharField(  # noqa: DJ001
        _("who goes next"), max_length=10, choices=choices(FAIRNESS), null=True, blank=True
    )
    on_brief_refusal = models.CharField(  # noqa: DJ001
        _("when refused briefly"), max_length=10, choices=choices(BRIEF_REFUSALS), null=True, blank=True
    )
    on_disconnect = models.CharField(  # noqa: DJ001
        _("when the caller leaves"), max_length=10, choices=choices(DISCONNECTS), null=True, blank=True
    )
    drain_s = models.PositiveIntegerField(_("read on for, s"), null=True, blank=True, validators=AT_LEAST_ONE)
    brief_default_s = models.PositiveIntegerField(
        _("brief refusal without a time, s"), null=True, blank=True, validators=AT_LEAST_ONE
    )
    used_up_default_s = models.PositiveIntegerField(
        _("used up without a time, s"), null=True, blank=True, validators=AT_LEAST_ONE
    )
    adaptive = models.BooleanField(_("adaptive"), null=True, blank=True)
    answer_cap = models.BooleanField(_("cap answer length"), null=True, blank=True)
    answer_cap_streams = models.BooleanField(_("cap streams too"), null=True, blank=True)

    class Meta:
        verbose_name = _("model override")
        verbose_name_plural = _("model overrides")
        ordering = ["profile", "model"]

    def __str__(self) -> str:
        return f"{self.profile}: {self.model}"

    def clean(self) -> None:
        if self.model_id and self.model.provider.lane_profile_id != self.profile_id:
            raise ValidationError({"model": _("This model's provider has another lane profile.")})
        clean_figures(self, lanes=self.profile.lanes)


def clean_figures(row: LaneProfile | ModelOverride, *, lanes: int | None) -> None:
    """What must hold between a profile's (or override's) figures; each error names its field."""
    errors: dict[str, Any] = {}
    if lanes and row.lanes_per_model is not None and row.lanes_per_model > lanes:
        errors["lanes_per_model"] = _("Not more than the provider's %d lanes.") % lanes
    if row.on_disconnect == OnDisconnect.DRAIN and row.drain_s is None:
        errors["drain_s"] = _("Say for how long to read on.")
    if row.answer_cap_streams and row.answer_cap is False:
        errors["answer_cap_streams"] = _("Only together with “cap answer length”.")
    if errors:
        raise ValidationError(errors)


STRETCHES = {1: _("second"), 60: _("minute"), 3_600: _("hour"), 86_400: _("24 hours")}


class LaneWindow(models.Model):
    """So many of something in so long."""

    profile = models.ForeignKey(
        LaneProfile, verbose_name=_("lane profile"), on_delete=models.CASCADE, related_name="windows"
    )
    model_override = models.ForeignKey(
        ModelOverride,
        verbose_name=_("model override"),
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="windows",
    )
    limit = models.PositiveBigIntegerField(_("at most"), validators=AT_LEAST_ONE)
    measure = models.CharField(_("of"), max_length=20, choices=choices(MEASURES))
    kind = models.CharField(_("counted"), max_length=10, choices=choices(WINDOW_KINDS), default=WindowKind.SLIDING)
    window_s = models.PositiveIntegerField(_("seconds"), null=True, blank=True, default=60, validators=AT_LEAST_ONE)
    period = models.CharField(_("calendar"), max_length=5, choices=PERIODS, blank=True)
    zone = models.CharField(_("time zone"), max_length=64, blank=True, help_text=_("e.g. America/Los_Angeles"))
    scope = models.CharField(_("per"), max_length=10, choices=choices(WINDOW_SCOPES), default=Scope.MODEL)
    mode = models.CharField(_("mode"), max_length=10, choices=choices(WINDOW_MODES), default=WindowMode.ENFORCED)
    slice_s = models.PositiveSmallIntegerField(
        _("slice, s"),
        null=True,
        blank=True,
        validators=AT_LEAST_ONE,
        help_text=_("The provider also judges this shorter stretch, e.g. 1 second of a minute."),
    )

    class Meta:
        verbose_name = _("window")
        verbose_name_plural = _("windows")
        ordering = ["profile", "pk"]

    def __str__(self) -> str:
        return f"{self.limit:,} {self.get_measure_display()} / {self.stretch()}"

    def stretch(self) -> str:
        """How long it is, as a person says it."""
        if self.kind == WindowKind.CALENDAR:
            return self.get_period_display()
        return str(STRETCHES.get(self.window_s or 0) or f"{self.window_s} s")

    def clean(self) -> None:
        errors = self._calendar_errors() if self.kind == WindowKind.CALENDAR else self._stretch_errors()
        if errors:
            raise ValidationError(errors)

    def _calendar_errors(self) -> dict[str, Any]:
        errors: dict[str, Any] = {}
        if not self.period:
            errors["period"] = _("Say which period.")
        if self.zone not in available_timezones():
            errors["zone"] = _("Name a time zone, e.g. America/Los_Angeles.")
        return errors

    def _stretch_errors(self) -> dict[str, Any]:
        if not self.window_s:
            return {"window_s": _("Say how many seconds.")}
        if self.slice_s is not None and self.slice_s >= self.window_s:
            return {"slice_s": _("Shorter than the window itself.")}
        return {}
