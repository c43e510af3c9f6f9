"""Why a relay cannot be started. Each says what to do.

CannotStart
├── PortInUse          somebody listens there
├── FolderTaken        another relay works in the data folder
├── ValkeyUnavailable  the embedded Valkey is not there or does not start
├── ChildDied          a process ended while it was being started
└── DatabaseNotReady   a migration failed
"""

from __future__ import annotations


class CannotStart(Exception):
    """The message is for a person."""


class PortInUse(CannotStart):
    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"Port {port} of {host} is in use. Stop what uses it, or set PORT to another one: PORT={port + 1} make run"
        )


class FolderTaken(CannotStart):
    def __init__(self, data_dir: object) -> None:
        super().__init__(f"Another relay works in {data_dir}. Stop it, or choose another folder with --data-dir.")


class ValkeyUnavailable(CannotStart):
    pass


class ChildDied(CannotStart):
    def __init__(self, how: str) -> None:
        super().__init__(f"{how} while the relay was starting; its message is above.")


class DatabaseNotReady(CannotStart):
    pass
