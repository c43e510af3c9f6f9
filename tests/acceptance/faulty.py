"""A provider of the test's own at the shared relay's simulator: every model has its fault, and its own API key, so that
what a refusal closes holds up nothing else."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from tests.acceptance.console import Console
from tests.acceptance.live import provider_in, wait_until_in_force
from tests.acceptance.served import ServedRelay


@contextlib.contextmanager
def faulty_provider(
    relay: ServedRelay, console: Console, slug: str, models: Mapping[str, str], *, base_url: str = "", key: str = ""
) -> Iterator[None]:
    """`models`: public name → upstream name, which tells the simulator what to do. Taken away again at the end."""
    console.run(f"""
        provider = Provider.objects.create(
            slug={slug!r}, name={slug!r}, vendor="simulator", dialect="openai_chat", enabled=True,
            base_url={base_url!r} or Provider.objects.get(slug="simulator").base_url,
            lane_profile=create_profile("simulator", {slug!r}),
        )
        for public, upstream in {dict(models)!r}.items():
            model = Model.objects.create(provider=provider, upstream_name=upstream, public_name=public)
            Credential.objects.create(
                provider=provider, label=public[:100], bound_model=model, key={key!r} or f"sk-test-{{model.pk:08}}"
            )
    """)
    wait_until_in_force(relay, lambda picture: provider_in(picture, slug) is not None)
    try:
        yield
    finally:
        console.run(f"""
            profile = LaneProfile.objects.get(provider__slug={slug!r})
            Provider.objects.get(slug={slug!r}).delete()
            profile.delete()
        """)
