"""The table of faults has a row for everything that the libraries can raise, and no row for nothing."""

from __future__ import annotations

import asyncio
import errno
import importlib
import inspect
import pkgutil
import socket
import ssl
import types
import zlib

import aiohttp
import httpx
import pytest
from aiohttp import http_exceptions

from providers import faults
from providers.contract import Refusal, RefusalKind
from providers.faults import FAULT_BY_CLASS, Fault, TransportFault, name_of, read_fault, upstream_fault, was_sent
from providers.transport.connector import TRANSPORT_ERRORS
from providers.transport.httpx_bridge import ERROR_BY_FAULT

ORIGIN = "https://api.example.com"
NO_FAULT_OF_THE_ROAD = {"aiohttp.ClientError", "httpx.HTTPError", "httpx.HTTPStatusError"}


def _modules(package: types.ModuleType) -> list[types.ModuleType]:
    found = [package]
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        try:
            found.append(importlib.import_module(info.name))
        except ImportError:
            continue  # optional parts that need packages we do not have (pytest plugin, gunicorn worker, cli)
    return found


def _exception_classes() -> list[type[BaseException]]:
    """Every exception class defined in any module of aiohttp and httpx."""
    classes = {
        cls
        for package in (aiohttp, httpx)
        for module in _modules(package)
        for _, cls in inspect.getmembers(module, inspect.isclass)
        if issubclass(cls, BaseException) and cls.__module__.partition(".")[0] in ("aiohttp", "httpx")
    }
    return sorted(classes, key=name_of)


CLASSES = _exception_classes()
ROAD = [
    cls for cls in CLASSES if issubclass(cls, (*TRANSPORT_ERRORS, httpx.HTTPError, httpx.InvalidURL, httpx.StreamError))
]


def _bare(cls: type[BaseException]) -> BaseException:
    """An instance without its constructor: only the class is to decide."""
    return cls.__new__(cls)


def test_the_walk_finds_the_libraries_exceptions() -> None:
    names = {name_of(cls) for cls in CLASSES}
    assert {"aiohttp.ClientPayloadError", "aiohttp.LineTooLong", "httpx.ReadTimeout"} <= names
    assert len(ROAD) > 60


@pytest.mark.parametrize("cls", ROAD, ids=name_of)
def test_every_error_of_the_road_has_a_row_of_its_own_or_of_a_base(cls: type[BaseException]) -> None:
    rows = [name_of(base) for base in cls.__mro__ if name_of(base) in FAULT_BY_CLASS]
    assert rows, "no row: add one"
    fault = read_fault(_bare(cls))
    assert fault is not Fault.OTHER or name_of(cls) in NO_FAULT_OF_THE_ROAD | {
        "httpx.TransportError",
        "httpx.RequestError",
    }


@pytest.mark.parametrize("cls", CLASSES, ids=name_of)
def test_no_exception_class_makes_the_reader_fail(cls: type[BaseException]) -> None:
    assert isinstance(read_fault(_bare(cls)), Fault)


def test_no_row_is_without_a_class() -> None:
    builtin = {name_of(cls) for cls in (socket.gaierror, socket.herror, ssl.SSLError, ssl.SSLCertVerificationError)}
    builtin |= {name_of(cls) for cls in (ConnectionRefusedError, ConnectionError, TimeoutError, ValueError, zlib.error)}
    assert set(FAULT_BY_CLASS) == {name_of(cls) for cls in CLASSES if name_of(cls) in FAULT_BY_CLASS} | builtin


@pytest.mark.parametrize("fault", Fault)
def test_every_fault_becomes_a_refusal_with_a_sentence_and_an_httpx_error(fault: Fault) -> None:
    refusal = upstream_fault(fault, origin=ORIGIN).refusal
    timed_out = fault.value.endswith("_timeout")
    assert refusal.kind is (RefusalKind.TIMEOUT if timed_out else RefusalKind.SERVER_ERROR)
    assert refusal.evidence == fault.value
    assert refusal.message.endswith(f" ({ORIGIN})")
    assert issubclass(ERROR_BY_FAULT[fault], httpx.HTTPError)


def test_only_a_stale_connection_is_safe_to_resend() -> None:
    safe = {fault for fault in Fault if upstream_fault(fault, origin=ORIGIN).safe_to_resend}
    assert safe == {Fault.STALE_CONNECTION}


def _caused(outer: Exception, inner: BaseException) -> Exception:
    outer.__cause__ = inner
    return outer


def _connecting(os_error: OSError, cls: type[aiohttp.ClientConnectorError] = aiohttp.ClientConnectorError) -> Exception:
    key = aiohttp.client_reqrep.ConnectionKey("h", 443, True, True, None, None, None)
    return cls(key, os_error)


