"""Keys are sealed in the database, and a key that cannot be opened is never mistaken for one that can."""

import pytest
from cryptography.fernet import Fernet
from django.core import serializers
from django.core.exceptions import FieldError
from django.db import connection

from providers.models import Credential, Provider
from providers.sealing import Sealed, UnsealError, seal

pytestmark = pytest.mark.django_db
KEY = "sk-secret-of-the-account"


@pytest.fixture
def credential() -> Credential:
    provider = Provider.objects.create(slug="p", name="P", vendor="openai", dialect="openai_chat")
    return Credential.objects.create(provider=provider, label="main", key=KEY)


def stored() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT key FROM providers_credential")
        return str(cursor.fetchone()[0])


def test_the_database_never_holds_the_key(credential: Credential) -> None:
    assert KEY not in stored()
    assert Credential.objects.get().key == KEY


def test_a_key_sealed_with_a_lost_encryption_key_raises_when_read(credential: Credential, settings: object) -> None:
    settings.RELAY_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    row = Credential.objects.get()
    with pytest.raises(UnsealError):
        _ = row.key


def test_a_damaged_ciphertext_raises_when_read(credential: Credential) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE providers_credential SET key = %s", ["not-a-ciphertext"])
    with pytest.raises(UnsealError):
        _ = Credential.objects.get().key


def test_a_row_that_cannot_be_opened_can_still_be_changed_and_keeps_its_ciphertext(
    credential: Credential, settings: object
) -> None:
    before = stored()
    settings.RELAY_ENCRYPTION_KEYS = [Fernet.generate_key().decode()]
    row = Credential.objects.get()
    row.enabled = False
    row.save()
    assert stored() == before
    assert not Credential.objects.get().enabled


def test_the_newest_encryption_key_seals_and_older_ones_still_open(credential: Credential, settings: object) -> None:
    old = settings.RELAY_ENCRYPTION_KEYS
    new = Fernet.generate_key().decode()
    settings.RELAY_ENCRYPTION_KEYS = [new, *old]
    row = Credential.objects.get()
    assert row.key == KEY
    row.key = row.key
    row.save()
    settings.RELAY_ENCRYPTION_KEYS = [new]
    assert Credential.objects.get().key == KEY


def test_neither_repr_nor_a_dump_shows_the_key(credential: Credential) -> None:
    row = Credential.objects.get()
    assert repr(row.__dict__["key"]) == "<sealed>"
    assert KEY not in serializers.serialize("json", [row])


def test_a_dump_can_be_loaded_again(credential: Credential) -> None:
    dumped = serializers.serialize("json", Credential.objects.all())
    Credential.objects.all().delete()
    for loaded in serializers.deserialize("json", dumped):
        loaded.save()
    assert Credential.objects.get().key == KEY


def test_searching_by_key_is_refused_instead_of_finding_nothing(credential: Credential) -> None:
    with pytest.raises(FieldError):
        Credential.objects.filter(key=KEY).exists()


def test_a_deferred_key_is_read_and_opened_when_asked_for(credential: Credential) -> None:
    assert Credential.objects.defer("key").get().key == KEY


def test_no_key_stays_no_key(credential: Credential) -> None:
    Credential.objects.create(provider=credential.provider, label="none")
    assert Credential.objects.get(label="none").key == ""


def test_a_sealed_value_says_nothing_of_itself() -> None:
    assert str(seal("x")) == "<sealed>"
    assert isinstance(seal("x"), Sealed)
