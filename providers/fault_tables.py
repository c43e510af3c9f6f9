"""The ways in which a call fails below its answer, and which class or errno means which. Data only.

Exceptions are known by their name ("aiohttp.ServerDisconnectedError"), so this file imports neither library; a test
walks every exception class of both and proves that each finds its row, and that no row is left without a class.
"""

from __future__ import annotations

import enum
import errno
from collections.abc import Mapping
from types import MappingProxyType


class Fault(enum.StrEnum):
    """The closed set of ways in which a call fails below its answer."""

    CONNECTION_REFUSED = "connection_refused"
    DNS = "dns"
    UNREACHABLE = "unreachable"
    CERTIFICATE = "certificate"
    TLS = "tls"
    OUT_OF_SOCKETS = "out_of_sockets"
    STALE_CONNECTION = "stale_connection"
    DISCONNECTED = "disconnected"
    RESET = "connection_reset"
    GARBLED = "garbled"
    LINE_TOO_LONG = "line_too_long"
    BROKEN_BODY = "broken_body"
    UNKNOWN_ENCODING = "unknown_encoding"
    ANSWER_TOO_LARGE = "answer_too_large"
    INVALID_URL = "invalid_url"
    UNSENDABLE = "unsendable"
    REDIRECT = "redirect"
    PROXY = "proxy"
    CLOSED_HERE = "closed_here"
    CONNECT_TIMEOUT = "connect_timeout"
    FIRST_BYTE_TIMEOUT = "first_byte_timeout"
    IDLE_TIMEOUT = "idle_timeout"
    TOTAL_TIMEOUT = "total_timeout"
    OTHER = "other"


SENTENCES: Mapping[Fault, str] = MappingProxyType(
    {
        Fault.CONNECTION_REFUSED: "The connection was refused: nothing listens there.",
        Fault.DNS: "The host name could not be resolved.",
        Fault.UNREACHABLE: "The host could not be reached.",
        Fault.CERTIFICATE: "The server's TLS certificate is not valid for it.",
        Fault.TLS: "The TLS handshake failed.",
        Fault.OUT_OF_SOCKETS: "This machine could not open another connection.",
        Fault.STALE_CONNECTION: "The server had already closed the kept-open connection.",
        Fault.DISCONNECTED: "The server closed the connection without an answer.",
        Fault.RESET: "The server reset the connection.",
        Fault.GARBLED: "The answer was not valid HTTP.",
        Fault.LINE_TOO_LONG: "A header line of the answer was too long.",
        Fault.BROKEN_BODY: "The answer broke off, or its transfer encoding was broken.",
        Fault.UNKNOWN_ENCODING: "The answer came in a content encoding that is not known.",
        Fault.ANSWER_TOO_LARGE: "The answer was larger than allowed.",
        Fault.INVALID_URL: "The address is not a valid http(s) URL.",
        Fault.UNSENDABLE: "The request holds characters that HTTP forbids in a header.",
        Fault.REDIRECT: "The server redirected.",
        Fault.PROXY: "The proxy refused.",
        Fault.CLOSED_HERE: "The connection was closed on this side.",
        Fault.CONNECT_TIMEOUT: "No connection within the time allowed.",
        Fault.FIRST_BYTE_TIMEOUT: "No answer within the time allowed.",
        Fault.IDLE_TIMEOUT: "The answer stopped for longer than allowed.",
        Fault.TOTAL_TIMEOUT: "The call ran longer than allowed.",
        Fault.OTHER: "The call failed below HTTP.",
    }
)

TIMEOUTS = frozenset({Fault.CONNECT_TIMEOUT, Fault.FIRST_BYTE_TIMEOUT, Fault.IDLE_TIMEOUT, Fault.TOTAL_TIMEOUT})

# Not a byte of the request has left: the provider cannot have counted it.
NEVER_SENT = frozenset(
    {
        Fault.CONNECTION_REFUSED,
        Fault.DNS,
        Fault.UNREACHABLE,
        Fault.CERTIFICATE,
        Fault.TLS,
        Fault.OUT_OF_SOCKETS,
        Fault.STALE_CONNECTION,
        Fault.CONNECT_TIMEOUT,
        Fault.INVALID_URL,
        Fault.UNSENDABLE,
    }
)

# On a kept-open connection these mean that the server had closed it before it read the request, provided that
# nothing of the answer had come.
STALE_SIGNS = frozenset({Fault.DISCONNECTED, Fault.RESET})

