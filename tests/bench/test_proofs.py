"""The frame of the proofs: one JSON line an item, exit code 1 when one does not hold."""

import json

import pytest

from proof import __main__ as frame
from proof import blocked_claim
from proof.shape import Reached

ITEMS = {name: f"tests.bench.test_proofs:{name}" for name in ("good", "short", "broken")}


def good(seconds: float) -> Reached:
    return Reached(floor=20, reached=20 + seconds, broken=0)


def short(_seconds: float) -> Reached:
    return Reached(floor=20, reached=19, broken=0)


def broken(_seconds: float) -> Reached:
    return Reached(floor=20, reached=30, broken=2)


def prove(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, object]]:
    code = frame.main(list(arguments), ITEMS)
    return code, json.loads(capsys.readouterr().out.splitlines()[-1])


def test_an_item_that_holds(capsys: pytest.CaptureFixture[str]) -> None:
    code, line = prove(capsys, "good", "--seconds", "5")
    assert line == {"item": "good", "floor": 20, "reached": 25, "broken": 0}
    assert code == 0


@pytest.mark.parametrize("item", ["short", "broken"])
def test_one_below_its_floor_or_with_a_breach_fails(
    item: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, line = prove(capsys, item)
    assert line["item"] == item
    assert code == 1


def test_without_an_item_all_are_proven(capsys: pytest.CaptureFixture[str]) -> None:
    code, line = prove(capsys)
    assert line == {"item": "all", "floor": 3, "reached": 1, "broken": 2}
    assert code == 1


def test_a_claim_is_alike_beside_few_and_beside_many_blocked_messages() -> None:
    assert blocked_claim.prove(0, few=100, many=3_000).holds


def test_every_item_names_a_function_that_exists() -> None:
    for dotted in frame.ITEMS.values():
        assert callable(frame.find(dotted))
