"""What was published reaches every endpoint that matched, whatever is killed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.events.killing import Story, publish_kills
from tests.events.replay_killing import replay_kills
from tests.servers.postgres import PrivatePostgres
from tests.webhook.conftest import Receiver, end, start


@pytest.fixture
def own_receiver(tmp_path: Path) -> Iterator[Receiver]:
    """One with a log of its own."""
    log = tmp_path / "log"
    process, told = start("app_process", str(log))
    yield Receiver(told["port"], log)
    end(process)


@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgres", marks=pytest.mark.wide)])
def test_every_endpoint_that_matched_gets_the_event_whatever_is_killed(
    store: str, tmp_path: Path, own_receiver: Receiver
) -> None:
    if store == "sqlite":
        dsn, story = f"sqlite:///{tmp_path}/road.db", Story(60, 3, 1, seed=1)
        report = publish_kills(dsn, own_receiver, tmp_path, story, None)
    else:
        with PrivatePostgres() as server:
            story = Story(60, 4, 2, seed=2)
            crash = lambda: server.restart("immediate")  # noqa: E731
            report = publish_kills(server.create_road(), own_receiver, tmp_path, story, crash)
    assert report.breaches == []
    assert (report.published, report.kills) == (story.events, story.kills)
    assert report.delivered > story.events


@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgres", marks=pytest.mark.wide)])
def test_a_replay_goes_on_after_kills_and_sends_each_event_once(
    store: str, tmp_path: Path, own_receiver: Receiver
) -> None:
    if store == "sqlite":
        dsn, story = f"sqlite:///{tmp_path}/road.db", Story(50, 2, 1, seed=1)
        report = replay_kills(dsn, own_receiver, story, None)
    else:
        with PrivatePostgres() as server:
            story = Story(50, 3, 2, seed=2)
            crash = lambda: server.restart("immediate")  # noqa: E731
            report = replay_kills(server.create_road(), own_receiver, story, crash)
    assert report.breaches == []
    assert report.kills == story.kills
