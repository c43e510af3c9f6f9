"""Faults below or inside HTTP, read: exception → `Fault` → `Refusal`. Pure.

Exceptions are known by their name ("aiohttp.ServerDisconnectedError"), so this file imports neither library;
a test walks every exception class of both and proves that each finds its row, and that no row is without a
class. Texts of the libraries are never passed on: they carry whole URLs, and a URL may carry a key.
"""

from __future__ import annotations

from collections.abc import Iterator

from .contract import Refusal, RefusalKind, UpstreamFault
from .fault_tables import (
    FAULT_BY_CLASS,
    FAULT_BY_ERRNO,
    NEVER_SENT,
    SENTENCES,
    STALE_SIGNS,
    TIMEOUTS,
    Fault,
)

__all__ = [
    "FAULT_BY_CLASS",
    "STALE_SIGNS",
    "TIMEOUTS",
    "Fault",
    "TransportFault",
    "read_fault",
    "upstream_fault",
    "was_sent",
]


class TransportFault(UpstreamFault):
    """An `UpstreamFault` that knows which."""

    def __init__(self, fault: Fault, refusal: Refusal) -> None:
        super().__init__(refusal, safe_to_resend=fault is Fault.STALE_CONNECTION)
        self.fault = fault


def read_fault(exc: BaseException) -> Fault:
    """Name what happened; the outermost error that says something decides. Total: never raises."""
    known = next((error.fault for error in _chain(exc) if isinstance(error, TransportFault)), None)
    if known is not None:
        return known
    for error in _chain(exc):
        fault = _row(type(error)) or FAULT_BY_ERRNO.get(getattr(error, "errno", None) or 0)
        if fault is not None:
            return fault
    return _unspecific(exc)


def upstream_fault(fault: Fault, *, origin: str, exc: BaseException | None = None) -> TransportFault:
    """Dress a fault for the relay. `origin` is scheme, host and port: never the whole URL."""
    kind = RefusalKind.TIMEOUT if fault in TIMEOUTS else RefusalKind.SERVER_ERROR
    evidence = f"{fault}: {_class_names(exc)}" if exc is not None else str(fault)
    message = f"{SENTENCES[fault]} ({origin}{_certificate_reason(exc)})"
    return TransportFault(fault, Refusal(kind, evidence=evidence, message=message))


def was_sent(refusal: Refusal) -> bool:
    """Did anything of the request leave this machine? Certain only where a fault says that nothing did."""
    return refusal.status is not None or refusal.evidence.partition(":")[0] not in NEVER_SENT


def name_of(cls: type[BaseException]) -> str:
    """A class as the table names it: top package and class, wherever the package keeps it."""
    return f"{cls.__module__.partition('.')[0]}.{cls.__qualname__}"


def _row(cls: type[BaseException]) -> Fault | None:
    for base in cls.__mro__:
        name = name_of(base)
        if name in FAULT_BY_CLASS:
            return FAULT_BY_CLASS[name]
    return None


def _chain(exc: BaseException) -> Iterator[BaseException]:
    """The error and what it was raised from, outermost first; bounded, since causes may go in a circle."""
    error: BaseException | None = exc
    for _ in range(8):
        if error is None:
            return
        yield error
        error = getattr(error, "os_error", None) or error.__cause__


def _unspecific(exc: BaseException) -> Fault:
    """A wrapper that wraps nothing we know."""
    names = {name_of(base) for base in type(exc).__mro__}
    if names & {"aiohttp.ClientConnectorError", "httpx.ConnectError"}:
        return Fault.UNREACHABLE
    if names & {"aiohttp.ClientResponseError", "aiohttp.HttpProcessingError"}:
        return Fault.GARBLED
    if isinstance(exc, OSError) or names & {"httpx.NetworkError"}:
        return Fault.RESET
    return Fault.OTHER


def _class_names(exc: BaseException) -> str:
    return " < ".join(type(error).__name__ for error in _chain(exc))


def _certificate_reason(exc: BaseException | None) -> str:
    """What OpenSSL found wrong with the certificate; it names no URL."""
    for error in _chain(exc) if exc is not None else ():
        if reason := getattr(error, "verify_message", None):
            return f", {reason}"
    return ""
