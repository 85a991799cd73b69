"""A list can be narrowed to everything that there is."""

import re
from collections.abc import Iterable

import pytest

from postroad.model.states import DeadReason, State
from postroad.model.suppression import Reason
from tests.dashboard.stand import PageStand


@pytest.mark.parametrize(
    ("path", "which"), [("/dead", DeadReason), ("/messages", State), ("/suppressions", Reason)]
)
async def test_a_filter_offers_all_values(
    stand: PageStand, path: str, which: Iterable[str]
) -> None:
    await stand.login()
    page = (await stand.get(path)).content.decode()
    offered = set(re.findall('<option(?: value="([^"]+)")?>([^<]+)<', page))
    assert set(which) <= {value or label for value, label in offered}
