"""What a wire dialect gives the simulator: reading a request, and answering it by a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from providers.simulator.directives import Behaviour
from providers.simulator.plan import Headers, Plan, Reply
from providers.simulator.request import Request


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The models there are. Without a list of its own, every name that starts with `sim` is served."""

    names: tuple[str, ...] = ("sim-small", "sim-large", "sim/vision:latest", "sim with spaces")
    open: bool = True

    def serves(self, model: str) -> bool:
        return model in self.names or (self.open and model.startswith("sim"))


@dataclass(frozen=True, slots=True)
class Stamp:
    """What makes one answer this one: its number, the wall clock, and headers that go with every answer."""

    number: int
    created_s: int
    headers: Headers


@dataclass(frozen=True, slots=True)
class Call:
    """A request that is understood. `answer` makes its plan; `counted` says whether limits apply to it."""

    answer: Callable[[Stamp], Plan]
    counted: bool = False
    stream: bool = False
    prompt_tokens: int = 0
    cap_tokens: int | None = None
    code_word: str = ""


class Dialect(Protocol):
    name: str
    faults: Mapping[str, str]  # its own faults, name → what they do

    def model_of(self, request: Request) -> str:
        """The model as named by the caller, directives and all; empty where the request names none."""

    def read(self, request: Request, model: str, behaviour: Behaviour, catalogue: Catalogue) -> Call | Reply:
        """The call, or the refusal that a provider of this dialect sends. `model` is without directives."""

    def wrong_key(self, key: str | None) -> Reply: ...

    def misdirected(self, text: str) -> Reply:
        """A directive of the simulator's own that it cannot follow."""
