"""Figures drawn by chance, from a range of the file. Every draw comes from a generator made from the seed."""

from __future__ import annotations

from random import Random

from scheduling.planner.timeline import in_us


def generator(seed: int, purpose: str) -> Random:
    """One for each purpose, so that what one part draws does not change what another does."""
    return Random(f"{seed}/{purpose}")  # noqa: S311 - a simulation, to be repeated


def draw_us(span_s: float | tuple[float, ...], rng: Random) -> int:
    """Microseconds from seconds, or from between two."""
    return in_us(rng.uniform(span_s[0], span_s[1]) if isinstance(span_s, tuple) else span_s)


def draw_whole(span: int | tuple[int, ...], rng: Random) -> int:
    return rng.randint(span[0], span[1]) if isinstance(span, tuple) else span
