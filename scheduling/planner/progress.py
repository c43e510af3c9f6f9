"""A bar on a terminal; silent where there is none."""

from __future__ import annotations

from types import TracebackType
from typing import Final, Self, TextIO

CELLS: Final = 30


class ProgressBar:
    """`parts` equal parts, one after the other; each goes from 0 to 1."""

    def __init__(self, stream: TextIO, parts: int) -> None:
        self._stream = stream
        self._parts = parts
        self._begun = 0
        self._name = ""
        self._drawn = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._draw("")

    def begin(self, name: str) -> None:
        self._begun += 1
        self._name = name
        self.show(0.0)

    def show(self, share: float) -> None:
        whole = (self._begun - 1 + min(share, 1.0)) / self._parts
        full = int(CELLS * whole)
        self._draw(f"{'█' * full}{'░' * (CELLS - full)} {whole:4.0%}  {self._name}")

    def _draw(self, line: str) -> None:
        if line == self._drawn or not self._stream.isatty():
            return
        self._stream.write(f"\r{line.ljust(len(self._drawn))}\r{line}")
        self._stream.flush()
        self._drawn = line
