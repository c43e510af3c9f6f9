"""TLS: certificates told as such, and connections cut without a goodbye."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from providers.faults import Fault
from providers.transport import Transport
from scheduling.clock import FakeClock

from .callers import fault_of, post
from .loopback import Connection, Loopback, chunk, chunked_head, hang_up


def _certificate(folder: Path, host: str) -> Path:
    """A self-signed certificate for `host`, key and certificate in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=365 * 100))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{host}.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path


def _serving(pem: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


async def test_an_unknown_certificate_is_told_as_such(transport: Transport, tmp_path: Path) -> None:
    async with Loopback(hang_up, _serving(_certificate(tmp_path, "127.0.0.1"))) as server:
        fault = await fault_of(transport, server.url)
    assert fault.fault is Fault.CERTIFICATE
    assert "self-signed certificate" in fault.refusal.message


async def test_a_certificate_of_another_host_is_told_as_such(tmp_path: Path) -> None:
    pem = _certificate(tmp_path, "127.0.0.9")
    transport = Transport(FakeClock(), tls=ssl.create_default_context(cafile=str(pem)))
    async with Loopback(hang_up, _serving(pem)) as server:
        fault = await fault_of(transport, server.url)
    assert fault.fault is Fault.CERTIFICATE
    assert "not valid for '127.0.0.1'" in fault.refusal.message
    await transport.close()


async def test_plain_text_where_tls_is_spoken_is_a_tls_fault(transport: Transport) -> None:
    async def script(connection: Connection) -> None:
        await connection.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await connection.gone()

    async with Loopback(script) as server:
        assert (await fault_of(transport, f"https://127.0.0.1:{server.port}")).fault is Fault.TLS


async def test_a_trusted_certificate_serves_and_close_cuts_without_a_goodbye(tmp_path: Path) -> None:
    pem = _certificate(tmp_path, "127.0.0.1")
    transport = Transport(FakeClock(), tls=ssl.create_default_context(cafile=str(pem)))
    gone = asyncio.Event()

    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(chunked_head() + chunk(b"x"))
        await connection.gone()
        gone.set()

    async with Loopback(script, _serving(pem)) as server:
        exchange = await post(transport, server.url)
        assert await anext(exchange.chunks()) == b"x"
        exchange.close()
        await asyncio.wait_for(gone.wait(), 1)
        await transport.close()