# A class without a row takes that of its nearest base. None: it only wraps another error, and that one
# decides.
FAULT_BY_CLASS: Mapping[str, Fault | None] = MappingProxyType(
    {
        "aiohttp.ClientConnectorDNSError": Fault.DNS,
        "aiohttp.ClientConnectorCertificateError": Fault.CERTIFICATE,
        "aiohttp.ClientSSLError": Fault.TLS,
        "aiohttp.ServerFingerprintMismatch": Fault.CERTIFICATE,
        "aiohttp.ClientConnectorError": None,
        "aiohttp.ClientOSError": None,
        "aiohttp.ClientConnectionResetError": Fault.RESET,
        "aiohttp.ConnectionTimeoutError": Fault.CONNECT_TIMEOUT,
        "aiohttp.SocketTimeoutError": Fault.IDLE_TIMEOUT,
        "aiohttp.ServerTimeoutError": Fault.FIRST_BYTE_TIMEOUT,
        "aiohttp.ServerDisconnectedError": Fault.DISCONNECTED,
        "aiohttp.ServerConnectionError": Fault.DISCONNECTED,
        "aiohttp.ClientConnectionError": Fault.CLOSED_HERE,
        "aiohttp.ClientPayloadError": Fault.BROKEN_BODY,
        "aiohttp.UploadAbortedError": Fault.RESET,
        "aiohttp.TooManyRedirects": Fault.REDIRECT,
        "aiohttp.RedirectClientError": Fault.REDIRECT,
        "aiohttp.NonHttpUrlRedirectClientError": Fault.REDIRECT,
        "aiohttp.NonHttpUrlClientError": Fault.INVALID_URL,
        "aiohttp.InvalidURL": Fault.INVALID_URL,
        "aiohttp.ContentTypeError": Fault.BROKEN_BODY,
        "aiohttp.WSServerHandshakeError": Fault.GARBLED,
        "aiohttp.ClientResponseError": None,
        "aiohttp.ClientError": Fault.OTHER,
        "aiohttp.LineTooLong": Fault.LINE_TOO_LONG,
        "aiohttp.BadHttpMessage": Fault.GARBLED,
        "aiohttp.PayloadEncodingError": Fault.BROKEN_BODY,
        "aiohttp.HttpProcessingError": None,
        "httpx.ConnectTimeout": Fault.CONNECT_TIMEOUT,
        "httpx.PoolTimeout": Fault.CONNECT_TIMEOUT,
        "httpx.ReadTimeout": Fault.FIRST_BYTE_TIMEOUT,
        "httpx.TimeoutException": Fault.TOTAL_TIMEOUT,
        "httpx.NetworkError": None,
        "httpx.LocalProtocolError": Fault.UNSENDABLE,
        "httpx.ProtocolError": Fault.GARBLED,
        "httpx.ProxyError": Fault.PROXY,
        "httpx.UnsupportedProtocol": Fault.INVALID_URL,
        "httpx.InvalidURL": Fault.INVALID_URL,
        "httpx.DecodingError": Fault.BROKEN_BODY,
        "httpx.TooManyRedirects": Fault.REDIRECT,
        "httpx.TransportError": None,
        "httpx.HTTPError": Fault.OTHER,
        "httpx.StreamError": Fault.CLOSED_HERE,
        "socket.gaierror": Fault.DNS,
        "socket.herror": Fault.DNS,
        "ssl.SSLCertVerificationError": Fault.CERTIFICATE,
        "ssl.SSLError": Fault.TLS,
        "builtins.ConnectionRefusedError": Fault.CONNECTION_REFUSED,
        "builtins.ConnectionError": Fault.RESET,
        "builtins.TimeoutError": Fault.UNREACHABLE,  # the kernel's own; our clocks raise none
        "zlib.error": Fault.BROKEN_BODY,
        "builtins.ValueError": Fault.UNSENDABLE,
    }
)

FAULT_BY_ERRNO: Mapping[int, Fault] = MappingProxyType(
    {
        errno.ECONNREFUSED: Fault.CONNECTION_REFUSED,
        errno.ECONNRESET: Fault.RESET,
        errno.ECONNABORTED: Fault.RESET,
        errno.EPIPE: Fault.RESET,
        errno.ESHUTDOWN: Fault.RESET,
        errno.ENOTCONN: Fault.RESET,
        errno.EHOSTUNREACH: Fault.UNREACHABLE,
        errno.ENETUNREACH: Fault.UNREACHABLE,
        errno.EHOSTDOWN: Fault.UNREACHABLE,
        errno.ENETDOWN: Fault.UNREACHABLE,
        errno.ETIMEDOUT: Fault.UNREACHABLE,
        errno.EADDRNOTAVAIL: Fault.OUT_OF_SOCKETS,
        errno.EMFILE: Fault.OUT_OF_SOCKETS,
        errno.ENFILE: Fault.OUT_OF_SOCKETS,
        errno.ENOBUFS: Fault.OUT_OF_SOCKETS,
    }
)
