"""Children under supervision: real small processes, a clock that is not waited for where it can be helped."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from relay_project.server.children import READY_FD, ChildSpec
from relay_project.server.errors import ChildDied, PortInUse
from relay_project.server.listening import listen, reserve_port
from relay_project.server.supervisor import Supervisor
from relay_project.server.system_check import explain
from scheduling.clock import SystemClock

pytestmark = pytest.mark.served

APPEND = "import sys; open(sys.argv[1], 'a').write('x')"
ANNOUNCE = f"import os, time; os.write(int(os.environ['{READY_FD}']), b'ready'); time.sleep(60)"
IGNORE_TERM = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {ANNOUNCE}"
WITH_GRANDCHILD = (
    "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']);"
    f"open(sys.argv[1], 'w').write(str(child.pid)); {ANNOUNCE}"
)


def python(code: str, *arguments: object, announces: bool = False, stop_within_s: float = 5) -> ChildSpec:
    argv = (sys.executable, "-c", code, *map(str, arguments))
    return ChildSpec("The child", argv, announces=announces, stop_within_s=stop_within_s)


class Said(list[str]):
    async def wait_for(self, count: int) -> None:
        while len(self) < count:  # noqa: ASYNC110  a list has no event
            await asyncio.sleep(0.01)


@pytest.fixture
def said() -> Said:
    return Said()


@pytest.fixture
def supervisor(said: Said) -> Supervisor:
    return Supervisor(SystemClock(), said.append)


async def test_a_child_that_dies_is_started_again_and_later_each_time(
    supervisor: Supervisor, said: Said, tmp_path: Path
) -> None:
    await supervisor.start(python(APPEND, tmp_path / "starts"))
    supervisor.keep_all()
    await said.wait_for(3)
    await supervisor.stop()
    assert said == [
        "The child ended with exit code 0; starting it again in 0.5 s",
        "The child ended with exit code 0; starting it again in 1 s",
        "The child ended with exit code 0; starting it again in 2 s",
    ]
    assert (tmp_path / "starts").read_text() == "xxx"


async def test_a_stop_does_not_wait_for_a_pause_to_end(supervisor: Supervisor, said: Said, tmp_path: Path) -> None:
    await supervisor.start(python(APPEND, tmp_path / "starts"))
    supervisor.keep_all()
    await said.wait_for(2)
    await asyncio.wait_for(supervisor.stop(), 0.5)


async def test_a_child_that_announces_itself_is_waited_for(supervisor: Supervisor) -> None:
    await asyncio.wait_for(supervisor.start(python(ANNOUNCE, announces=True)), 5)
    await supervisor.stop()


async def test_a_child_that_ends_before_it_is_ready_fails_the_start(supervisor: Supervisor) -> None:
    with pytest.raises(ChildDied, match="The child ended with exit code 7 while the relay was starting"):
        await supervisor.start(python("raise SystemExit(7)", announces=True))
    await supervisor.stop()


async def test_a_child_deaf_to_the_stop_is_killed_after_its_time(supervisor: Supervisor, said: Said) -> None:
    await supervisor.start(python(IGNORE_TERM, announces=True, stop_within_s=0.2))
    await asyncio.wait_for(supervisor.stop(), 3)
    assert said == ["The child has not stopped within 0.2 s; killing it"]


async def test_what_a_child_has_started_ends_with_it(supervisor: Supervisor, tmp_path: Path) -> None:
    await supervisor.start(python(WITH_GRANDCHILD, tmp_path / "pid", announces=True))
    grandchild = int((tmp_path / "pid").read_text())
    await supervisor.stop()
    assert _gone(grandchild)


async def test_the_last_started_are_stopped_first(supervisor: Supervisor, tmp_path: Path) -> None:
    note = f"import signal, sys; signal.signal(signal.SIGTERM, lambda *_: ({APPEND.partition('; ')[2]}, exit()));"
    store = note.replace("'x'", "'store '") + ANNOUNCE
    server = note.replace("'x'", "'server '") + ANNOUNCE
    await supervisor.start(python(store, tmp_path / "ends", announces=True))
    await supervisor.start(python(server, tmp_path / "ends", announces=True))
    await supervisor.stop()
    assert (tmp_path / "ends").read_text() == "server store "


def test_a_child_does_not_outlive_a_killed_supervisor(tmp_path: Path) -> None:
    parent = (
        "import asyncio, sys\n"
        "from relay_project.server.children import ChildSpec, spawn\n"
        "async def main():\n"
        "    child = await spawn(ChildSpec('sleeper', (sys.executable, '-c', 'import time; time.sleep(60)')))\n"
        "    print(child.pid, flush=True)\n"
        "    await child.wait()\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        process.kill()
    assert _gone(child)


def test_a_port_that_somebody_listens_on_is_refused_by_name() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortInUse, match=rf"Port {port} .* is in use.*PORT={port + 1}"):
            reserve_port("127.0.0.1", port)


def test_processes_may_listen_on_the_port_that_is_reserved_for_them() -> None:
    with reserve_port("127.0.0.1", 0) as reserved:
        port = reserved.getsockname()[1]
        with listen("127.0.0.1", port), listen("127.0.0.1", port):
            socket.create_connection(("127.0.0.1", port)).close()
        with pytest.raises(ConnectionRefusedError):  # what is only reserved takes no connection
            socket.create_connection(("127.0.0.1", port))


def test_a_missing_system_library_is_named() -> None:
    message = "libffi.so.8: cannot open shared object file: No such file or directory"
    assert explain("ctypes", message) == (
        "A system library is missing: libffi.so.8, needed by ctypes (Debian, Ubuntu: apt-get install libffi8)."
    )
    assert explain("psycopg", "no pq wrapper available") == "psycopg cannot be loaded: no pq wrapper available"


def _gone(pid: int, within_s: float = 3) -> bool:
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    return False
