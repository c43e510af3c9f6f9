"""A member of staff at a served relay: signed in, pressing the buttons of the admin."""

from __future__ import annotations

import re
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self

import httpx
import msgspec

from tests.acceptance.served import ServedRelay

TOKEN_FIELD = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
GIVE_UP_S = 60


class Staff:
    """`with Staff(relay) as staff: staff.check("simulator")`. Each has a browser session of its own."""

    def __init__(self, relay: ServedRelay, language: str = "en") -> None:
        self._http = httpx.Client(
            base_url=relay.base_url,
            headers={"Accept-Language": language, "Referer": relay.base_url},
            trust_env=False,
            timeout=GIVE_UP_S,
            follow_redirects=True,
        )
        self._pressing = ThreadPoolExecutor(max_workers=4)
        form = {"username": relay.admin_username, "password": relay.admin_password}
        self.submit("/login/", form).raise_for_status()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pressing.shutdown()
        self._http.close()

    def page(self, address: str) -> str:
        return self._http.get(address).raise_for_status().text

    def submit(self, address: str, form: dict[str, Any]) -> httpx.Response:
        """A form of the page at `address`, sent back with its token."""
        found = TOKEN_FIELD.search(self.page(address))
        assert found, f"no form at {address}"
        return self._http.post(address, data=form | {"csrfmiddlewaretoken": found[1]})

    def press(self, address: str, body: dict[str, Any] | None = None) -> httpx.Response:
        """A button of the connection page."""
        return self._http.post(address, json=body or {}, headers={"X-CSRFToken": self._http.cookies["csrftoken"]})

    def check(self, slug: str) -> Future[dict[str, Any]]:
        """Starts a connection check; its report, when it has ended."""
        return self._pressing.submit(self._report, f"/api/providers/{slug}/check", {})

    def test_call(self, slug: str, model: str) -> Future[dict[str, Any]]:
        return self._pressing.submit(self._report, f"/api/providers/{slug}/test", {"model": model})

    def lines(self, address: str) -> list[dict[str, Any]]:
        """What the connection page is shown, line by line, to the end."""
        headers = {"X-CSRFToken": self._http.cookies["csrftoken"]}
        headers |= {"Accept": "application/x-ndjson, application/json;q=0.5"}
        with self._http.stream("POST", address, json={}, headers=headers) as answer:
            return [msgspec.json.decode(line) for line in answer.raise_for_status().iter_lines()]

    def _report(self, address: str, body: dict[str, Any]) -> dict[str, Any]:
        report: dict[str, Any] = self.press(address, body).raise_for_status().json()
        return report
