"""A second provider at the shared relay's simulator, with one lane, so that whoever comes second waits."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from tests.acceptance.calls import new_word
from tests.acceptance.console import Console
from tests.acceptance.live import provider_in, queue_of, wait_until_in_force
from tests.acceptance.served import ServedRelay
from tests.acceptance.waiting import wait_until

GIVE_UP_S = 60


@contextlib.contextmanager
def one_lane(relay: ServedRelay, console: Console, slug: str, wait_s: int) -> Iterator[str]:
    """Makes the provider and takes it away again. Its one model is named as it is."""
    console.run(f"""
        profile = create_profile("simulator", {slug!r}, lanes=1, lanes_per_model=1, wait_timeout_s={wait_s})
        upstream = Provider.objects.get(slug="simulator").base_url
        provider = Provider.objects.create(
            slug={slug!r}, name={slug!r}, vendor="simulator", dialect="openai_chat", base_url=upstream,
            enabled=True, lane_profile=profile,
        )
        Model.objects.create(provider=provider, upstream_name="sim-{slug}", public_name={slug!r})
        Credential.objects.create(provider=provider, label="1", key="sk-any")
    """)
    wait_until_in_force(relay, lambda picture: provider_in(picture, slug) is not None)
    try:
        yield slug
    finally:
        console.run(
            f"Provider.objects.filter(slug={slug!r}).delete(); LaneProfile.objects.filter(name={slug!r}).delete()"
        )


def held_on(relay: ServedRelay, slug: str) -> tuple[int, int]:
    """Running and waiting on the provider."""
    provider = provider_in(queue_of(relay), slug)
    return (0, 0) if provider is None else (provider["running"], provider["waiting"])


def wait_until_held(relay: ServedRelay, slug: str, running: int, waiting: int) -> None:
    wait_until(lambda: held_on(relay, slug) == (running, waiting), 5, f"{running} running, {waiting} waiting on {slug}")


async def call(relay: ServedRelay, model: str, **headers: str) -> httpx.Response:
    """A chat call; names of headers with underscores. Its code word is its User-Agent."""
    word = headers.pop("word", "") or new_word()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    own = {"Authorization": f"Bearer {relay.token}", "User-Agent": word}
    body = {"model": model, "messages": [{"role": "user", "content": f"say {word} please"}]}
    async with httpx.AsyncClient(trust_env=False, timeout=GIVE_UP_S) as client:
        return await client.post(f"{relay.api_url}/chat/completions", json=body, headers=own | named)


def script(relay: ServedRelay, directives: str, path: str, times: int = 1) -> None:
    """What the simulator does with the next requests to this path."""
    scene = {"set": directives, "path": path, "times": times}
    httpx.post(f"{relay.simulator_url}/_script", json=scene, trust_env=False).raise_for_status()


def arrivals(relay: ServedRelay) -> list[Mapping[str, Any]]:
    """What has arrived at the simulator since the last reset, in order."""
    found: list[Mapping[str, Any]] = httpx.get(f"{relay.simulator_url}/_arrivals", trust_env=False).json()["arrivals"]
    return found


def forget(relay: ServedRelay) -> None:
    httpx.post(f"{relay.simulator_url}/_reset", trust_env=False).raise_for_status()
