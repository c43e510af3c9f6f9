"""A verb and its arguments as one call of the store's library."""

from __future__ import annotations
