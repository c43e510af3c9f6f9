"""Vendors as data."""

import pytest

from providers.adapters import openai_chat
from providers.presets import VENDORS, cannot_connect_yet, has_adapter


def test_the_dialect_with_an_adapter_can_be_spoken_and_an_unknown_one_cannot() -> None:
    assert openai_chat.__name__.endswith("openai_chat")
    assert has_adapter("openai_chat")
    assert not has_adapter("klingon")


def test_a_vendor_without_adapter_is_told_so_with_the_dialects_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("providers.presets.has_adapter", lambda dialect: dialect == "openai_chat")
    assert "cli_codex" in cannot_connect_yet("codex")
    assert cannot_connect_yet("openai") == ""


@pytest.mark.parametrize("key", sorted(VENDORS))
def test_a_preset_address_is_a_web_address_without_trailing_slash(key: str) -> None:
    url = VENDORS[key].base_url
    assert url == "" or (url.startswith(("http://", "https://")) and not url.endswith("/"))


def test_nvidia_notes_its_rate_instead_of_pacing() -> None:
    assert "40 requests per minute per key: noted, not paced" in str(VENDORS["nvidia"].notes)
