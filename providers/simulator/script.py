"""Directives queued from outside for the next requests, where the caller (a relay) cannot send a header."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from providers.simulator.directives import Behaviour, DirectiveError, apply


@dataclass(slots=True)
class Scene:
    """`set` holds for the next `times` requests (None = for all) that go to `path` and `model` (None = any)."""

    set: str
    path: str | None = None
    model: str | None = None
    times: int | None = 1

    def fits(self, path: str, model: str) -> bool:
        return self.path in {None, path} and self.model in {None, model} and self.times != 0


class Script:
    def __init__(self) -> None:
        self._scenes: list[Scene] = []

    def add(self, document: Any) -> None:
        """`{"set": "fault=…", "path": …, "model": …, "times": …}`. Raises DirectiveError."""
        try:
            scene = Scene(**document)
        except TypeError as error:
            raise DirectiveError(f"a scene is {{set, path, model, times}}: {error}") from error
        apply(Behaviour(), scene.set)
        self._scenes.append(scene)

    def take(self, path: str, model: str) -> str:
        """The directives for this request; the first scene that fits is used up by one."""
        scene = next((scene for scene in self._scenes if scene.fits(path, model)), None)
        if scene is None:
            return ""
        if scene.times is not None:
            scene.times -= 1
            self._scenes = [scene for scene in self._scenes if scene.times != 0]
        return scene.set

    def clear(self) -> None:
        self._scenes.clear()

    def report(self) -> list[dict[str, Any]]:
        return [asdict(scene) for scene in self._scenes]
