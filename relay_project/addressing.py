"""Where an attempt goes: candidate and lease → the target, its clocks, and the place that a no would close."""

from __future__ import annotations

from providers.contract import Deadlines, Refusal, Target
from providers.faults import was_sent
from relay_project.quota.states import Place
from relay_project.resolution import Candidate
from scheduling.coordinator import Lease
from scheduling.core.charge import Ending


def ending_of(refusal: Refusal) -> Ending:
    if not was_sent(refusal):
        return Ending.UNSENT
    return Ending.FAILED if refusal.status is None else Ending.REFUSED


def place_of(candidate: Candidate, lease: Lease) -> Place:
    return Place(
        provider=candidate.provider.slug,
        model=candidate.model.key,
        limit_group=candidate.model.limit_group,
        credential_id=lease.credential_id,
        quota_group=candidate.provider.quota_groups.get(lease.credential_id or "", ""),
        account_wide=candidate.provider.account_wide,
    )


def target_of(candidate: Candidate, lease: Lease) -> Target:
    provider = candidate.provider
    return Target(
        provider=provider.slug,
        vendor=provider.vendor,
        base_url=provider.base_url,
        model=candidate.model.upstream_name,
        credential=provider.credentials.get(lease.credential_id or ""),
        headers=provider.headers,
    )


def deadlines_of(candidate: Candidate, lease: Lease) -> Deadlines:
    silence_s = candidate.provider.silence_s
    return Deadlines(first_byte_s=silence_s, idle_s=silence_s, total_s=lease.rules.run_timeout_us / 1e6)
