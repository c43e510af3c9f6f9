"""One picture per process, at most four a second, only on change."""

from __future__ import annotations

import json

import pytest

from relay_project.api.queue_feed import Picture, QueueFeed
from relay_project.api.queue_rendering import Viewer
from scheduling.clock import FakeClock
from tests.relay_project.queue_fakes import FakeConfiguration, FakeRelay, busy_afternoon

MEMBER = Viewer("user:1")


class Watch:
    """A watcher that keeps what it was offered."""

    def __init__(self) -> None:
        self.pictures: list[Picture] = []

    def __call__(self, picture: Picture) -> None:
        self.pictures.append(picture)

    @property
    def versions(self) -> list[int]:
        return [picture.snapshot.version for picture in self.pictures]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def relay(clock: FakeClock) -> FakeRelay:
    return FakeRelay(clock=clock)


@pytest.fixture
def feed(relay: FakeRelay, clock: FakeClock) -> QueueFeed:
    return QueueFeed(relay, clock)


def test_many_polls_within_a_quarter_second_cost_one_picture(feed: QueueFeed, relay: FakeRelay) -> None:
    assert len({id(feed.current()) for _ in range(100)}) == 1
    assert relay.coordinator.taken == 1


async def test_a_poll_later_gets_times_of_its_own(feed: QueueFeed, clock: FakeClock) -> None:
    first = feed.current()
    await clock.advance(0.25)
    assert feed.current() is not first


async def test_a_watcher_gets_the_picture_at_once_and_each_change(
    feed: QueueFeed, relay: FakeRelay, clock: FakeClock
) -> None:
    watch = Watch()
    feed.watch(watch)
    relay.coordinator.moves_on()
    await clock.advance(0.25)
    assert watch.versions == [7, 8]


async def test_a_burst_of_changes_makes_four_pictures_a_second_and_ends_with_the_last(
    feed: QueueFeed, relay: FakeRelay, clock: FakeClock
) -> None:
    watch = Watch()
    feed.watch(watch)
    for _ in range(100):
        relay.coordinator.moves_on()
        await clock.advance(0.01)
    await clock.advance(0.25)
    assert relay.coordinator.taken <= 1 + 5
    assert watch.versions[-1] == relay.coordinator.picture.version == 107


async def test_constant_polling_does_not_starve_the_watchers(
    feed: QueueFeed, relay: FakeRelay, clock: FakeClock
) -> None:
    watch = Watch()
    feed.watch(watch)
    for _ in range(50):
        feed.current()
        relay.coordinator.moves_on()
        await clock.advance(0.04)
    await clock.advance(0.25)
    assert watch.versions[-1] == relay.coordinator.picture.version
    assert relay.coordinator.taken <= 1 + 9


async def test_nothing_is_made_while_nothing_changes_but_every_five_seconds(
    feed: QueueFeed, relay: FakeRelay, clock: FakeClock
) -> None:
    watch = Watch()
    feed.watch(watch)
    await clock.advance(4.9)
    assert relay.coordinator.taken == 1
    await clock.advance(15.0)
    assert relay.coordinator.taken == 4


async def test_a_changed_configuration_is_shown_within_a_second(
    feed: QueueFeed, relay: FakeRelay, clock: FakeClock
) -> None:
    watch = Watch()
    feed.watch(watch)
    relay.configuration = FakeConfiguration(provider_names={"gemini": "Renamed"})
    await clock.advance(1.0)
    assert watch.pictures[-1].common["providers"][0]["name"] == "Renamed"


async def test_the_last_watcher_to_leave_stops_the_feed(feed: QueueFeed, relay: FakeRelay, clock: FakeClock) -> None:
    leave_one, leave_two = feed.watch(Watch()), feed.watch(Watch())
    assert len(relay.coordinator.listeners) == 1
    leave_one()
    leave_one()
    assert len(relay.coordinator.listeners) == 1
    leave_two()
    await clock.advance(30)
    assert relay.coordinator.listeners == []
    assert relay.coordinator.taken == 1


async def test_a_failing_snapshot_does_not_end_the_feed(
    feed: QueueFeed, relay: FakeRelay, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_the_second_time(relay, monkeypatch)
    watch = Watch()
    feed.watch(watch)
    with pytest.raises(ConnectionError):
        await clock.advance(6)
    relay.coordinator.moves_on()
    await clock.advance(6)
    assert watch.versions[-1] == 8


def fail_the_second_time(relay: FakeRelay, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is away for a moment."""
    take = relay.coordinator.snapshot

    def snapshot() -> object:
        if relay.coordinator.taken == 1:
            relay.coordinator.taken += 1
            raise ConnectionError("store away")
        return take()

    monkeypatch.setattr(relay.coordinator, "snapshot", snapshot)


def test_a_frame_is_the_common_part_and_the_viewers_rows() -> None:
    picture = Picture(busy_afternoon(), FakeConfiguration())
    frame = json.loads(picture.frame(MEMBER))
    assert frame == {"type": "queue"} | picture.as_dict(MEMBER)
    assert json.loads(picture.frame(MEMBER, confirm=True)) == frame | {"confirm": True}


def test_rows_are_serialised_once_per_viewer_and_the_common_part_once(monkeypatch: pytest.MonkeyPatch) -> None:
    import relay_project.api.queue_feed as module

    encoded: list[object] = []
    encode = module._members
    monkeypatch.setattr(module, "_members", lambda value: encoded.append(value) or encode(value))
    picture = Picture(busy_afternoon(), FakeConfiguration())
    for _ in range(50):
        picture.frame(MEMBER)
        picture.frame(Viewer("user:900002"))
    assert len(encoded) == 3
