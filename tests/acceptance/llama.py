"""A real llama.cpp server with a tiny model of random weights: a true upstream with true slots, up in a second.

    with llama_server(folder, slots=2) as url: ...

The model babbles: what it says means nothing, how long it takes and how many it serves at once is real.
"""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gguf
import httpx
import numpy as np
import xllamacpp

START_WITHIN_S = 30
CONTEXT_TOKENS = 4096
WIDTH, LAYERS, HEADS, INNER = 32, 1, 2, 64
UNKNOWN, BEGIN, END = 0, 1, 2  # ids of the special tokens
PRINTABLE = [chr(code) for code in range(0x21, 0x7F)]
SPACE = "▁"  # how SentencePiece writes it
TEMPLATE = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant:"


def write_model(path: Path) -> None:
    """A llama architecture with a vocabulary of bytes and printable letters."""
    pieces = _vocabulary()
    writer = gguf.GGUFWriter(path, "llama")
    _describe(writer)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in pieces])
    writer.add_token_scores([-float(number) for number in range(len(pieces))])
    writer.add_token_types([kind for _, kind in pieces])
    writer.add_unk_token_id(UNKNOWN)
    writer.add_bos_token_id(BEGIN)
    writer.add_eos_token_id(END)
    writer.add_chat_template(TEMPLATE)
    for name, tensor in _weights(len(pieces)):
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _vocabulary() -> list[tuple[str, int]]:
    special = [
        ("<unk>", gguf.TokenType.UNKNOWN),
        *(("<s>", gguf.TokenType.CONTROL), ("</s>", gguf.TokenType.CONTROL)),
    ]
    every_byte = [(f"<0x{value:02X}>", gguf.TokenType.BYTE) for value in range(256)]
    return special + every_byte + [(piece, gguf.TokenType.NORMAL) for piece in (SPACE, *PRINTABLE)]


def _describe(writer: gguf.GGUFWriter) -> None:
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_feed_forward_length(INNER)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)


def _weights(vocabulary: int) -> Iterator[tuple[str, np.ndarray]]:
    dice = np.random.default_rng(11)

    def matrix(rows: int, columns: int) -> np.ndarray:
        return dice.normal(0, 0.1, (rows, columns)).astype(np.float32)

    ones = np.ones(WIDTH, np.float32)
    yield from (("token_embd.weight", matrix(vocabulary, WIDTH)), ("output.weight", matrix(vocabulary, WIDTH)))
    yield "output_norm.weight", ones
    for layer in range(LAYERS):
        yield from ((f"blk.{layer}.{name}_norm.weight", ones) for name in ("attn", "ffn"))
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield f"blk.{layer}.{name}.weight", matrix(WIDTH, WIDTH)
        for name, shape in {"gate": (INNER, WIDTH), "up": (INNER, WIDTH), "down": (WIDTH, INNER)}.items():
            yield f"blk.{layer}.ffn_{name}.weight", matrix(*shape)


@contextlib.contextmanager
def llama_server(folder: Path, slots: int) -> Iterator[str]:
    """Its root URL. `folder` takes the model and what the server says."""
    model = folder / "tiny.gguf"
    write_model(model)
    command = [sys.executable, "-m", __name__, str(model), str(slots)]
    with (folder / "llama.log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        yield next(line.strip() for line in process.stdout if line.startswith("http://"))
    finally:
        process.terminate()
        process.communicate(timeout=START_WITHIN_S)


def busy_at(url: str) -> int:
    """How many calls are inside the server: those in its slots and those it has taken in without one."""
    metrics = httpx.get(f"{url}/metrics", trust_env=False, timeout=10).raise_for_status().text
    figures = {name: float(value) for name, value in re.findall(r"^llamacpp:(\w+) (\S+)$", metrics, re.MULTILINE)}
    return int(figures["requests_processing"] + figures["requests_deferred"])


def serve(model: str, slots: int) -> None:
    """Until SIGTERM; prints its URL when it serves."""
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_parallel, params.n_ctx = slots, CONTEXT_TOKENS
    params.cpuparams.n_threads = 1
    params.warmup, params.endpoint_metrics = False, True
    server = xllamacpp.Server(params)  # kept: it stops when it is forgotten
    print(server.listening_address, flush=True)
    signal.sigwait({signal.SIGTERM})


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
