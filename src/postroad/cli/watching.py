"""Watching a road: what waits for a server that is being restarted, and says so."""

import threading
from collections.abc import Callable
from typing import Final, TypeVar

from postroad.cli.client import RequestRefused, RoadClient
from postroad.model.errors import StoreError

T = TypeVar("T")
AGAIN_S: Final = 1.0
UNKNOWN_TOKEN: Final = 401


def answered(road: RoadClient, look: Callable[[], T], told: Callable[[str], None]) -> T:
    """Return what a look gives. While nobody answers it is made again every second, and `told` is
    called with why; other refusals are raised."""
    while True:
        try:
            return look()
        except (StoreError, RequestRefused) as error:
            if not _is_away(road, error):
                raise
            told(f"waiting for the server to come back: {error}")
        pause(AGAIN_S)
        road.find_again()


def pause(seconds: float) -> None:
    """Wait so long; Ctrl+C ends it."""
    _ = threading.Event().wait(seconds)  # nobody sets it


def _is_away(road: RoadClient, error: Exception) -> bool:
    if not isinstance(error, RequestRefused):
        return True
    # A server that was found by its note has another token after a restart.
    status = error.problem.status
    return status >= 500 or (status == UNKNOWN_TOKEN and road.is_found)
