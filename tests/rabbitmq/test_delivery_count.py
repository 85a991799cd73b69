"""The broker's count of returns is a header, which anybody can write."""

import pytest

from postroad.stores.rabbitmq.consuming.delivery import delivery_count


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
