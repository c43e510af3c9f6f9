"""The journal's files. Each process has a folder of its own, holds a lock on it while it lives, and appends
to numbered segments in it; a segment goes when all that it says is in the database, so files do not grow for
ever.

The lock is `flock` on the folder itself: the kernel drops it when the process ends, however it ends, and
keeps it while the process is merely stopped. A folder is made under a hidden name, locked, then renamed, so
that nobody ever sees a live process's folder unlocked. The folder must be on a local disk.
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class JournalClosed(Exception):
    """Something was said after the journal had been closed: a bug in the order of shutting down."""


class Journal:
    """The journal of this process. `append` may be called from any thread."""

    def __init__(self, folder: Path, name: str, segment_bytes: int) -> None:
        """Raises OSError where the folder cannot be made or written."""
        self.path, self._lock_fd = _claim(folder, name)
        self.segment = 0  # the number of the segment written to
        self._segment_bytes = segment_bytes
        self._sizes: dict[int, int] = {}
        self.held_bytes = 0  # what the segments take on the disk
        self._fd = -1
        self._torn = False
        self._mutex = threading.Lock()
        self._next_segment()

    @property
    def closed(self) -> bool:
        return self._fd < 0

    def append(self, line: bytes) -> None:
        """Write one whole line. Raises OSError where the disk will not take it; then nothing is said."""
        with self._mutex:
            if self.closed:
                raise JournalClosed(self.path.name)
            if self._sizes[self.segment] >= self._segment_bytes:
                self._next_segment()
            self._write(b"\n" + line if self._torn else line)

    def _write(self, line: bytes) -> None:
        written = os.write(self._fd, line)
        self._sizes[self.segment] += written
        self.held_bytes += written
        self._torn = written < len(line)  # the next line starts anew, the piece is skipped when read
        if self._torn:
            raise OSError(errno.ENOSPC, "the disk took only a part of a journal line")

    def remove_segment(self, number: int) -> None:
        with self._mutex:
            segment_path(self.path, number).unlink()
            self.held_bytes -= self._sizes.pop(number)

    def close(self, *, remove: bool) -> None:
        """Let go of the journal; with `remove`, it has nothing left to say."""
        with self._mutex:
            if self.closed:
                return
            os.close(self._fd)
            self._fd = -1
            if remove:
                remove_journal(self.path)
            os.close(self._lock_fd)

    def _next_segment(self) -> None:
        path = segment_path(self.path, self.segment + 1)
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)
        if not self.closed:
            os.close(self._fd)
        self._fd, self._torn = fd, False
        self._sizes[self.segment + 1] = 0
        self.segment += 1  # last: a reader that sees the new number finds the old segment finished


def segment_path(journal: Path, number: int) -> Path:
    return journal / f"{number:08}.jsonl"


def segment_paths(journal: Path) -> list[Path]:
    """Oldest first."""
    return sorted(journal.glob("*.jsonl"))


def read_lines(path: Path, offset: int, at_most: int) -> tuple[list[bytes], int]:
    """Up to `at_most` whole lines from `offset`, and the offset after them.

    A torn last line is left where it is.
    """
    lines: list[bytes] = []
    with path.open("rb") as file:
        file.seek(offset)
        for line in itertools.islice(file, at_most):
            if not line.endswith(b"\n"):
                break
            lines.append(line)
            offset += len(line)
    return lines, offset


def remove_journal(journal: Path) -> None:
    """Oldest first: killed half-way, no intent is left behind without its result."""
    for path in segment_paths(journal):
        path.unlink()
    journal.rmdir()


def journals(folder: Path) -> list[Path]:
    """Every process's journal, live and dead."""
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


@contextmanager
def lock_if_dead(journal: Path) -> Iterator[bool]:
    """Hold a journal whose process has ended; False where somebody lives in it or has cleared it away."""
    try:
        fd = os.open(journal, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        yield False
        return
    try:
        yield _try_lock(fd) and journal.exists()
    finally:
        os.close(fd)


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _claim(folder: Path, name: str) -> tuple[Path, int]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    hidden = folder / f".{name}"
    hidden.mkdir(mode=0o700)
    fd = os.open(hidden, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return hidden.rename(folder / name), fd
