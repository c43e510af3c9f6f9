"""Money typed in US dollars, kept in whole microusd."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from unfold.widgets import UnfoldAdminDecimalFieldWidget

MICROUSD_PER_USD = 1_000_000


class DollarField(forms.DecimalField):
    """Shows and takes US dollars with up to six decimals; its cleaned value is int microusd, or None."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("widget", UnfoldAdminDecimalFieldWidget(attrs={"step": "any", "min": "0"}))
        super().__init__(min_value=0, max_digits=15, decimal_places=6, required=False, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return f"{(Decimal(value) / MICROUSD_PER_USD).normalize():f}" if isinstance(value, int) else value

    def clean(self, value: Any) -> Any:
        dollars = super().clean(value)
        return None if dollars is None else int(dollars * MICROUSD_PER_USD)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return super().has_changed(None if initial is None else Decimal(initial) / MICROUSD_PER_USD, data)
