"""How much is simulated."""

import pytest


@pytest.fixture
def part(pytestconfig: pytest.Config) -> int:
    """Of so many seeds one is lived through: `make quick` takes a quarter of them."""
    return 4 if pytestconfig.getoption("serverless") else 1
