"""A name → candidates in order. Pure, over one version of the configuration and what is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from relay_project.errors import LeftOut, NoSuchModel, NothingToTry
from relay_project.snapshot import Configuration, ModelEntry, ProviderEntry, RoleEntry

# What an answer comes to where the caller sets no lower cap, until answer lengths are learned.
TYPICAL_ANSWER_TOKENS = 500


@dataclass(frozen=True, slots=True)
class Candidate:
    provider: ProviderEntry
    model: ModelEntry


@dataclass(frozen=True, slots=True)
class Resolved:
    role: str  # "" where the caller named a model
    candidates: tuple[Candidate, ...]
    left_out: tuple[LeftOut, ...]
    patience_s: float | None = None  # how long a candidate may keep one waiting while there are others


@dataclass(frozen=True, slots=True)
class Asked:
    """What the order of a role's candidates may rest on. Callables: asked only by the strategy that needs it."""

    turn: Callable[[str], int]  # role → how many requests of it came before this one
    prompt_tokens: Callable[[], int]
    cap_tokens: int | None = None  # the caller's own


class Turns:
    """Whose turn it is in each role that goes round. One per process: processes go round each on their own."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()

    def take(self, role: str) -> int:
        """Requests of this role before this one."""
        self._taken[role] += 1
        return self._taken[role] - 1


def resolve(configuration: Configuration, name: str, asked: Asked) -> Resolved:
    """Raises `NoSuchModel`, or `NothingToTry` if every candidate is out."""
    role = configuration.roles.get(name)
    models = _models_of(configuration, role) if role is not None else _model_named(configuration, name)
    candidates, left_out = [], []
    for model in models:
        pause = _pause_of(configuration, model)
        if pause is None:
            candidates.append(Candidate(configuration.providers[model.provider], model))
        else:
            left_out.append(pause)
    if not candidates:
        raise _nothing_left(name, left_out)
    if role is None:
        return Resolved("", tuple(candidates), tuple(left_out))
    return Resolved(role.name, tuple(in_order(role, candidates, asked)), tuple(left_out), role.patience_s)


def in_order(role: RoleEntry, candidates: Sequence[Candidate], asked: Asked) -> Sequence[Candidate]:
    """The candidates as the role's strategy puts them; the given order where it has nothing to say."""
    strategy = _STRATEGIES.get(role.strategy)
    return candidates if strategy is None else strategy(role, candidates, asked)


def _round_robin(role: RoleEntry, candidates: Sequence[Candidate], asked: Asked) -> Sequence[Candidate]:
    first = asked.turn(role.name) % len(candidates)
    return [*candidates[first:], *candidates[:first]]


def _cheapest(role: RoleEntry, candidates: Sequence[Candidate], asked: Asked) -> Sequence[Candidate]:
    """By what this very request would cost; those without a price last, ties in the given order."""
    prompt_tokens = asked.prompt_tokens()
    answer_tokens = min(TYPICAL_ANSWER_TOKENS, asked.cap_tokens or TYPICAL_ANSWER_TOKENS)
    return sorted(candidates, key=lambda one: expected_microusd(one.model, prompt_tokens, answer_tokens))


def expected_microusd(model: ModelEntry, prompt_tokens: int, answer_tokens: int) -> float:
    """Infinite where a price is not known: nobody can say that it is cheap."""
    input_price, output_price = model.input_microusd_per_mtok, model.output_microusd_per_mtok
    if input_price is None or output_price is None:
        return inf
    return (prompt_tokens * input_price + answer_tokens * output_price) / 1e6


Strategy = Callable[[RoleEntry, Sequence[Candidate], Asked], Sequence[Candidate]]
_STRATEGIES: Mapping[str, Strategy] = {"round_robin": _round_robin, "cheapest": _cheapest}


def _models_of(configuration: Configuration, role: RoleEntry) -> list[ModelEntry]:
    models = (configuration.models.get(key) for key in role.candidates)
    return [model for model in models if model is not None and model.enabled]


def _model_named(configuration: Configuration, name: str) -> list[ModelEntry]:
    model = configuration.models_by_name.get(name)
    if model is None or not model.enabled:
        raise NoSuchModel(name)
    return [model]


def _pause_of(configuration: Configuration, model: ModelEntry) -> LeftOut | None:
    if configuration.scheduler is None:
        return None
    provider = configuration.scheduler.providers[model.provider]
    spec = provider.models.get(model.key)
    if provider.paused:
        return LeftOut(model.public_name, "paused", provider.pause_message)
    if spec is not None and spec.paused:
        return LeftOut(model.public_name, "paused", spec.pause_message)
    return None


def _nothing_left(name: str, left_out: list[LeftOut]) -> Exception:
    if not left_out:
        return NoSuchModel(name)
    return NothingToTry("provider_paused", left_out, model=name)
