"""Being there: under the store's epoch, and in what outlives the store. And saying there what this process holds."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from typing import Final

import structlog

from scheduling.backends.valkey import wire
from scheduling.backends.valkey.epoch import EpochKeeper, EpochUnknown
from scheduling.backends.valkey.holding import Holding
from scheduling.backends.valkey.layout import Message, lay_out
from scheduling.backends.valkey.link import Link
from scheduling.clock import SECOND_US, Clock
from scheduling.core.moment import Moment
from scheduling.core.spec import SchedulerSpec

log = structlog.get_logger(__name__)

LEASE_US: Final = 10 * SECOND_US
JOIN_EVERY_S: Final = 3600.0


class Attendance:
    """`sign`: makes a message one of this process."""

    def __init__(
        self, link: Link, keeper: EpochKeeper, clock: Clock, holding: Holding, sign: Callable[[Message], Message]
    ) -> None:
        self._link = link
        self._keeper = keeper
        self._clock = clock
        self._holding = holding
        self._sign = sign
        self.spec: SchedulerSpec | None = None

    async def come_up(self, take: Callable[[Message], None]) -> None:
        """Connect, and say what is configured and held to a store that may not know it; `take` gets the answers.

        Raises `LinkDown`, `CallFailed`, `OtherSchema`, `EpochUnknown`."""
        run_id = await self._link.connect()
        epoch = await self._found()
        if self.spec is not None:
            take(await self._call("configure", {"spec": lay_out(self.spec, self._clock.wall_us())}))
        take(await self._call("announce", self._holding.announcement(run_id, self._now())))
        if epoch != self._holding.epoch:
            for closure in self._holding.closures(self._now()):
                take(await self._call("close", wire.closure_message(closure, self._now())))
        self._holding.epoch = epoch

    async def stay(self) -> None:
        """Say that it is there again and again, until cancelled."""
        while True:
            await self._clock.sleep(JOIN_EVERY_S)
            try:
                await self._keeper.join(self._holding.box)
            except EpochUnknown as error:
                log.warning("not_joined", trouble=str(error))

    async def leave(self) -> None:
        try:
            await self._keeper.leave(self._holding.box)
        except EpochUnknown as error:
            log.warning("not_left", trouble=str(error))

    async def _found(self) -> str:
        """The store's epoch. If it has none, a new one begins: a first start, if there never was one; else a recovery,
        in which whoever was there is waited for."""
        known = await self._keeper.read()
        missing = None if known is None else sorted(known.boxes - {self._holding.box})
        answer = await self._call("found", _founding(missing))
        epoch: str = answer["epoch"]
        if answer["founded"] and missing is not None:
            log.error("store_forgot", missing=len(missing))
        if known is None or known.id != epoch:
            await self._keeper.write(epoch)
        await self._keeper.join(self._holding.box)
        return epoch

    async def _call(self, verb: str, message: Message) -> Message:
        return await self._link.call(verb, self._sign(message))

    def _now(self) -> Moment:
        return Moment(self._clock.now_us(), self._clock.wall_us())


def _founding(missing: Iterable[str] | None) -> Message:
    message: Message = {"epoch": uuid.uuid4().hex, "lease_us": LEASE_US, "offers": True}
    return message if missing is None else {**message, "missing": list(missing)}
