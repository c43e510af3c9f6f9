"""The listening socket.

Every server process opens its own with SO_REUSEPORT and the kernel spreads new connections over those that
listen: a process that dies takes no share any more, and nobody waits in the queue of a dead one.
`reserve_port` lets the supervisor choose and keep the port without listening itself.
"""

from __future__ import annotations

import errno
import socket

from relay_project.server.errors import PortInUse

BACKLOG = 2048
UNSENT_BYTES = 64 * 1024  # what the kernel may hold unsent per connection; more only hides a client that does not read


def listen(host: str, port: int) -> socket.socket:
    """A listening socket, non-blocking. Accepted connections inherit its options."""
    listener = _bound(host, port, share=True)
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.listen(BACKLOG)
    listener.setblocking(False)
    return listener


def reserve_port(host: str, port: int) -> socket.socket:
    """A bound socket that does not listen: holds `port` (0 = any free one) for processes to come.

    Raises `PortInUse`. Bound once without sharing first: shared binding alone would join another relay's port
    in silence.
    """
    with _bound(host, port, share=False) as probe:
        free_port = probe.getsockname()[1]
    return _bound(host, free_port, share=True)


def _bound(host: str, port: int, *, share: bool) -> socket.socket:
    bound = socket.socket(family_of(host), socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if share:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(host, port) from error
        raise
    return bound


def family_of(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
