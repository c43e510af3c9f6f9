"""Items in ascending order of a key: the one ordered structure of the core.

A sorted list beside a map from item to key. Finding is O(log n); putting and dropping also move memory, which for the
tens of thousands of items at stake costs less than a balanced tree in Python. Its twin in a store is a sorted set.
Keys are tuples of integers and end in a number of which there is only one, so order never hangs on the items.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item", bound=Hashable)
Key = tuple[int, ...]


class Order(Generic[Item]):
    __slots__ = ("_entries", "_key_of")

    def __init__(self) -> None:
        self._entries: list[tuple[Key, Item]] = []
        self._key_of: dict[Item, Key] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __bool__(self) -> bool:
        return bool(self._entries)

    def __contains__(self, item: object) -> bool:
        return item in self._key_of

    def __iter__(self) -> Iterator[Item]:
        return (item for _, item in self._entries)

    def put(self, item: Item, key: Key) -> None:
        """Place `item` at `key`, wherever it was before."""
        old = self._key_of.get(item)
        if old == key:
            return
        if old is not None:
            del self._entries[bisect_left(self._entries, (old,))]
        self._key_of[item] = key
        insort(self._entries, (key, item))

    def drop(self, item: Item) -> None:
        """Take `item` out; nothing happens if it is not there."""
        key = self._key_of.pop(item, None)
        if key is not None:
            del self._entries[bisect_left(self._entries, (key,))]

    def first(self) -> Item | None:
        return self._entries[0][1] if self._entries else None

    def first_key(self) -> Key | None:
        return self._entries[0][0] if self._entries else None

    def key_of(self, item: Item) -> Key | None:
        return self._key_of.get(item)
