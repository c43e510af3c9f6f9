"""What a simulator is started with."""

from __future__ import annotations

from dataclasses import dataclass, field

from providers.simulator.dialects.dialect import Catalogue
from providers.simulator.directives import Behaviour
from providers.simulator.limits.settings import Ceilings, Rules

EPOCH_S = 1_790_000_000  # a wall clock for those who do not care which


@dataclass(frozen=True, slots=True)
class Options:
    """`rules` None = those of the style. `keys` empty = any key will do. `started_epoch_s` = the wall clock
    at start.
    """

    dialect: str = "openai"
    style: str = "openai"
    ceilings: Ceilings = field(default_factory=Ceilings)
    rules: Rules | None = None
    behaviour: Behaviour = field(default_factory=Behaviour)
    catalogue: Catalogue = field(default_factory=Catalogue)
    keys: frozenset[str] = frozenset()
    started_epoch_s: int = EPOCH_S
