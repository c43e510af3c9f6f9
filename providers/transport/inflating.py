"""Undoes a content encoding that a server used although `identity` was asked for.

The output is bounded per step, so a small answer cannot unfold into a large one in memory at once.
"""

from __future__ import annotations

import zlib

KNOWN_ENCODINGS = frozenset({"gzip", "x-gzip", "deflate"})
MAX_STEP_BYTES = 256 * 1024

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS


class Inflater:
    """Compressed bytes in by `feed`; plain ones out by `take`, until it gives none."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
        self._waiting = b""
        self._fed = False

    def feed(self, chunk: bytes) -> None:
        self._waiting += chunk
        self._fed = True

    def take(self) -> bytes:
        """The next plain bytes, a bounded step of them; b"" asks for more input. Raises `zlib.error`."""
        while True:
            if self._stream.eof and self._waiting:  # a gzip file may be several, one after the other
                self._stream = zlib.decompressobj(_GZIP_OR_ZLIB)
            plain = self._stream.decompress(self._waiting, MAX_STEP_BYTES)
            self._waiting = self._stream.unconsumed_tail or self._stream.unused_data
            if plain or not self._waiting:
                return plain

    def check_end(self) -> None:
        """Raises `zlib.error` if the input ended in its middle."""
        if self._fed and not self._stream.eof:
            raise zlib.error("the compressed answer broke off")
