"""The wheel that ships, installed in an empty environment and used from there."""

import re
from pathlib import Path

import pytest

from scripts import release
from tests.packages.installing import Stranger, first_job, smoke, smoke_apart
from tests.servers.postgres import PrivatePostgres
from tests.servers.rabbitmq import PrivateRabbit

# Building and installing took 280 s on a machine with ten times the work that it has cores for.
pytestmark = [pytest.mark.wide, pytest.mark.timeout(900)]
EXTRAS = ("asyncpg", "uvicorn", "rich", "dns", "uvloop")


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    _ = release.build(folder, release.epoch())
    return folder


@pytest.fixture(scope="module")
def everything(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Stranger:
    """With all extras."""
    stranger = Stranger(tmp_path_factory.mktemp("all"), dist)
    stranger.make_environment()
    stranger.installs("pip install 'postroad[all]'")
    return stranger


def test_from_an_empty_folder_to_the_first_job_by_the_readme(dist: Path, tmp_path: Path) -> None:
    stranger = Stranger(tmp_path, dist)
    said, took_s = first_job(stranger, dist)
    assert re.fullmatch(r"msg_\w{13} is stored.*\ntry 1: welcome, Ada!\n", said)
    assert took_s > 0  # `make proof ITEM=first-job` holds it to a minute
    assert [name for name in EXTRAS if stranger.has(name)] == []
    assert "postroad 0." in stranger.types("postroad", "--version")
    shown = stranger.types("postroad", "demo", "--plain", "--messages", "60", "--speed", "600")
    assert re.search(r"demo: 60 accepted, \d+ delivered, \d+ dead, 0 lost", shown)


def test_the_demo_runs_with_all_extras(everything: Stranger) -> None:
    assert [name for name in EXTRAS if not everything.has(name)] == []
    shown = everything.types("postroad", "demo", "--messages", "60", "--speed", "600")
    assert re.search(r"demo: 60 accepted, \d+ delivered, \d+ dead, 0 lost", shown)


def test_up_works_on_sqlite(everything: Stranger) -> None:
    smoke(everything, "sqlite:///road/road.db")


def test_up_works_on_postgresql(everything: Stranger, server: PrivatePostgres) -> None:
    smoke(everything, server.create_database())


def test_its_roles_work_as_processes_of_their_own(
    everything: Stranger, server: PrivatePostgres
) -> None:
    smoke_apart(everything, server.create_database())


def test_up_works_on_rabbitmq(everything: Stranger, broker: PrivateRabbit) -> None:
    state = f"sqlite:///{everything.folder}/state.db"
    smoke(everything, f"{broker.create_vhost()}?state={state}")
