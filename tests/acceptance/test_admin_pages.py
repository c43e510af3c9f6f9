"""What an administrator does in a browser, from signing in to a test call: in both languages, wide and narrow."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.acceptance.console import Console
from tests.acceptance.live import provider_in, queue_of
from tests.acceptance.one_lane import forget, script
from tests.acceptance.served import ServedRelay
from tests.acceptance.waiting import wait_until
from tests.browsing import NARROW, WIDE, chromium, visiting

pytestmark = [pytest.mark.browser, pytest.mark.served]
SHOTS = os.environ.get("RELAY_SCREENSHOTS", "")  # a folder to keep pictures in, to look at
PROVIDERS = "/admin/providers/provider/"
WORDS = {
    "en": {
        "connected": "Connected",
        "answered": "The model answered",
        "waiting": "Waiting… starts when the running ones end (running 4/4 · waiting 1 · 1 s gone)",
        "paused": "‖ paused",
    },
    "ko": {
        "connected": "연결됨",
        "answered": "모델이 답했습니다",
        "waiting": "대기 중… 앞선 요청이 끝나면 시작합니다 (실행 4/4 · 대기 1건 · 1초 경과)",
        "paused": "‖ 일시 중지",
    },
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def console(relay: ServedRelay) -> Iterator[Console]:
    with Console(relay) as console:
        yield console


@pytest.fixture(autouse=True)
def as_it_was(relay: ServedRelay, console: Console) -> Iterator[None]:
    forget(relay)
    yield
    forget(relay)
    console.run("""
        Provider.objects.exclude(slug="simulator").delete()
        LaneProfile.objects.filter(provider=None).delete()
        simulator = Provider.objects.get()
        simulator.paused = False
        simulator.save()
        for profile in LaneProfile.objects.all():
            profile.lanes = 4
            profile.save()
    """)


@pytest.fixture(params=["en", "ko"])
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[WIDE, NARROW], ids=["wide", "narrow"])
def context(
    browser: Browser, relay: ServedRelay, language: str, request: pytest.FixtureRequest
) -> Iterator[BrowserContext]:
    options = {"locale": language, "viewport": request.param, "base_url": relay.base_url}
    with visiting(browser, relay.base_url, **options) as context:
        yield context


@pytest.fixture
def page(context: BrowserContext, relay: ServedRelay) -> Page:
    """Signed in, on the admin's first page."""
    page = context.new_page()
    page.goto("/admin/")
    page.fill("#id_username", relay.admin_username)
    page.fill("#id_password", relay.admin_password)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{relay.base_url}/admin/")
    return page


def picture(page: Page, name: str, language: str) -> None:
    """Keeps a picture if wanted; the page must not be wider than its window."""
    width = page.viewport_size["width"] if page.viewport_size else 0
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"{name}-{language}-{width}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def add_provider(page: Page, relay: ServedRelay, name: str) -> None:
    page.goto(f"{PROVIDERS}add/")
    page.select_option("#id_vendor", "simulator")
    page.fill("#id_name", name)
    page.fill("#id_base_url", f"{relay.simulator_url}/v1")
    page.fill("#id_api_key", "sk-any")
    page.locator("#id_api_key").press("Enter")
    page.wait_for_url(re.compile(r"/change/$"))


def open_connection(page: Page, console: Console, slug: str) -> None:
    pk = console.run(f"result = Provider.objects.get(slug={slug!r}).pk")
    page.goto(f"{PROVIDERS}{pk}/connection/")


def press(page: Page, section: str) -> Locator:
    """With the keyboard, as with a mouse. Returns the section with its report."""
    found = page.locator(f"section[aria-labelledby={section}]")
    found.locator("form button").focus()
    page.keyboard.press("Enter")
    return found


def test_every_page_opens_and_fits(page: Page, language: str) -> None:
    for name, address in (
        ("home", "/admin/"),
        ("providers", PROVIDERS),
        ("add-provider", f"{PROVIDERS}add/"),
        ("profiles", "/admin/scheduling/laneprofile/"),
        ("roles", "/admin/scheduling/role/add/"),
        ("quota", "/admin/scheduling/quotastate/"),
        ("queue", "/queue/"),
        ("usage", "/usage/"),
    ):
        answer = page.goto(address)
        assert answer is not None
        assert answer.ok, address
        assert page.evaluate("document.documentElement.lang") == language
        page.wait_for_load_state("networkidle" if name not in ("queue",) else "load")
        picture(page, name, language)


