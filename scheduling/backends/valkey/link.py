"""The connection to the store: calls of the library, many in one round trip, and the records for a picture.

A call that was sent and not answered may have been done or not: whoever sent it finds out (`sender.py`), nothing here
sends anything twice.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import BusyLoadingError, RedisError, ResponseError

from scheduling.backends.valkey.layout import Message
from scheduling.backends.valkey.library import SCHEMA, Library

ANSWERS_WITHIN_S: Final = 2.0
SCHEMA_HELD_S: Final = 15
LISTENS_FOR_S: Final = 30.0
Fields = Mapping[bytes, bytes]


class LinkDown(Exception):
    """The store does not answer, or not as the store we know."""


class OtherSchema(Exception):
    """Processes of another release, that keep other records, are at work in this store."""

    def __init__(self, found: str) -> None:
        super().__init__(f"the store is in use by schema {found}; this release has schema {SCHEMA}")


class CallFailed(Exception):
    """The store answered that this call went wrong."""


class Link:
    def __init__(self, url: str, namespace: str, library: Library) -> None:
        self._redis: Redis = Redis.from_url(
            url,
            socket_timeout=ANSWERS_WITHIN_S,
            socket_connect_timeout=ANSWERS_WITHIN_S,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )
        self._library = library
        self._schema_key = f"{{{namespace}}}:schema"
        self.prefix = f"{{{namespace}}}:{SCHEMA}:"

    async def connect(self) -> str:
        """Make sure the library is there. Returns the server's run id. Raises `LinkDown`, `OtherSchema`."""
        try:
            await self._load()
            await self._claim_schema()
            return str((await self._redis.info("server"))["run_id"])
        except (RedisError, OSError) as error:
            raise LinkDown(str(error)) from error

    async def close(self) -> None:
        await self._redis.aclose()

    async def call(self, verb: str, message: Message) -> Message:
        """One call. Raises `LinkDown`, `CallFailed`."""
        (answer,) = await self.send([(verb, message)])
        if isinstance(answer, CallFailed):
            raise answer
        return answer

    async def send(self, calls: Sequence[tuple[str, Message]]) -> list[Message | CallFailed]:
        """All in one round trip, in order; one that goes wrong is answered by its error. Raises `LinkDown`."""
        pipeline = self._redis.pipeline(transaction=False)
        for verb, message in calls:
            pipeline.fcall(self._library.function(verb), 1, self.prefix, msgspec.msgpack.encode(message))
        try:
            answers = await pipeline.execute(raise_on_error=False)
        except (RedisError, OSError) as error:
            raise LinkDown(str(error)) from error
        return [_message(answer) for answer in answers]

    async def _claim_schema(self) -> None:
        """Say which schema is at work here; every poll says it again."""
        await self._redis.set(self._schema_key, SCHEMA, nx=True, ex=SCHEMA_HELD_S)
        found = await self._redis.get(self._schema_key)
        text = found.decode() if isinstance(found, bytes) else str(found)
        if text != str(SCHEMA):
            raise OtherSchema(text)

    async def records(self) -> tuple[Fields, Fields]:
        """All records and the configuration, of one moment. Raises `LinkDown`."""
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.hgetall(self.prefix + "state")
        pipeline.hgetall(self.prefix + "config")
        try:
            state, config = await pipeline.execute()
        except (RedisError, OSError) as error:
            raise LinkDown(str(error)) from error
        return state, config

    async def talks(self, conversations: Sequence[str]) -> dict[str, str]:
        """The credentials these conversations had last, as far as that is known. Raises `LinkDown`."""
        if not conversations:
            return {}
        try:
            found = await self._redis.hmget(self.prefix + "talks", list(conversations))
        except (RedisError, OSError) as error:
            raise LinkDown(str(error)) from error
        return {key: str(one, "utf-8") for key, one in zip(conversations, found, strict=True) if isinstance(one, bytes)}

    async def nudges(self, box: str) -> AsyncIterator[None]:
        """One item whenever there is mail. Ends with `LinkDown`."""
        try:
            async with self._redis.pubsub(ignore_subscribe_messages=True) as pubsub:
                await pubsub.subscribe(f"{self.prefix}nudge\x1f{box}")
                while True:
                    if await pubsub.get_message(timeout=LISTENS_FOR_S):
                        yield None
        except (RedisError, OSError) as error:
            raise LinkDown(str(error)) from error

    async def _load(self) -> None:
        try:
            await self._redis.function_load(self._library.text)
        except ResponseError as error:
            if "already exists" not in str(error):
                raise


def _message(answer: Any) -> Message | CallFailed:
    if isinstance(answer, ResponseError):
        text = str(answer)
        if isinstance(answer, BusyLoadingError) or "Function not found" in text:
            raise LinkDown(text)
        return CallFailed(text)
    if isinstance(answer, Exception):
        raise LinkDown(str(answer))
    message: Message = msgspec.msgpack.decode(answer)
    return message
