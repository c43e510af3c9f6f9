"""What a relay's upstream saw: the simulator's own books, over HTTP."""

from __future__ import annotations

from typing import Any

import httpx

from tests.acceptance.waiting import wait_until


class Upstream:
    """`url`: the simulator's root."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, trust_env=False, timeout=10)

    def close(self) -> None:
        self._http.close()

    def reset(self) -> None:
        """Forget what has arrived, and what was to come."""
        self._http.post("/_reset").raise_for_status()

    def report(self, model: str | None = None) -> dict[str, Any]:
        """See docs/simulator.md, `GET /_arrivals`."""
        params = {} if model is None else {"model": model}
        answer: dict[str, Any] = self._http.get("/_arrivals", params=params).raise_for_status().json()
        return answer

    @property
    def now_us(self) -> int:
        now: int = self.report("no such model")["now_us"]
        return now

    @property
    def inflight(self) -> int:
        count: int = self.report("no such model")["inflight"]
        return count

    def peaks(self) -> dict[str, int]:
        """The most there were at once, by model, since the reset."""
        return {model: peak for model, peak in self.report()["peak_by_model"].items() if peak}

    def arrivals(self, code_word: str) -> list[dict[str, Any]]:
        """The requests that carried this code word."""
        return [arrival for arrival in self.report()["arrivals"] if arrival["code_word"] == code_word]

    def arrival(self, code_word: str, within_s: float = 5) -> dict[str, Any]:
        """The one request with this code word, once it has come."""
        wait_until(lambda: self.arrivals(code_word), within_s, f"arrival of {code_word}")
        (arrival,) = self.arrivals(code_word)
        return arrival

    def set_scene(self, directives: str, times: int | None = 1, model: str | None = None) -> None:
        """Directives for the next `times` chats (None: for all), of one model if named."""
        scene = {"set": directives, "path": "/v1/chat/completions", "times": times, "model": model}
        self._http.post("/_script", json=scene).raise_for_status()

    def fault_names(self) -> set[str]:
        return set(self._http.get("/_faults").raise_for_status().json()["faults"])
