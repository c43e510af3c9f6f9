"""Stored keys: sealed with Fernet, unsealed only where they are used, loudly when that fails.

The database holds ciphertext. A row read from it carries a `Sealed` that opens when the attribute is
*read*; a key that cannot be opened raises `UnsealError` there, so a ciphertext is never sent to a provider
as if it were the key. Rows can still be listed, saved and deleted unopened. The newest encryption key
seals, all of them open.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import models
from django.db.models.query_utils import DeferredAttribute

DUMP_MARK = "sealed:"


class UnsealError(Exception):
    """A stored key was sealed with an encryption key that is no longer configured, or has been damaged."""


class Sealed:
    """A ciphertext. Neither its repr nor its str is of any use to a provider."""

    __slots__ = ("ciphertext",)

    def __init__(self, ciphertext: str) -> None:
        self.ciphertext = ciphertext

    def open(self) -> str:
        try:
            return _fernet(tuple(settings.RELAY_ENCRYPTION_KEYS)).decrypt(self.ciphertext.encode()).decode()
        except InvalidToken as error:
            raise UnsealError("A stored key cannot be opened with RELAY_ENCRYPTION_KEYS.") from error

    def __repr__(self) -> str:
        return "<sealed>"


def seal(plain: str) -> Sealed:
    return Sealed(_fernet(tuple(settings.RELAY_ENCRYPTION_KEYS)).encrypt(plain.encode()).decode())


@lru_cache(maxsize=4)
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


class _OpensWhenRead(DeferredAttribute):
    def __get__(self, instance: models.Model | None, cls: Any = None) -> Any:
        value = super().__get__(instance, cls)
        return value.open() if isinstance(value, Sealed) else value

    def __set__(self, instance: models.Model, value: Any) -> None:
        instance.__dict__[self.field.attname] = value


class SealedField(models.TextField):  # type: ignore[type-arg]
    """Text that is plain in Python and sealed in the database. "" stays "" (no key)."""

    descriptor_class = _OpensWhenRead

    def from_db_value(self, value: str | None, *_: Any) -> Sealed | str | None:
        return Sealed(value) if value else value

    def pre_save(self, instance: models.Model, add: bool) -> Any:
        """What is there, unopened: a row is saved without reading its key."""
        return instance.__dict__[self.attname]

    def get_prep_value(self, value: Any) -> str | None:
        if isinstance(value, Sealed):
            return value.ciphertext
        return seal(value).ciphertext if value else value

    def value_from_object(self, instance: models.Model) -> Any:
        """For forms and serializers: never the opened key."""
        return instance.__dict__.get(self.attname, "")

    def value_to_string(self, instance: models.Model) -> str:
        """In a dump: marked ciphertext, which `to_python` takes back."""
        ciphertext = self.get_prep_value(self.value_from_object(instance))
        return f"{DUMP_MARK}{ciphertext}" if ciphertext else ""

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and value.startswith(DUMP_MARK):
            return Sealed(value.removeprefix(DUMP_MARK))
        return value

    def get_lookup(self, lookup_name: str) -> Any:
        """Every sealing differs, so comparing would silently find nothing: refuse it."""
        return super().get_lookup(lookup_name) if lookup_name == "isnull" else None
