"""Everybody hostile at once, in small; `make proof ITEM=hostile` plays it in full, and looks at how
late the honest ones are."""

import pytest

from proof.hostile.scenario import Plan, play

PART_S = 1.5
SCALE = 0.03


@pytest.mark.timeout(240)
def test_with_everybody_hostile_at_once_the_honest_ones_get_everything() -> None:
    pair = play(Plan(PART_S, SCALE))
    assert pair.breaches == []
    assert len(pair.attacked_us) > 50
