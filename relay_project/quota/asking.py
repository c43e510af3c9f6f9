"""A probe as a call: one tiny request to a model that hangs on the closed target."""

from __future__ import annotations

import secrets

import msgspec
import structlog

from relay_project.calls import Call
from relay_project.errors import RelayError
from relay_project.quota.states import OpenState
from relay_project.relay import Relay
from relay_project.rendering import Hearer
from relay_project.snapshot import Caller, Configuration, ModelEntry
from scheduling.core.spec import Class, Scope
from scheduling.errors import Rejection

log = structlog.get_logger(__name__)

OURSELVES = Caller(user_id=None, token_id=None, team_id=None, flow="relay:probes", limits=())


async def is_back(relay: Relay, configuration: Configuration, state: OpenState) -> bool:
    """Ask once. The answer's success clears the state by itself, as any success does; this only tells."""
    model = model_to_ask(configuration, state)
    if model is None:
        return False
    try:
        reply = await relay.answer(_call(model, state))
        async for _part in reply.stream:
            pass
    except (Rejection, RelayError) as no:
        log.info("still used up", provider=state.target.provider, target=state.target.key, told=str(no))
        return False
    return True


def model_to_ask(configuration: Configuration, state: OpenState) -> ModelEntry | None:
    """The cheapest enabled model that the state holds up; None if there is none (any more)."""
    held = [model for model in configuration.models.values() if model.enabled and _hangs_on(model, state)]
    return min(held, key=lambda model: (model.output_microusd_per_mtok or 0, model.key), default=None)


def _hangs_on(model: ModelEntry, state: OpenState) -> bool:
    if model.provider != state.target.provider:
        return False
    return state.target.scope is not Scope.MODEL or state.target.key == model.limit_group


def _call(model: ModelEntry, state: OpenState) -> Call:
    body = {"model": model.public_name, "max_tokens": 1, "messages": [{"role": "user", "content": "ping"}]}
    return Call(
        caller=OURSELVES,
        hearer=Hearer("openai", "en", f"probe_{secrets.token_hex(12)}"),
        body=msgspec.json.encode(body),
        purpose="probe",
        klass=Class.BATCH,
    )
