"""The pages in Chromium: live, in both languages, wide and narrow, light and dark; nothing leaves the origin."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from urllib.error import URLError

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from relay_project.env import BASE_DIR
from tests.browsing import NARROW, WIDE, chromium, visiting

pytestmark = [pytest.mark.browser, pytest.mark.served]


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = _free_port()
    environment = os.environ | {
        "RELAY_DATA_DIR": str(tmp_path_factory.mktemp("pages")),
        "DATABASE_URL": "",
        "DJANGO_SETTINGS_MODULE": "relay_project.settings",
    }
    del environment["DATABASE_URL"]
    command = [sys.executable, "-m", "tests.relay_project.queue_page_server", str(port)]
    with subprocess.Popen(command, cwd=BASE_DIR, env=environment) as server:
        try:
            _wait_until_served(f"http://127.0.0.1:{port}/login/", server)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_served(address: str, server: subprocess.Popen[bytes], seconds: float = 40) -> None:
    until = time.monotonic() + seconds
    while server.poll() is None and time.monotonic() < until:
        try:
            urllib.request.urlopen(address).close()
            return
        except URLError:
            time.sleep(0.1)
    raise AssertionError("the pages' server did not come up")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


def signed_in(context: BrowserContext, origin: str, name: str) -> Page:
    page = context.new_page()
    page.goto(f"{origin}/")
    page.fill("#id_username", name)
    page.fill("#id_password", f"the password of {name}")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{origin}/queue/")
    return page


def play(origin: str, scene: str) -> None:
    urllib.request.urlopen(urllib.request.Request(f"{origin}/_play/{scene}", method="POST")).close()


@pytest.fixture(autouse=True)
def busy(origin: str) -> None:
    play(origin, "busy")


@pytest.mark.parametrize("locale", ["en", "ko"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["minji", "admin"])
def test_the_queue_is_live_and_fits(
    browser: Browser, origin: str, locale: str, viewport: dict[str, int], scheme: str, name: str
) -> None:
    with visiting(browser, origin, locale=locale, viewport=viewport, color_scheme=scheme) as context:
        page = signed_in(context, origin, name)
        expect(page.locator(".link")).to_have_attribute("data-link", "live")
        expect(page.locator(".provider")).to_have_count(4)
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
        assert page.evaluate("document.documentElement.lang") == locale


def test_a_member_sees_its_own_in_full_and_counts_of_others(browser: Browser, origin: str) -> None:
    with visiting(browser, origin) as context:
        page = signed_in(context, origin, "minji")
        pro = page.locator(".model").first
        expect(pro.locator(".row")).to_have_count(2)
        expect(pro.locator(".row:not(.running)")).to_contain_text("you")
        expect(pro.locator("[data-slot=more]")).to_have_text("+2 waiting")
        expect(page.locator(".cancel")).to_have_count(0)


def test_waits_count_down_between_two_pictures(browser: Browser, origin: str) -> None:
    with visiting(browser, origin) as context:
        page = signed_in(context, origin, "minji")
        then = page.locator(".row:not(.running) [data-slot=then]").first
        before = then.inner_text()
        expect(then).not_to_have_text(before)


def test_a_change_is_drawn_in_place(browser: Browser, origin: str) -> None:
    with visiting(browser, origin) as context:
        page = signed_in(context, origin, "minji")
        page.locator(".provider").first.evaluate("element => { element.kept = true }")
        expect(page.locator("[data-slot=quiet]")).to_be_hidden()
        play(origin, "quiet")
        expect(page.locator("[data-slot=quiet]")).to_be_visible()
        expect(page.locator(".row")).to_have_count(0)
        assert page.locator(".provider").first.evaluate("element => element.kept") is True
        play(origin, "nothing")
        expect(page.locator("[data-slot=nothing]")).to_be_visible()


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_nothing_jumps_while_time_passes_and_requests_come_and_go(
    browser: Browser, origin: str, viewport: dict[str, int]
) -> None:
    with visiting(browser, origin, viewport=viewport) as context:
        page = signed_in(context, origin, "admin")
        expect(page.locator(".row").first).to_be_visible()
        places = "[...document.querySelectorAll('.model, .provider')].map(e => e.getBoundingClientRect().top)"
        before = page.evaluate(places)
        page.wait_for_timeout(1500)
        assert page.evaluate(places) == before
        play(origin, "calm")
        expect(page.locator(".row")).to_have_count(0)
        assert page.evaluate(places) == before


def test_staff_take_a_ticket_out_of_line_with_the_keyboard(browser: Browser, origin: str) -> None:
    with visiting(browser, origin) as context:
        page = signed_in(context, origin, "admin")
        button = page.locator(".row:not(.running) .cancel").first
        expect(page.locator(".row.running .cancel:visible")).to_have_count(0)
        button.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_contain_text("minji")
        with page.expect_response("**/cancel/") as answer:
            page.get_by_role("dialog").get_by_role("button", name="Take out of line").click()
        assert answer.value.json() == {"cancelled": True}
        expect(page.get_by_role("dialog")).to_be_hidden()


def test_without_a_websocket_the_page_polls_and_says_so(browser: Browser, origin: str) -> None:
    with visiting(browser, origin) as context:
        context.route_web_socket("**/ws/queue", lambda socket: socket.close())
        page = signed_in(context, origin, "minji")
        with page.expect_response("**/api/queue"):
            pass
        expect(page.locator(".link")).to_have_attribute("data-link", "polling")
        play(origin, "quiet")
        expect(page.locator("[data-slot=quiet]")).to_be_visible(timeout=8000)


def test_signing_out_elsewhere_leads_to_sign_in(browser: Browser, origin: str) -> None:
    with visiting(browser, origin) as context:
        page = signed_in(context, origin, "minji")
        context.clear_cookies(name="sessionid")
        page.reload()
        expect(page).to_have_url(f"{origin}/login/?next=/queue/")


def test_dark_is_chosen_once_for_pages_and_admin(browser: Browser, origin: str) -> None:
    with visiting(browser, origin) as context:
        page = signed_in(context, origin, "admin")
        page.locator(".account summary").click()
        page.get_by_role("button", name="Dark").click()
        assert page.evaluate("localStorage.getItem('adminTheme')") == '"dark"'
        page.goto(f"{origin}/admin/")
        expect(page.locator("html")).to_have_class("dark")


def test_the_language_is_switched_from_any_page(browser: Browser, origin: str) -> None:
    with visiting(browser, origin) as context:
        page = context.new_page()
        page.goto(f"{origin}/login/")
        page.get_by_role("button", name="한국어").click()
        expect(page.get_by_role("heading", name="로그인")).to_be_visible()


def test_a_missing_page_is_no_dead_end(browser: Browser, origin: str) -> None:
    with visiting(browser, origin) as context:
        page = signed_in(context, origin, "minji")
        answer = page.request.get(f"{origin}/nowhere/")
        assert answer.status == 404
        assert 'href="/queue/"' in answer.text()
