"""A role's candidates in the order of its strategy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from relay_project.errors import NothingToTry
from relay_project.resolution import Asked, Turns, expected_microusd, resolve
from relay_project.snapshot import Configuration, RoleEntry
from tests.relay_project.use_case_fakes import configuration, rules

SLUGS = ("one", "two", "three")
Prices = tuple[int | None, int | None]


def configured(strategy: str, prices: dict[str, Prices] | None = None, paused: str = "") -> Configuration:
    found = configuration(rules(), providers=SLUGS)
    models = {
        key: replace(
            model,
            input_microusd_per_mtok=(prices or {}).get(model.provider, (1, 1))[0],
            output_microusd_per_mtok=(prices or {}).get(model.provider, (1, 1))[1],
        )
        for key, model in found.models.items()
    }
    assert found.scheduler is not None
    providers = {slug: replace(provider, paused=slug == paused) for slug, provider in found.scheduler.providers.items()}
    role = RoleEntry("fast-chat", "", strategy, 5.0, tuple(models))
    return replace(
        found, models=models, roles={"fast-chat": role}, scheduler=replace(found.scheduler, providers=providers)
    )


def asked(prompt_tokens: int = 100, cap_tokens: int | None = None, turns: Turns | None = None) -> Asked:
    return Asked((turns or Turns()).take, lambda: prompt_tokens, cap_tokens)


def order(configured: Configuration, asked: Asked) -> list[str]:
    return [candidate.provider.slug for candidate in resolve(configured, "fast-chat", asked).candidates]


def test_ordered_is_the_given_order() -> None:
    assert order(configured("ordered"), asked()) == ["one", "two", "three"]


def test_in_turn_each_candidate_is_first_once_in_a_round_and_the_others_follow_it() -> None:
    turns, role = Turns(), configured("round_robin")
    rounds = [order(role, asked(turns=turns)) for _ in range(4)]
    assert rounds == [["one", "two", "three"], ["two", "three", "one"], ["three", "one", "two"], rounds[0]]


def test_in_turn_a_paused_candidate_is_passed_over() -> None:
    turns, role = Turns(), configured("round_robin", paused="two")
    assert [order(role, asked(turns=turns))[0] for _ in range(3)] == ["one", "three", "one"]


def test_each_role_has_turns_of_its_own() -> None:
    turns = Turns()
    assert [turns.take("a"), turns.take("b"), turns.take("a")] == [0, 0, 1]


def test_the_cheapest_is_judged_by_this_request_and_not_by_one_price() -> None:
    role = configured("cheapest", {"one": (9, 9), "two": (1, 12), "three": (4, 4)})
    assert order(role, asked(prompt_tokens=10_000)) == ["two", "three", "one"]
    assert order(role, asked(prompt_tokens=10)) == ["three", "one", "two"]
    assert order(role, asked(prompt_tokens=1_000, cap_tokens=10))[0] == "two"


def test_a_candidate_without_a_price_comes_last_and_ties_keep_their_order() -> None:
    role = configured("cheapest", {"one": (None, 1), "two": (5, 5), "three": (5, 5)})
    assert order(role, asked()) == ["two", "three", "one"]


def test_the_expected_cost_is_in_microusd() -> None:
    model = configured("cheapest", {"one": (2_000_000, 8_000_000)}).models["one/m"]
    assert expected_microusd(model, 1_000, 500) == 1_000 * 2 + 500 * 8


@pytest.mark.parametrize("strategy", ["ordered", "round_robin"])
def test_the_prompt_is_not_looked_at_where_the_strategy_does_not_need_it(strategy: str) -> None:
    def looked_at() -> int:
        raise AssertionError("it was")

    order(configured(strategy), Asked(Turns().take, looked_at))


@pytest.mark.parametrize("strategy", ["round_robin", "cheapest"])
def test_a_role_of_which_all_is_paused_says_so(strategy: str) -> None:
    found = configured(strategy, paused="one")
    alone = replace(found, roles={"fast-chat": replace(found.roles["fast-chat"], candidates=("one/m",))})
    with pytest.raises(NothingToTry):
        order(alone, asked())
