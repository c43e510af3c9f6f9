"""HTTP to the providers: the only importer of httpx and aiohttp.

`Transport` is the hot path, a thin layer over one aiohttp session per event loop; `Exchange` is one answer in
progress; `AiohttpTransport` is the same road under `httpx.AsyncClient`, for cold paths. Read `client.py`
first.
"""

from .client import Transport
from .exchange import Exchange
from .httpx_bridge import AiohttpTransport
from .watch import ClockLike

__all__ = ["AiohttpTransport", "ClockLike", "Exchange", "Transport"]
