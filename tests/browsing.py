"""Chromium for tests of pages: a clean visit that complains of what a person would not see."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@contextmanager
def chromium() -> Iterator[Browser]:
    """Skips on a machine without one; in CI it must be there."""
    if not Path(CHROMIUM).exists() and "CI" not in os.environ:
        pytest.skip("no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def visiting(browser: Browser, origin: str, **options: object) -> Iterator[BrowserContext]:
    """A clean visit; afterwards nothing must have been complained of, nor asked of another origin."""
    context = browser.new_context(**({"viewport": WIDE, "locale": "en"} | options))  # type: ignore[arg-type]
    complaints: list[str] = []
    context.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
    context.on("weberror", lambda e: complaints.append(str(e.error)))
    context.on("request", lambda r: None if _is_ours(r.url, origin) else complaints.append(r.url))
    yield context
    context.close()
    assert complaints == []


def _is_ours(address: str, origin: str) -> bool:
    return address.startswith((f"{origin}/", f"{origin}/".replace("http", "ws", 1), "data:"))
