"""A name → candidates in order. Pure, over one version of the configuration."""

from __future__ import annotations

from dataclasses import dataclass

from relay_project.errors import LeftOut, NoSuchModel, NothingToTry
from relay_project.snapshot import Configuration, ModelEntry, ProviderEntry, RoleEntry


@dataclass(frozen=True, slots=True)
class Candidate:
    provider: ProviderEntry
    model: ModelEntry


@dataclass(frozen=True, slots=True)
class Resolved:
    role: str  # "" where the caller named a model
    candidates: tuple[Candidate, ...]
    left_out: tuple[LeftOut, ...]


def resolve(configuration: Configuration, name: str) -> Resolved:
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
    return Resolved(role.name if role else "", tuple(candidates), tuple(left_out))


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
