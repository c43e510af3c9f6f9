"""The shortest ways to call through a transport."""

from __future__ import annotations

import pytest

from providers.contract import Deadlines
from providers.faults import TransportFault
from providers.transport import Exchange, Transport

SECRET = "sk-very-secret"
HEADERS = [("Content-Type", "application/json"), ("Authorization", f"Bearer {SECRET}")]


async def post(transport: Transport, url: str, body: bytes = b"{}") -> Exchange:
    deadlines = Deadlines(first_byte_s=60, idle_s=60)
    return await transport.post(url, headers=HEADERS, body=body, deadlines=deadlines)


async def ask(transport: Transport, url: str, body: bytes = b"{}") -> bytes:
    exchange = await post(transport, url, body)
    try:
        return await exchange.read_all(10_000_000)
    finally:
        exchange.close()


async def fault_of(transport: Transport, url: str) -> TransportFault:
    """The fault that a call ends in; it must name itself, and no secret."""
    with pytest.raises(TransportFault) as caught:
        await ask(transport, f"{url}/v1/x?key={SECRET}")
    fault = caught.value
    assert SECRET not in f"{fault} {fault.refusal}"
    assert fault.__context__ is None or fault.__suppress_context__, "a traceback would show the library's text"
    assert fault.refusal.evidence.startswith(fault.fault)
    return fault
