"""Vendors as data, under the same keys as the lane presets: which dialect, where, with what.

`adapter_cap_s` is after how long the adapter gives up by itself: a command-line agent's whole call, or an
HTTP call's silence (no first byte, nothing more). A lane profile's run_timeout_s must exceed it, so that the
adapter, which knows why, speaks first. `typical_call_s` is an ordinary call's duration; a shorter
wait_timeout_s would refuse people behind one ordinary call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

ADAPTERS = Path(__file__).parent / "adapters"


@dataclass(frozen=True, slots=True)
class VendorPreset:
    label: str | Promise
    dialect: str
    base_url: str = ""  # "" = the admin types it, or the dialect needs none
    needs_key: bool = True
    typical_call_s: int = 20
    account_wide: bool = False  # its windows are counted per account, not per model (facts: provider-facts)
    adapter_cap_s: int | None = 170  # None: only the lane profile's run_timeout_s ends a call
    headers: Mapping[str, str] = field(default_factory=dict)
    notes: str | Promise = ""

    @property
    def needs_url(self) -> bool:
        return not self.dialect.startswith("cli_")


VENDORS: dict[str, VendorPreset] = {
    "openai": VendorPreset("OpenAI", "openai_chat", "https://api.openai.com/v1", adapter_cap_s=600),
    "azure": VendorPreset(
        "Azure OpenAI",
        "openai_chat",
        adapter_cap_s=600,
        notes=_("Base URL: https://RESOURCE.openai.azure.com/openai/v1. Upstream names are deployments."),
    ),
    "anthropic": VendorPreset("Anthropic", "anthropic", "https://api.anthropic.com", adapter_cap_s=600),
    "gemini": VendorPreset(
        _("Gemini API"), "gemini", "https://generativelanguage.googleapis.com/v1beta", adapter_cap_s=290
    ),
    "openrouter": VendorPreset(
        "OpenRouter", "openai_chat", "https://openrouter.ai/api/v1", adapter_cap_s=290, account_wide=True
    ),
    "groq": VendorPreset("Groq", "openai_chat", "https://api.groq.com/openai/v1", typical_call_s=5),
    "mistral": VendorPreset("Mistral", "openai_chat", "https://api.mistral.ai/v1"),
    "deepseek": VendorPreset(
        "DeepSeek",
        "openai_chat",
        "https://api.deepseek.com/v1",
        typical_call_s=40,
        adapter_cap_s=600,
        account_wide=True,
    ),
    "nvidia": VendorPreset(
        "NVIDIA",
        "openai_chat",
        "https://integrate.api.nvidia.com/v1",
        typical_call_s=40,
        adapter_cap_s=590,
        notes=_("About 40 requests per minute per key: noted, not paced. Its refusals are passed on as they are."),
    ),
    "ollama": VendorPreset(
        "Ollama",
        "openai_chat",
        "http://127.0.0.1:11434/v1",
        needs_key=False,
        typical_call_s=30,
        adapter_cap_s=290,
    ),
    "lm-studio": VendorPreset(
        "LM Studio", "openai_chat", "http://127.0.0.1:1234/v1", needs_key=False, typical_call_s=30
    ),
    "llama.cpp": VendorPreset(
        "llama.cpp server",
        "openai_chat",
        "http://127.0.0.1:8080/v1",
        needs_key=False,
        typical_call_s=30,
        adapter_cap_s=290,
        notes=_("Lanes are the server's --parallel."),
    ),
    "vllm": VendorPreset("vLLM", "openai_chat", "http://127.0.0.1:8000/v1", needs_key=False, adapter_cap_s=290),
    "codex": VendorPreset(
        _("Codex (command line)"),
        "cli_codex",
        needs_key=False,
        typical_call_s=40,
        adapter_cap_s=290,
        account_wide=True,
    ),
    "claude": VendorPreset(
        _("Claude (command line)"),
        "cli_claude",
        needs_key=False,
        typical_call_s=40,
        adapter_cap_s=290,
        account_wide=True,
    ),
    "gemini-cli": VendorPreset(
        _("Gemini (command line)"),
        "cli_gemini",
        needs_key=False,
        typical_call_s=40,
        adapter_cap_s=290,
        account_wide=True,
    ),
    "slow-cli": VendorPreset(
        _("Slow agent (command line)"),
        "cli_agent",
        needs_key=False,
        typical_call_s=60,
        adapter_cap_s=600,
        notes=_("An agent whose call takes about a minute; it is stopped after ten."),
    ),
    "fal": VendorPreset(
        "fal.ai", "fal", "https://queue.fal.run", typical_call_s=30, adapter_cap_s=290, account_wide=True
    ),
    "image": VendorPreset(_("Images, OpenAI's way"), "openai_images", typical_call_s=40, adapter_cap_s=290),
    "embedding-local": VendorPreset(
        _("Embeddings on this machine"), "openai_embeddings", needs_key=False, typical_call_s=2
    ),
    "simulator": VendorPreset(
        _("Simulator"),
        "openai_chat",
        needs_key=False,
        typical_call_s=3,
        notes=_("Start it with “manage.py simulator --port N”; base URL: http://127.0.0.1:N/v1"),
    ),
    "custom": VendorPreset(
        _("Anything that speaks OpenAI's dialect"),
        "openai_chat",
        needs_key=False,
        adapter_cap_s=None,
        notes=_("You type lanes, longest wait and longest run; nothing is assumed."),
    ),
}


def has_adapter(dialect: str) -> bool:
    """Whether this build of the relay can speak the dialect: it has the file that sends."""
    return (ADAPTERS / dialect / "adapter.py").is_file()


def cannot_connect_yet(vendor: str) -> str:
    """What to tell whoever picks a vendor without an adapter; "" where there is one."""
    preset = VENDORS[vendor]
    if has_adapter(preset.dialect):
        return ""
    return _("The relay does not speak the dialect “%(dialect)s” yet: no call can be sent to this provider.") % {
        "dialect": preset.dialect
    }
