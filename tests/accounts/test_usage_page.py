"""`/usage/`: what a member sees of their own requests, and of nobody else's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import translation
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import UsageRow, User
from accounts.outcomes import Outcome
from accounts.usage_page.chart import draw_chart
from accounts.usage_page.figures import count_by_role
from accounts.usage_page.period import PERIODS, pick_period
from accounts.usage_page.stories import tell
from accounts.usage_page.words import OUTCOME_WORDS, REASON_WORDS, a_duration, money, short_number, tone_of
from providers.contract import RefusalKind
from relay_project.catalogue import CATALOGUE

NOW = datetime(2026, 11, 30, 12, 30, tzinfo=UTC)
PAGE_QUERIES = 6  # session and user; totals, by role, by model, the latest

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def at_noon_in_english() -> Iterator[None]:
    with time_machine.travel(NOW, tick=False), translation.override("en"):
        yield


@pytest.fixture
def mina() -> User:
    return User.objects.create_user("mina", password="x")


@pytest.fixture
def page(client: Client, mina: User) -> Any:
    client.force_login(mina)

    def get(query: str = "", language: str = "en") -> str:
        response = client.get(f"/usage/{query}", headers={"accept-language": language})
        assert response.status_code == 200
        text = re.sub(r"<title>.*?</title>|<[^>]+>", " ", response.content.decode(), flags=re.DOTALL)
        return re.sub(r"\s+", " ", unescape(text))

    return get


def add(user: User | None, age: timedelta = timedelta(minutes=5), **fields: Any) -> UsageRow:
    number = UsageRow.objects.count()
    values: dict[str, Any] = {"outcome": "completed", "provider": "gemini", "model": "gemini-2.5-flash", **fields}
    return UsageRow.objects.create(request_id=f"r{number}", created_at=NOW - age, user=user, **values)


def test_a_stranger_is_sent_to_sign_in(client: Client) -> None:
    response = client.get("/usage/")
    assert (response.status_code, response["Location"]) == (302, "/login/?next=/usage/")


def test_the_four_figures_are_compared_with_the_period_before(page: Any, mina: User) -> None:
    for _ in range(3):
        add(mina, prompt_tokens=1_000, completion_tokens=234, cost_microusd=500_000)
    add(mina, outcome="rejected", refused_count=6, model="", provider="")
    add(mina, queue_ms=5_001)
    add(mina, timedelta(hours=30), completion_tokens=1_851)
    add(mina, timedelta(hours=60), completion_tokens=10**6)
    text = page()
    assert "Requests 10 ▲ 900 % vs the 24 hours before" in text
    assert "Tokens 3,702 ▲ 100 % vs the 24 hours before" in text
    assert "Cost $1.50 nothing in the 24 hours before" in text
    assert "Refused, or waited over 5 s 70.0 % 7 requests 0.0 % in the 24 hours before" in text


def test_a_member_sees_only_their_own_requests(page: Any, mina: User) -> None:
    add(mina, model="my-model")
    add(User.objects.create_user("joon"), model="his-model")
    add(None, model="nobodys-model")
    text = page()
    assert "my-model" in text
    assert "his-model" not in text
    assert "nobodys-model" not in text
    assert "Requests 1 " in text


def test_a_request_tells_its_story(page: Any, mina: User) -> None:
    add(
        mina, timedelta(minutes=27, seconds=-7), role="fast-chat", queue_ms=1_200, pace_ms=1_200, ttft_ms=400,
        run_ms=6_100, prompt_tokens=10, completion_tokens=812, measured="measured", client="openai/2.3",
        attempts=[
            {"provider": "gemini", "model": "2.5-pro", "outcome": "refused", "reason": "exhausted", "run_ms": 300},
            {"provider": "gemini", "model": "gemini-2.5-flash", "outcome": "completed", "reason": "", "run_ms": 6_100},
        ],
    )  # fmt: skip
    text = page()
    assert (
        "12:03:07 fast-chat → gemini-2.5-flash ● answered"
        " waited 1.2 s (pace) · first token 0.4 s · 812 tokens in 6.1 s · measured"
    ) in text
    assert "2.5-pro · gemini · refused by provider after 0.3 s: used up until its reset" in text


def test_many_rejections_in_one_row_say_how_many_they_were(mina: User) -> None:
    story = tell(add(mina, outcome="rejected", reason="gateway_overloaded", refused_count=37))
    assert story.parts == ["37 requests within a minute"]
    assert (story.tone, story.why) == ("warn", "the relay was full")


def test_a_request_that_went_well_at_once_needs_no_attempt_lines(mina: User) -> None:
    attempt = {"provider": "gemini", "model": "m", "outcome": "completed", "reason": "", "run_ms": 5}
    assert tell(add(mina, attempts=[attempt])).attempts == []
    assert len(tell(add(mina, outcome="refused", attempts=[attempt | {"outcome": "refused"}])).attempts) == 1


@pytest.mark.parametrize("period", [period.key for period in PERIODS])
def test_the_page_takes_the_same_few_queries_however_many_rows_there_are(
    page: Any, mina: User, period: str, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(200):
        add(mina, timedelta(hours=number / 4), role=f"role-{number % 9}", model=f"model-{number % 20}")
    with django_assert_num_queries(PAGE_QUERIES):
        page(f"?period={period}")


def test_the_latest_fifty_are_listed_newest_first(client: Client, page: Any, mina: User) -> None:
    for number in range(60):
        add(mina, timedelta(minutes=number))
    page()
    stories = client.get("/usage/").context["stories"]
    assert len(stories) == 50
    assert [story.at for story in stories] == sorted((story.at for story in stories), reverse=True)


def test_without_requests_the_page_says_what_to_do_next(page: Any) -> None:
    text = page()
    assert "Nothing here yet" in text
    assert "curl -N http://testserver/v1/chat/completions" in text
    assert "Send your first request" in text


def test_the_page_speaks_korean(page: Any, mina: User) -> None:
    add(mina, role="fast-chat", queue_ms=1_200, run_ms=6_100, completion_tokens=812, measured="measured")
    text = page(language="ko")
    assert "fast-chat → gemini-2.5-flash ● 응답 완료 1.2초 대기 (줄) · 6.1초에 812토큰 · 실측" in text
    assert "2026년 11월 30일" in text
    assert "직전 24시간에는 없음" in text


def test_an_unknown_period_shows_the_last_day() -> None:
    assert pick_period("a year; drop table").key == "24h"
    assert pick_period("30d").key == "30d"


@pytest.mark.parametrize("period", PERIODS, ids=lambda period: period.key)
def test_the_bars_hold_every_request_of_the_period_once(mina: User, period: Any, settings: Settings) -> None:
    settings.TIME_ZONE = "Asia/Seoul"
    starts = period.starts(NOW)
    for number in range(200):
        add(mina, timedelta(hours=number * 4, minutes=31), role=f"role-{number % 9}")
    counts = count_by_role(mina, starts[0], NOW, period.unit)
    chart = draw_chart(counts, starts, period)
    shown = sum(int(bar.total) for bar in chart.bars)
    assert shown == UsageRow.objects.filter(created_at__gte=starts[0]).count() > 0
    assert len(chart.bars) == period.slots
    assert all(sum(block.height for block in bar.blocks) <= 1000 for bar in chart.bars)


def test_roles_beyond_five_are_drawn_together(mina: User) -> None:
    for number in range(9):
        for _ in range(9 - number):
            add(mina, role=f"role-{number}")
    period = PERIODS[0]
    starts = period.starts(NOW)
    chart = draw_chart(count_by_role(mina, starts[0], NOW, "hour"), starts, period)
    assert chart.series == ["role-0", "role-1", "role-2", "role-3", "role-4", "other roles"]
    assert chart.bars[-1].counts == ["9", "8", "7", "6", "5", "10"]
    assert chart.ticks == ["60", "30", "0"]


def test_a_role_name_is_text_and_never_markup(client: Client, mina: User) -> None:
    add(mina, role="<script>alert(1)</script>", client="<img src=x>", model="<b>")
    client.force_login(mina)
    html = client.get("/usage/").content.decode()
    assert "<script>alert" not in html
    assert "<img src=x>" not in html
    assert "<b>" not in html


def test_every_outcome_and_every_refusal_has_words() -> None:
    assert set(OUTCOME_WORDS) == set(Outcome)
    assert {str(kind) for kind in RefusalKind} <= set(REASON_WORDS)
    assert set(CATALOGUE) - set(REASON_WORDS) <= {"not_found", "method_not_allowed"}  # these leave no row
    assert {tone_of(outcome) for outcome in Outcome} == {"good", "warn", "bad"}


def test_figures_are_written_as_people_write_them() -> None:
    assert [a_duration(ms) for ms in (0, 49, 6_100, 59_960, 130_000)] == [
        "0.0 s", "0.0 s", "6.1 s", "60.0 s", "2 min 10 s",
    ]  # fmt: skip
    assert [money(cost) for cost in (None, 0, 1_300, 2_730_000)] == ["–", "$0.00", "$0.0013", "$2.73"]
    assert [short_number(count) for count in (99_999, 853_354, 12_340_000)] == ["99,999", "853k", "12.3M"]
