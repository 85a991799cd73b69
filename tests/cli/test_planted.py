"""What lies beside a road's file, planted by somebody who may write there: it is not followed, not
believed, and told."""

import os
from pathlib import Path

import pytest

from tests.cli.running import data, postroad

ANOTHER = 54_321


def linked(path: Path) -> None:
    elsewhere = path.with_name("elsewhere")
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def of_another(path: Path) -> None:
    os.chown(path, ANOTHER, -1)


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


@pytest.mark.parametrize("how", ["a link", "of another user"])
def test_planted_keys_seal_nothing(road: str, how: str, folder: Path) -> None:
    assert road
    keys = folder / "road" / "road.db.keys"
    if how == "a link":
        linked(keys)
    elif os.geteuid() == 0:
        of_another(keys)
    else:
        a_pipe(keys)
    refused = postroad("send", "good", "1")
    assert refused.exit_code == 2, refused.output
    assert "road.db.keys is not read" in " ".join(refused.stderr.split())


def test_a_first_key_that_another_had_begun_is_not_taken(road: str, folder: Path) -> None:
    """The name of a draft is known: whoever may write there could have put a key of his there."""
    assert road
    keys = folder / "road" / "road.db.keys"
    keys.rename(folder / "theirs")
    keys.with_name("road.db.keys.new").symlink_to(folder / "theirs")
    refused = postroad("send", "good", "1")
    assert refused.exit_code == 2, refused.output
    assert "road.db.keys.new is not read: it is a link" in " ".join(refused.stderr.split())


def test_a_link_in_place_of_the_lock_is_not_followed(road: str, folder: Path) -> None:
    assert road
    lock = folder / "road" / "road.db.lock"
    lock.unlink()
    victim = folder / "victim"
    victim.write_text("mine")
    lock.symlink_to(victim)
    refused = postroad("stats")
    assert refused.exit_code == 3, refused.output
    assert victim.read_text() == "mine"
    lock.unlink()
    os.mkfifo(lock)
    assert postroad("stats").exit_code == 3
    lock.unlink()
    assert data("stats")["waiting"] == 0
