"""Asks a server process of ours whether it answers."""

from __future__ import annotations

import asyncio

ANSWER_WITHIN_S = 5.0


async def accepts(host: str, port: int) -> bool:
    """Whether somebody takes connections there."""
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), ANSWER_WITHIN_S)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


async def answers_200(host: str, port: int, path: str, host_name: str) -> bool:
    """Whether a GET is answered with 200; anything else, silence included, is a no."""
    try:
        return await asyncio.wait_for(_status(host, port, path, host_name), ANSWER_WITHIN_S) == b"200"
    except (OSError, TimeoutError):
        return False


async def _status(host: str, port: int, path: str, host_name: str) -> bytes:
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {host_name}\r\nConnection: close\r\n\r\n".encode())
        return (await reader.readline()).partition(b" ")[2][:3]
    finally:
        writer.close()
