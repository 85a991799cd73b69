"""A removal whose server ends says that it goes on."""

import pytest

from postroad.cli.client import RoadClient
from postroad.cli.privacy import followed
from postroad.model.errors import StoreUnavailable


def test_who_waits_for_an_erasure_learns_that_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_asked: object) -> None:
        raise StoreUnavailable("no answer from 127.0.0.1:8025")

    monkeypatch.setattr(RoadClient, "ask", away)
    road = RoadClient.__new__(RoadClient)
    told = r"no answer from .*; erasure 7 is stored and goes on when a server runs again"
    with pytest.raises(StoreUnavailable, match=told):
        _ = followed(road, {"id": 7, "ended_at_ms": None, "erased": {}})
