"""Being there: in the store, under its epoch, and in what outlives the store."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Final

import structlog

from scheduling.backends.valkey.epoch import EpochKeeper, EpochUnknown
from scheduling.backends.valkey.layout import Message
from scheduling.backends.valkey.link import Link
from scheduling.clock import SECOND_US, Clock

log = structlog.get_logger(__name__)

LEASE_US: Final = 10 * SECOND_US
JOIN_EVERY_S: Final = 3600.0


class Attendance:
    def __init__(self, link: Link, keeper: EpochKeeper, clock: Clock, box: str) -> None:
        self._link = link
        self._keeper = keeper
        self._clock = clock
        self._box = box

    async def found(self, sign: Callable[[Message], Message]) -> str:
        """The store's epoch. If it has none, a new one begins: a first start, if there never was one; else a recovery,
        in which whoever was there is waited for. Raises `EpochUnknown`, `LinkDown`, `CallFailed`."""
        known = await self._keeper.read()
        call: Message = {"epoch": uuid.uuid4().hex, "lease_us": LEASE_US, "offers": True}
        if known is not None:
            call["missing"] = sorted(known.boxes - {self._box})
        answer = await self._link.call("found", sign(call))
        epoch: str = answer["epoch"]
        if answer["founded"] and known is not None:
            log.error("store_forgot", missing=len(call["missing"]))
        if known is None or known.id != epoch:
            await self._keeper.write(epoch)
        await self._keeper.join(self._box)
        return epoch

    async def stay(self) -> None:
        """Say so again and again, until cancelled."""
        while True:
            await self._clock.sleep(JOIN_EVERY_S)
            try:
                await self._keeper.join(self._box)
            except EpochUnknown as error:
                log.warning("not_joined", trouble=str(error))

    async def leave(self) -> None:
        try:
            await self._keeper.leave(self._box)
        except EpochUnknown as error:
            log.warning("not_left", trouble=str(error))
