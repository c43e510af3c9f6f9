"""What usage comes to: tokens and money."""

from __future__ import annotations

from dataclasses import fields

from providers.contract import Usage
from relay_project.snapshot import ModelEntry


def sum_of(usage: Usage) -> int | None:
    if usage.prompt_tokens is None and usage.completion_tokens is None:
        return None
    return (usage.prompt_tokens or 0) + (usage.completion_tokens or 0)


def cost_microusd(model: ModelEntry, usage: Usage) -> int | None:
    """Whole microusd, rounded up; None where a price or a count is not known."""
    prices = (model.input_microusd_per_mtok, model.output_microusd_per_mtok)
    if None in prices or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    cached = min(usage.cached_prompt_tokens or 0, usage.prompt_tokens)
    cached_price = model.cached_input_microusd_per_mtok
    input_price, output_price = prices[0] or 0, prices[1] or 0
    total = (
        (usage.prompt_tokens - cached) * input_price
        + cached * (input_price if cached_price is None else cached_price)
        + usage.completion_tokens * output_price
    )
    return -(-total // 1_000_000)


def added(usage: Usage, other: Usage | None) -> Usage:
    """The tokens of both; a count that only one of them tells is that one's."""
    if other is None:
        return usage
    return Usage(**{one.name: _both(getattr(usage, one.name), getattr(other, one.name)) for one in fields(Usage)})


def _both(one: int | None, other: int | None) -> int | None:
    return one if other is None else other + (one or 0)
