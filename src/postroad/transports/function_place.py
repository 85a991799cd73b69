"""Where child processes find a function."""

import sys
from collections.abc import Callable
from typing import NamedTuple


class FunctionPlace(NamedTuple):
    """Where a function is found: its module, and its name there."""

    module: str
    name: str


def place_of(function: Callable[..., object]) -> FunctionPlace | None:
    """Where a child finds a function. None where it cannot: a lambda, a function within a function,
    or one of a program without a file."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", "<")
    fileless = module == "__main__" and not hasattr(sys.modules["__main__"], "__file__")
    return None if fileless or module is None or "<" in name else FunctionPlace(module, name)