EXAMPLES: list[tuple[Exception, Fault]] = [
    (_connecting(ConnectionRefusedError(errno.ECONNREFUSED, "x")), Fault.CONNECTION_REFUSED),
    (_connecting(OSError(errno.ECONNREFUSED, "Multiple exceptions: …")), Fault.CONNECTION_REFUSED),
    (_connecting(OSError(errno.EHOSTUNREACH, "x")), Fault.UNREACHABLE),
    (_connecting(OSError(errno.ENETUNREACH, "x")), Fault.UNREACHABLE),
    (_connecting(OSError(errno.ETIMEDOUT, "x")), Fault.UNREACHABLE),
    (_connecting(OSError(errno.EMFILE, "x")), Fault.OUT_OF_SOCKETS),
    (_connecting(OSError("Multiple exceptions: of several sorts")), Fault.UNREACHABLE),
    (_connecting(ConnectionResetError(errno.ECONNRESET, "x")), Fault.RESET),
    (_connecting(socket.gaierror(-2, "x"), aiohttp.ClientConnectorDNSError), Fault.DNS),
    (_connecting(ssl.SSLError(1, "x"), aiohttp.ClientConnectorSSLError), Fault.TLS),
    (aiohttp.ServerDisconnectedError(), Fault.DISCONNECTED),
    (aiohttp.ClientOSError(errno.ECONNRESET, "x"), Fault.RESET),
    (aiohttp.ClientOSError(errno.EPIPE, "x"), Fault.RESET),
    (aiohttp.ClientOSError(errno.ETIMEDOUT, "x"), Fault.UNREACHABLE),
    (aiohttp.ClientConnectionResetError("x"), Fault.RESET),
    (_caused(aiohttp.ClientPayloadError("x"), http_exceptions.ContentLengthError("x")), Fault.BROKEN_BODY),
    (_caused(aiohttp.ClientPayloadError("x"), ConnectionResetError(errno.ECONNRESET, "x")), Fault.BROKEN_BODY),
    (http_exceptions.LineTooLong(b"x", 1), Fault.LINE_TOO_LONG),
    (_caused(http_exceptions.HttpProcessingError(), http_exceptions.LineTooLong(b"x", 1)), Fault.LINE_TOO_LONG),
    (http_exceptions.BadStatusLine("x"), Fault.GARBLED),
    (ConnectionResetError(errno.ECONNRESET, "x"), Fault.RESET),
    (BrokenPipeError(errno.EPIPE, "x"), Fault.RESET),
    (ssl.SSLCertVerificationError(1, "x"), Fault.CERTIFICATE),
    (httpx.ConnectTimeout("x"), Fault.CONNECT_TIMEOUT),
    (httpx.ReadTimeout("x"), Fault.FIRST_BYTE_TIMEOUT),
    (httpx.RemoteProtocolError("x"), Fault.GARBLED),
    (_caused(httpx.ConnectError("x"), socket.gaierror(-2, "x")), Fault.DNS),
    (_caused(httpx.ConnectError("x"), ConnectionRefusedError(errno.ECONNREFUSED, "x")), Fault.CONNECTION_REFUSED),
    (httpx.ConnectError("x"), Fault.UNREACHABLE),
    (_caused(httpx.ReadTimeout("x"), upstream_fault(Fault.IDLE_TIMEOUT, origin=ORIGIN)), Fault.IDLE_TIMEOUT),
    (UnicodeEncodeError("ascii", "x", 0, 1, "x"), Fault.UNSENDABLE),
    (KeyError("not of the road"), Fault.OTHER),
]


@pytest.mark.parametrize(("exc", "fault"), EXAMPLES, ids=lambda value: type(value).__name__)
def test_an_error_is_read_as_what_it_was(exc: Exception, fault: Fault) -> None:
    assert read_fault(exc) is fault


def test_evidence_names_the_classes_from_the_outside_in() -> None:
    exc = _caused(aiohttp.ClientPayloadError("x"), http_exceptions.TransferEncodingError("x"))
    evidence = upstream_fault(read_fault(exc), origin=ORIGIN, exc=exc).refusal.evidence
    assert evidence == "broken_body: ClientPayloadError < TransferEncodingError"


def test_causes_in_a_circle_come_to_an_end() -> None:
    one, two = aiohttp.ClientOSError("x"), aiohttp.ClientOSError("y")
    one.__cause__, two.__cause__ = two, one
    assert isinstance(read_fault(one), Fault)


def test_a_cancellation_is_never_an_error_of_the_road() -> None:
    assert not issubclass(asyncio.CancelledError, TRANSPORT_ERRORS)


def test_the_librarys_own_text_is_never_passed_on() -> None:
    exc = aiohttp.InvalidURL("http://h/?key=sk-secret", "sk-secret")
    fault = upstream_fault(read_fault(exc), origin=ORIGIN, exc=exc)
    assert isinstance(fault, TransportFault)
    assert "sk-secret" not in f"{fault} {fault.refusal}"


def test_the_table_imports_neither_library() -> None:
    source = inspect.getsource(faults)
    assert "import aiohttp" not in source
    assert "import httpx" not in source


def test_what_was_never_sent_is_told_from_what_may_have_been() -> None:
    def refusal_of(fault: Fault) -> Refusal:
        return upstream_fault(fault, origin="http://upstream", exc=OSError("x")).refusal

    assert not was_sent(refusal_of(Fault.CONNECTION_REFUSED))
    assert not was_sent(refusal_of(Fault.DNS))
    assert was_sent(refusal_of(Fault.RESET))
    assert was_sent(refusal_of(Fault.TOTAL_TIMEOUT))
    assert was_sent(Refusal(RefusalKind.SERVER_ERROR, status=500, evidence="dns"))
