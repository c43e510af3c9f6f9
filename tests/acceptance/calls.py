"""Chat calls at a served relay: one, or many at once."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tests.acceptance.served import ServedRelay

GIVE_UP_S = 110.0  # below pytest's own limit, so that a hang shows which call it was
_serial = itertools.count(1)


def new_word() -> str:
    """A code word: the simulator echoes it and writes it down; as User-Agent it finds the usage row."""
    return f"CODE-{os.getpid()}-{next(_serial)}"


@dataclass(frozen=True, slots=True)
class Ask:
    """One chat call; `members` are further members of its body."""

    model: str = "sim-small"
    stream: bool = False
    word: str = field(default_factory=new_word)
    members: Mapping[str, Any] = field(default_factory=dict)

    @property
    def body(self) -> dict[str, Any]:
        messages = [{"role": "user", "content": f"say {self.word} please"}]
        return {"model": self.model, "messages": messages, "stream": self.stream, **self.members}

    def headers(self, relay: ServedRelay) -> dict[str, str]:
        return {"Authorization": f"Bearer {relay.token}", "User-Agent": self.word, "Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Answered:
    """What came back. `broken`: the name of the error that ended it before its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    took_s: float
    word: str
    broken: str = ""

    @property
    def error(self) -> dict[str, Any]:
        error: dict[str, Any] = json.loads(self.body)["error"]
        return error

    @property
    def events(self) -> list[Any]:
        """The data of a stream's events, decoded; `[DONE]` as it is."""
        lines = [line.removeprefix("data: ") for line in self.body.decode().splitlines() if line.startswith("data:")]
        return [line if line == "[DONE]" else json.loads(line) for line in lines]

    @property
    def told(self) -> dict[str, Any] | None:
        """The error told, as the whole answer or as the last event of a stream; None for an answer without one."""
        if self.status != 200:
            return self.error
        last = self.events[-1] if self.events else None
        return last["error"] if isinstance(last, dict) and "error" in last else None

    @property
    def text(self) -> str:
        """The words of the answer, streamed or not."""
        if not self.headers["content-type"].startswith("text/event-stream"):
            return str(json.loads(self.body)["choices"][0]["message"]["content"] or "")
        choices = [event["choices"][0] for event in self.events if event != "[DONE]" and event.get("choices")]
        return "".join(choice.get("delta", {}).get("content") or "" for choice in choices)


def open_client() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=GIVE_UP_S), trust_env=False
    )


async def send(client: aiohttp.ClientSession, relay: ServedRelay, ask: Ask) -> Answered:
    """One call, to its end. Raises TimeoutError after `GIVE_UP_S`."""
    began, body, broken = time.monotonic(), bytearray(), ""
    url = f"{relay.api_url}/chat/completions"
    async with client.post(url, data=json.dumps(ask.body), headers=ask.headers(relay)) as response:
        try:
            async for chunk in response.content.iter_any():
                body += chunk
        except aiohttp.ClientPayloadError as error:
            broken = type(error).__name__
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Answered(response.status, headers, bytes(body), time.monotonic() - began, ask.word, broken)


async def send_one(relay: ServedRelay, ask: Ask) -> Answered:
    async with open_client() as client:
        return await send(client, relay, ask)


async def send_together(relay: ServedRelay, asks: Iterable[Ask]) -> list[Answered]:
    """All at once; in the order of `asks`."""
    async with open_client() as client:
        return await asyncio.gather(*(send(client, relay, ask) for ask in asks))
