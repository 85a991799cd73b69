"""Who is suspected, who goes alone, who is dead: by returns and by noted starts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.stores.rabbitmq.dead_letters import ALONE_FROM, Trust, delivery_count, judge

ENOUGH_DEATHS = 5


def test_a_message_that_kills_its_process_is_dead_at_the_fifth_return() -> None:
    """As the store does it: from the second return on a start is noted before it is made."""
    starts = deaths = 0
    while judge(deaths, starts) is not Trust.dead:
        starts += judge(deaths, starts) is Trust.alone
        deaths += 1
    assert deaths == ENOUGH_DEATHS


@given(st.integers(0, 1_000))
def test_a_neighbour_that_was_only_prefetched_never_dies_for_it(returns: int) -> None:
    assert judge(returns, 0) is (Trust.alone if returns >= ALONE_FROM else Trust.free)


@pytest.mark.parametrize(
    ("headers", "count"),
    [
        (None, 0),
        ({}, 0),
        ({"x-delivery-count": 3}, 3),
        ({"x-delivery-count": "3"}, 0),
        ({"x-delivery-count": -1}, 0),
    ],
)
def test_the_brokers_count_is_read_with_care(headers: dict[str, object], count: int) -> None:
    assert delivery_count(headers) == count
