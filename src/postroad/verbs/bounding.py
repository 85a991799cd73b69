"""Checks the length of all texts that verbs get, from a program, a command or a request."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from msgspec import Struct

from postroad.model.texts import TEXTS_MAX, check_fields, checked

C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])


def bounded(verbs: C) -> C:
    """Make each public method of a class check its texts first, by the names of its parameters."""
    for name, method in list(vars(verbs).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(verbs, name, _checking(method))
    return verbs


def _checking(method: F) -> F:
    names = tuple(inspect.signature(method).parameters)

    def check(given: tuple[object, ...], named: dict[str, object]) -> None:
        for name, value in (*zip(names, given, strict=False), *named.items()):
            if isinstance(value, str) and name in TEXTS_MAX:
                _ = checked(name, value)  # whether it is short enough
            elif isinstance(value, Struct) and name == "spec":
                check_fields(value)

    if not inspect.iscoroutinefunction(method):

        @wraps(method)
        def plain(*given: Any, **named: Any) -> Any:
            check(given, named)
            return method(*given, **named)

        return plain  # type: ignore[return-value]

    @wraps(method)
    async def awaited(*given: Any, **named: Any) -> Any:
        check(given, named)
        return await method(*given, **named)

    return awaited  # type: ignore[return-value]
