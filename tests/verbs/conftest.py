"""A road on a temporary file, in real time."""

from tests.road.conftest import road, within

__all__ = ["road", "within"]
