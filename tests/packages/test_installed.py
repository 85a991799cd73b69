"""The wheel that ships, installed in an empty environment and used from there."""

import re
import zipfile
from pathlib import Path

import pytest

from scripts import release
from tests.packages.installing import Stranger, first_job, smoke, smoke_apart
from tests.servers.postgres import PrivatePostgres
from tests.servers.rabbitmq import PrivateRabbit

# Building and installing took 280 s on a machine with ten times the work that it has cores for.
pytestmark = [pytest.mark.wide, pytest.mark.timeout(900)]
DISTRIBUTIONS_MAX, BYTES_MAX = 12, 45_000_000
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


@pytest.fixture(scope="module")
def bare(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Stranger:
    """Without extras, as README installs it, and with the first job done."""
    stranger = Stranger(tmp_path_factory.mktemp("bare"), dist)
    said, took_s = first_job(stranger, dist)
    assert re.fullmatch(r"msg_\w{13} is stored.*\ntry 1: welcome, Ada!\n", said)
    assert took_s > 0  # `make proof ITEM=first-job` holds it to a minute
    return stranger


def test_a_bare_installation_is_light(bare: Stranger) -> None:
    assert [name for name in EXTRAS if bare.has(name)] == []
    found = bare.installed_bytes()
    assert "postroad" in found
    assert len(found) <= DISTRIBUTIONS_MAX, found
    assert sum(found.values()) <= BYTES_MAX, found


def test_from_an_empty_folder_to_the_first_job_by_the_readme(bare: Stranger) -> None:
    assert "postroad 0." in bare.types("postroad", "--version")
    shown = bare.types("postroad", "demo", "--plain", "--messages", "60", "--speed", "600")
    assert re.search(r"demo: 60 accepted, \d+ delivered, \d+ dead, 0 lost", shown)


def test_the_sdist_is_built_and_installed_where_there_is_no_wheel(
    dist: Path, tmp_path: Path
) -> None:
    """As those do who take no wheels: pip builds one in an environment of its own."""
    (sdist,) = dist.glob("*.tar.gz")
    (wheel,) = dist.glob("*.whl")
    stranger = Stranger(tmp_path, tmp_path)
    stranger.make_environment()
    stranger.installs(f"pip install {sdist}")
    listing = "import importlib.metadata as m; print(*m.files('postroad'), sep='\\n')"
    found = {name for name in stranger.types("python", "-c", listing).splitlines() if ours(name)}
    with zipfile.ZipFile(wheel) as archive:
        assert found == {name for name in archive.namelist() if ours(name)}
    shown = stranger.types("postroad", "demo", "--plain", "--messages", "60", "--speed", "600")
    assert re.search(r"demo: 60 accepted, \d+ delivered, \d+ dead, 0 lost", shown)


def ours(name: str) -> bool:
    return name.startswith("postroad/") and not name.endswith(".pyc")


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
