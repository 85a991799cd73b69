"""Groups of verbs of a road, such as `road.dead`: typed, and shown by `help(Postroad)`."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")


class VerbGroup(Generic[T]):
    """An attribute that holds a group of verbs. Its help text is the docstring of their class."""

    def __init__(self, kind: type[T]) -> None:
        self.__doc__ = f"{kind.__name__}: {kind.__doc__}"
        self.kind = kind
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"_{name}"

    @overload
    def __get__(self, road: None, owner: type) -> Self: ...
    @overload
    def __get__(self, road: object, owner: type) -> T: ...
    def __get__(self, road: object, owner: type) -> Self | T:
        if road is None:
            return self
        group: T = getattr(road, self._name)
        return group

    def __set__(self, road: object, group: T) -> None:
        setattr(road, self._name, group)


def passed_on(
    verb: Callable[Concatenate[Any, P], Awaitable[R]], to: str
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """The same verb in a group that passes it on to one of its parts, by the part's name."""
    name = verb.__name__

    @wraps(verb)
    async def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        found: R = await getattr(getattr(self, to), name)(*args, **kwargs)
        return found

    return call
