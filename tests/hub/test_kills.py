"""What was accepted survives kill -9, and only what was not acked comes again."""

from pathlib import Path

from tests.hub.killing import Ledger, kill_rounds


def test_what_was_accepted_survives_kills_in_mid_traffic(tmp_path: Path) -> None:
    report = kill_rounds(tmp_path, kills=1, seed=1)
    assert report.breaches == []
    assert report.kills == 1
    assert report.accepted > 20
    assert report.received >= report.accepted


def test_the_ledger_names_what_is_lost_comes_back_or_comes_too_early() -> None:
    ledger = Ledger()
    ledger.accepted = {"one": 1, "two": 2}
    ledger.take("a", 2, "two")
    ledger.acked.add(("a", 2))
    ledger.take("a", 2, "two")
    ledger.take("a", 1, "other")
    assert ledger.lost() == ["one was accepted and is lost"]
    assert ledger.breaches == [
        "a 2 came again after its ack was answered",
        "a 1 came after 2",
    ]
