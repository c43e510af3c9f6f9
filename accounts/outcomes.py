"""How a request ended: the closed set behind the usage row, the metrics and failover."""

from __future__ import annotations

import enum


class Outcome(enum.StrEnum):
    COMPLETED = "completed"
    RECOVERED = "recovered"  # complete, though an error signal came with it
    TRUNCATED = "truncated"  # the bytes ended without a finish reason or terminal event
    UPSTREAM_ERROR = "upstream_error"  # an error event or a fault after the provider had begun
    EMPTY = "empty"  # ended without any content
    REFUSED = "refused"  # the provider said no
    REJECTED = "rejected"  # we said no at the door
    EVICTED = "evicted"  # gave its place in line to another
    QUEUE_TIMEOUT = "queue_timeout"
    RUN_TIMEOUT = "run_timeout"
    CLIENT_GONE = "client_gone"
    RELAY_LOST = "relay_lost"  # the process that ran it died
    RELAY_ERROR = "relay_error"  # a bug of ours
