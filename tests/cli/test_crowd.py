"""Clients that never finish their requests take nothing from deliveries."""

import time
from pathlib import Path

import pytest

from tests.cli.crowding import Pending, Receiver, crowded, half_heads, said
from tests.cli.running import data

TOLD = "connections to the API were ended"


def test_deliveries_and_commands_go_on_beside_a_crowd_of_half_heads(folder: Path) -> None:
    with Receiver() as receiver, crowded(folder, guarded=True) as (_, at):
        with Pending(at, receiver.url) as pending, half_heads(at):
            assert b" 201 " in pending.finish()
            receiver.gets(1)
            data("send", receiver.url, "2")
            receiver.gets(2)
        # Told of once a while, not once for each of them; and nothing else went wrong.
        assert 0 < said(folder, TOLD) < 10
        assert said(folder, "level=(warning|error)") == said(folder, TOLD)


@pytest.mark.wide
def test_without_the_guard_the_crowd_starves_them(folder: Path) -> None:
    with Receiver() as receiver, crowded(folder, guarded=False) as (_, at):
        with Pending(at, receiver.url) as pending, half_heads(at):
            assert b" 201 " in pending.finish()
            time.sleep(2)
            assert receiver.got == 0
        receiver.gets(1)
        assert said(folder, TOLD) == 0
