from __future__ import annotations

import pytest

from scheduling.core.answers import AnswerLengths


def heard(*lengths: int, of: AnswerLengths | None = None, user: str = "user:1") -> AnswerLengths:
    answers = of or AnswerLengths()
    for tokens in lengths:
        answers.record("p/m", user, tokens)
    return answers


def cap(answers: AnswerLengths, cap_tokens: int = 4096, user: str = "user:1") -> int | None:
    return answers.lowered_cap("p/m", user, cap_tokens)


@pytest.mark.parametrize(("count", "lowered"), [(99, None), (100, 380)])
def test_a_cap_is_lowered_only_after_a_hundred_answers(count: int, lowered: int | None) -> None:
    assert cap(heard(*[300] * count)) == lowered  # in the bucket up to 304, and a quarter more


@pytest.mark.parametrize(("cap_tokens", "lowered"), [(759, None), (760, 380), (100, None)])
def test_a_cap_that_is_not_far_above_use_is_left_alone(cap_tokens: int, lowered: int | None) -> None:
    assert cap(heard(*[300] * 100), cap_tokens) == lowered


def test_short_answers_keep_a_margin_that_means_something() -> None:
    assert cap(heard(*[10] * 100)) == 10 + 64


def test_the_longest_of_a_hundred_is_not_what_the_cap_follows() -> None:
    assert cap(heard(*[300] * 99, 4000)) == 380
    assert cap(heard(*[300] * 98, 4000, 4000)) is None


@pytest.mark.parametrize(("count", "expected"), [(19, None), (20, 19)])
def test_p95_stands_in_for_a_cap_once_twenty_answers_are_known(count: int, expected: int | None) -> None:
    assert heard(*range(1, count + 1)).expected("p/m", "user:1") == expected


def test_what_is_remembered_is_never_below_what_was_said_and_hardly_above() -> None:
    for tokens in (*range(200), 299, 1_000, 4_097, 123_456):
        (bucket,) = heard(tokens).distribution("p/m", "user:1")
        assert tokens <= bucket.upto_tokens <= max(tokens + 1, tokens * 33 / 32)


def test_users_and_models_are_told_apart() -> None:
    answers = heard(*[300] * 100)
    heard(*[2000] * 100, of=answers, user="user:2")
    answers.record("p/other", "user:1", 4000)
    assert (cap(answers), cap(answers, 10_000, user="user:2")) == (380, 2520)  # 2016 and a quarter more
    assert answers.lowered_cap("p/other", "user:1", 4096) is None


def test_what_was_long_ago_is_forgotten() -> None:
    answers = heard(*[3000] * 500)
    assert cap(answers, 100_000) == 3760  # 3008 and a quarter more
    heard(*[300] * 1_000, of=answers)
    assert cap(answers) == 380


def test_memory_is_bounded_in_answers_and_in_users() -> None:
    answers = AnswerLengths(pairs_kept=10)
    for number in range(5_000):
        heard(number * 37 % 100_000, of=answers, user="user:busy")
        heard(1, of=answers, user=f"user:{number}")
    assert sum(bucket.count for bucket in answers.distribution("p/m", "user:busy")) <= 1_000
    assert len(answers.distribution("p/m", "user:busy")) < 600
    known = [number for number in range(5_000) if answers.distribution("p/m", f"user:{number}")]
    assert known == list(range(4_991, 5_000))


def test_the_distribution_rises() -> None:
    buckets = heard(5, 300, 5, 40).distribution("p/m", "user:1")
    assert [(bucket.upto_tokens, bucket.count) for bucket in buckets] == [(5, 2), (40, 1), (304, 1)]
