"""Watching a road: what waits for a server that is being restarted, and says so."""

import threading
from collections.abc import Callable
from typing import Final, TypeVar

from postroad.cli.client import RequestRefused
from postroad.model.errors import StoreError

T = TypeVar("T")
AGAIN_S: Final = 1.0


def answered(look: Callable[[], T], told: Callable[[str], None]) -> T:
    """Return what a look gives. While nobody answers it is made again every second, and `told` is
    called with why; other refusals are raised."""
    while True:
        try:
            return look()
        except (StoreError, RequestRefused) as error:
            if isinstance(error, RequestRefused) and error.problem.status < 500:
                raise
            told(f"waiting for the server to come back: {error}")
        pause(AGAIN_S)


def pause(seconds: float) -> None:
    """Wait so long; Ctrl+C ends it."""
    _ = threading.Event().wait(seconds)  # nobody sets it
