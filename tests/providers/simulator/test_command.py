"""`manage.py simulator` as a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@contextmanager
def simulator(*flags: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, str(ROOT / "manage.py"), "simulator", *flags]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ.copy(), cwd=ROOT)
    assert process.stdout is not None
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def ask(url: str, path: str, document: object = None) -> object:
    body = None if document is None else json.dumps(document).encode()
    request = urllib.request.Request(url + path, body, {"Authorization": "Bearer k"})
    with urllib.request.urlopen(request, timeout=5) as response:
        return json.load(response)


@pytest.mark.served
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_says_where_it_listens_serves_and_ends_when_told(how):
    flags = ["--port", "0", "--rpm", "60", "--concurrency", "4", "--style", "gemini", "--ttft-ms", "5"]
    with simulator(*flags, "--answer-tokens", "3", "--models", "m1,m2", "--set", "strict=1") as (process, line):
        assert line.startswith("Simulator: http://127.0.0.1:")
        url = line.removeprefix("Simulator: ")
        answer = ask(
            url, "/v1/chat/completions", {"model": "m1", "messages": [{"role": "user", "content": "CODE-1 x"}]}
        )
        assert answer["choices"][0]["message"]["content"] == "CODE-1 2 words:"
        limits = ask(url, "/_limits")
        assert (limits["rpm"], limits["concurrency"], limits["day"]) == (60, 4, "America/Los_Angeles")
        assert [model["id"] for model in ask(url, "/v1/models")["data"]] == ["m1", "m2"]
        process.send_signal(how)
        assert process.wait(timeout=5) == 0


@pytest.mark.served
def test_a_flag_that_makes_no_sense_ends_it_with_a_sentence():
    command = [sys.executable, str(ROOT / "manage.py"), "simulator", "--day", "Mars/Olympus"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=30, check=False)
    assert done.returncode == 1
    assert "day: 'Mars/Olympus' is neither rolling nor bucket nor a time zone" in done.stderr
