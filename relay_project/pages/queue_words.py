"""The words queue.js draws with, in the reader's language. `{…}` are filled in by the script."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import pgettext


def queue_words() -> dict[str, dict[str, str]]:
    return {
        "time": _time(),
        "state": _state(),
        "closed": _closed(),
        "wait": _wait(),
        "window": _window(),
        "purpose": _purpose(),
        "class": _class(),
        "fact": _fact(),
        "said": _said(),
    }


def _time() -> dict[str, str]:
    return {
        "seconds": _("{s} s"),
        "minutes": _("{m} min {s} s"),
        "hours": _("{h} h {m} min"),
        "days": _("{d} d {h} h"),
        "soon": _("any moment"),
    }


def _state() -> dict[str, str]:
    return {
        "open": pgettext("lane state", "open"),
        "full": pgettext("lane state", "full"),
        "paused": pgettext("lane state", "paused"),
        "closed": pgettext("lane state", "closed"),
        "unconfigured": pgettext("lane state", "not set up"),
    }


def _closed() -> dict[str, str]:
    """Why a provider or a model takes nothing now: reasons of quota states, and our own."""
    return {
        "exhausted": _("used up"),
        "billing": _("needs a top-up or another plan"),
        "rate_limited": _("too many requests for now"),
        "concurrency": _("busy for now"),
        "overloaded": _("the provider is overloaded"),
        "auth": _("the API key was refused"),
        "lane_profile_missing": _("no lane profile: nothing can start until an administrator chooses one"),
        "paused": _("paused by an administrator"),
        "models_paused": _("all its models are paused by an administrator"),
        "line": _("the line is full: new requests are refused"),
    }


def _wait() -> dict[str, str]:
    """What a ticket waits for."""
    return {
        "relay": pgettext("waits for", "relay full"),
        "provider": pgettext("waits for", "lanes full"),
        "model": pgettext("waits for", "model's lanes full"),
        "credential": pgettext("waits for", "API keys busy"),
        "pace": pgettext("waits for", "pace"),
        "tokens": pgettext("waits for", "tokens per minute"),
        "flow": pgettext("waits for", "own limit"),
        "closed": pgettext("waits for", "closed"),
        "paused": pgettext("waits for", "paused"),
        "recovering": pgettext("waits for", "relay recovering"),
    }


def _window() -> dict[str, str]:
    return {
        "used": _("{used} of {limit} {what}"),
        "about": _("about {used} of {limit} {what}"),
        "within": _("{uses} {period}"),
        "requests": _("requests"),
        "input_tokens": _("input tokens"),
        "output_tokens": _("output tokens"),
        "total_tokens": _("tokens"),
        "second": _("this second"),
        "minute": _("this minute"),
        "hour": _("this hour"),
        "day": _("today"),
        "week": _("this week"),
        "month": _("this month"),
        "other": _("in {time}"),
    }


def _purpose() -> dict[str, str]:
    return {
        "check": _("connection check"),
        "test": _("test call"),
        "chat": pgettext("purpose of a request", "chat"),
        "probe": _("probe"),
    }


def _class() -> dict[str, str]:
    return {
        "interactive": pgettext("priority class", "interactive"),
        "normal": pgettext("priority class", "normal"),
        "batch": pgettext("priority class", "batch"),
    }


def _fact() -> dict[str, str]:
    return {
        "running": _("{running} of {limit} running"),
        "running_alone": _("{running} running"),
        "waiting": _("{waiting} waiting"),
        "room": _("room for {room} more"),
        "no_room": _("no room: new requests are refused"),
        "line": _("{waiting} of {limit} waiting"),
        "next_start": _("next start in {time}"),
        "next_start_soon": _("next start any moment"),
        "longest": _("longest running {time}"),
        "opens": _("opens {moment} (in {time})"),
        "opens_soon": _("opens any moment"),
        "opens_unknown": _("no time known"),
        "you": pgettext("owner of a request", "you"),
        "user": _("user {number}"),
        "others": _("+{n} waiting"),
        "waited": _("{time} waited"),
        "starts": _("starts in ~{time}"),
        "starts_soon": _("starts any moment"),
        "starts_unknown": _("start not known"),
        "since": _("running {time}"),
        "place": _("place {n}"),
    }


def _said() -> dict[str, str]:
    """The connection's state, and what a screen reader is told."""
    return {
        "live": _("Live"),
        "polling": _("Every few seconds"),
        "away": _("Connection lost, trying again"),
        "signed_out": _("Signed out"),
        "you_wait": _("Your request waits for {model}, place {n}."),
        "you_run": _("Your request runs on {model}."),
        "cancelled": _("The request has left the line."),
        "gone": _("It was not in line any more: it has started, or its caller has left."),
        "failed": _("That did not work. Reload the page and try again."),
    }
