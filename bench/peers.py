"""Other relays, measured side by side where they are installed; never a dependency.

LiteLLM: `litellm` on the PATH (pip install "litellm[proxy]"). Portkey: `gateway` on the PATH (npm install -g
@portkey-ai/gateway). One worker each, no database, nothing that calls home.
"""

from __future__ import annotations

import json
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from bench.plan import Entrance
from bench.processes import Bench, DidNotStart, Variant, accepts, free_port
from bench.upstream import MODEL
from relay_project.server.children import ChildSpec


def start_peers(bench: Bench, core: int | None, upstream_url: str) -> Iterator[Variant]:
    """`upstream_url` ends with /v1. What is installed but will not start is left out, with its words."""
    for start in _installed():
        try:
            yield start(bench, core, upstream_url)
        except DidNotStart as failure:
            print(f"left out: {failure}", file=sys.stderr)


def _installed() -> Iterator[Callable[[Bench, int | None, str], Variant]]:
    litellm, portkey = shutil.which("litellm"), shutil.which("gateway")
    if litellm is not None:
        yield partial(_start_litellm, litellm)
    if portkey is not None and "portkey" in str(Path(portkey).resolve()):  # others may call themselves a gateway
        yield partial(_start_portkey, portkey)


def _start_litellm(program: str, bench: Bench, core: int | None, upstream_url: str) -> Variant:
    port = free_port()
    sent_to = {"model": f"openai/{MODEL}", "api_base": upstream_url, "api_key": "sk-bench"}
    config = bench.folder / "litellm.yaml"  # JSON is YAML
    config.write_text(json.dumps({"model_list": [{"model_name": MODEL, "litellm_params": sent_to}]}))
    arguments = ("--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--num_workers", "1")
    key = f"sk-{secrets.token_hex(16)}"
    env = {
        "LITELLM_MASTER_KEY": key,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MODE": "PRODUCTION",
        "LITELLM_LOG": "ERROR",
    }
    pid = bench.start(ChildSpec("LiteLLM", (program, *arguments), env), core, partial(accepts, port))
    return Variant("LiteLLM", Entrance(port, MODEL, headers={"authorization": f"Bearer {key}"}), pid, is_peer=True)


def _start_portkey(program: str, bench: Bench, core: int | None, upstream_url: str) -> Variant:
    port = free_port()
    spec = ChildSpec("Portkey", (program, f"--port={port}", "--headless"), {"NODE_ENV": "production"})
    pid = bench.start(spec, core, partial(accepts, port))
    headers = {
        "authorization": "Bearer sk-bench",
        "x-portkey-provider": "openai",
        "x-portkey-custom-host": upstream_url,
    }
    return Variant("Portkey", Entrance(port, MODEL, headers=headers), pid, is_peer=True)