def test_a_provider_is_added_from_a_preset_connected_given_a_model_and_test_called(
    page: Page, relay: ServedRelay, console: Console, language: str
) -> None:
    add_provider(page, relay, "Second")
    picture(page, "added", language)
    open_connection(page, console, "second")
    picture(page, "connection-new", language)
    check = press(page, "try-check")
    expect(check.locator("[data-slot=headline]")).to_have_text(WORDS[language]["connected"])
    expect(check.locator("form button")).to_be_focused()
    check.locator("summary").click()
    expect(check.locator("li").first).to_contain_text("sim")
    picture(page, "connected", language)
    console.run("Model.objects.create(provider=Provider.objects.get(slug='second'), upstream_name='sim-second')")
    page.reload()
    test = press(page, "try-test")
    expect(test.locator("[data-slot=headline]")).to_have_text(WORDS[language]["answered"])
    expect(test.locator("[data-slot=said]")).to_contain_text("ready")
    picture(page, "tested", language)


def test_a_changed_lane_acts_within_a_second(page: Page, relay: ServedRelay, console: Console) -> None:
    profile = console.run("result = LaneProfile.objects.get(provider__slug='simulator').pk")
    page.goto(f"/admin/scheduling/laneprofile/{profile}/change/")
    page.fill("#id_lanes", "3")
    with page.expect_navigation():
        page.locator("#id_lanes").press("Enter")
    wait_until(lambda: _lanes(relay) == 3, 1, "the new lane")


def _lanes(relay: ServedRelay) -> int:
    provider = provider_in(queue_of(relay), "simulator")
    return int(provider["limit"]) if provider else 0


def test_while_a_check_waits_the_page_says_where_it_stands(
    page: Page, relay: ServedRelay, console: Console, language: str
) -> None:
    script(relay, "ttft_ms=4000", "/v1/chat/completions", times=4)
    open_connection(page, console, "simulator")
    start = """(token, model) => fetch("/v1/chat/completions", {
        method: "POST", headers: {Authorization: `Bearer ${token}`, "Content-Type": "application/json"},
        body: JSON.stringify({model, messages: [{role: "user", content: "hi"}]})})"""
    for model in ("sim-small", "sim-small", "sim-large", "sim-large"):
        page.evaluate(f"([token, model]) => {{ ({start})(token, model); }}", [relay.token, model])
    wait_until(lambda: _running(relay) == 4, 3, "four running calls")
    check = press(page, "try-check")
    expect(check.locator("[data-slot=now]")).to_have_text(WORDS[language]["waiting"])
    picture(page, "waiting", language)
    expect(check.locator("[data-slot=headline]")).to_have_text(WORDS[language]["connected"], timeout=10_000)
    expect(check.locator("[data-slot=now]")).to_be_hidden()


def _running(relay: ServedRelay) -> int:
    provider = provider_in(queue_of(relay), "simulator")
    return int(provider["running"]) if provider else 0


def test_a_failed_check_says_why_and_the_list_keeps_it(
    page: Page, relay: ServedRelay, console: Console, language: str
) -> None:
    add_provider(page, relay, "Broken")
    console.run("Provider.objects.filter(slug='broken').update(base_url='http://127.0.0.1:9/v1')")
    open_connection(page, console, "broken")
    check = press(page, "try-check")
    expect(check.locator("[data-slot=report]")).to_have_attribute("data-ok", "false")
    expect(check.locator("[data-slot=message]")).not_to_be_empty()
    picture(page, "broken", language)
    page.goto(PROVIDERS)
    expect(page.locator("#result_list")).to_contain_text(check_reason(console))
    picture(page, "providers-broken", language)


def check_reason(console: Console) -> str:
    return str(console.run("result = Provider.objects.get(slug='broken').failed_reason"))


def test_a_provider_is_paused_with_a_message_and_resumed(page: Page, console: Console, language: str) -> None:
    pk = console.run("result = Provider.objects.get(slug='simulator').pk")
    page.goto(f"{PROVIDERS}{pk}/change/")
    open_dialog(page, "pause_this")
    page.fill("#id_message", "back at noon")
    picture(page, "pausing", language)
    submit_dialog(page)
    assert console.run("result = Provider.objects.get(slug='simulator').pause_message") == "back at noon"
    page.goto(PROVIDERS)
    expect(page.locator("#result_list")).to_contain_text(WORDS[language]["paused"])
    page.goto(f"{PROVIDERS}{pk}/change/")
    open_dialog(page, "resume_this")
    submit_dialog(page)
    assert not console.run("result = Provider.objects.get(slug='simulator').paused")


def open_dialog(page: Page, action: str) -> None:
    if page.viewport_size == NARROW:
        page.locator("a:has-text('more_horiz'):visible").click()
    page.locator(f"a[hx-get$='/{action}/']:visible").click()


def submit_dialog(page: Page) -> None:
    with page.expect_navigation():
        page.locator("#dialog button[type=submit]").click()
