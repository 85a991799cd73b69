"""Checks what verbs are given, from a program, a command or a request: types, names and lengths."""

import inspect
from collections.abc import Callable, Collection, Iterable
from datetime import datetime, timedelta
from functools import wraps
from types import NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

from postroad.model.errors import BadInput
from postroad.model.near_names import nearest
from postroad.model.texts import TEXTS_MAX, check_fields, checked, kind_of

C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])
WORDS: Final[dict[type, str]] = {
    str: "a text",
    bytes: "bytes",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    datetime: "a datetime",
    timedelta: "a timedelta",
    NoneType: "None",
}
NEEDED: Final = frozenset(
    ("box", "credential", "id", "name", "queue", "tenant", "to", "url")
) | frozenset(("actor", "error", "order_key", "prefix", "reason", "state", "text", "verb"))
"""Texts that name or select something: an empty one does neither."""


class VerbParameter(Struct, frozen=True):
    """What one parameter of a verb takes."""

    kinds: tuple[type, ...] = ()
    """The types that are accepted; none: it takes anything."""
    items: tuple[type, ...] = ()
    """What a list of it takes."""
    needed: bool = False
    """Whether it must be given: its default is empty, and it may not be."""

    def check(self, name: str, value: object) -> None:
        """Raise BadInput if the value is of a wrong type. Values are not shown: some are secret."""
        texts = tuple(kind for kind in self.kinds if kind in (str, bytes))
        many = isinstance(value, str | bytes) and not isinstance(value, texts)
        if self.kinds and (not isinstance(value, self.kinds) or many):
            raise BadInput(f"{name}= is {kind_of(value)}: give {_words(self.kinds)}")
        if self.items and isinstance(value, Collection) and not isinstance(value, str):
            for place, item in enumerate(value):
                if not isinstance(item, self.items):
                    kind, words = kind_of(item), _words(self.items)
                    raise BadInput(f"{name}=: number {place} is {kind}: give {words}")
        if isinstance(value, str) and name in TEXTS_MAX:
            if not value and name in NEEDED and self.needed:
                raise BadInput(f"{name} is empty: give one")
            _ = checked(name, value)  # whether it is short enough
        elif isinstance(value, Struct) and name == "spec":
            check_fields(value)


def bounded(verbs: C) -> C:
    """Make each public method of a class check what it is given, by the names and types of its
    parameters."""
    for name, method in list(vars(verbs).items()):
        if inspect.isfunction(method) and not name.startswith("_"):
            setattr(verbs, name, checking(method))
    return verbs


def checking(method: F) -> F:
    """Make a method check what it is given, by the names and types of its parameters."""
    known = parameters(method)
    names = tuple(known)

    def check(given: tuple[object, ...], named: dict[str, object]) -> None:
        for name, value in (*zip(names, given, strict=False), *named.items()):
            if name not in known:
                near = nearest(name, names) or f": give {', '.join(names)}"
                raise BadInput(f"{method.__name__}: there is no {name}={near}")
            known[name].check(name, value)

    if not inspect.iscoroutinefunction(method):

        @wraps(method)
        def plain(self: object, *given: Any, **named: Any) -> Any:
            check(given, named)
            return method(self, *given, **named)

        return plain  # type: ignore[return-value]

    @wraps(method)
    async def awaited(self: object, *given: Any, **named: Any) -> Any:
        check(given, named)
        return await method(self, *given, **named)

    return awaited  # type: ignore[return-value]


def parameters(method: Callable[..., object]) -> dict[str, VerbParameter]:
    """What the parameters of a verb take, those of its options included."""
    hints, found = get_type_hints(method), dict[str, VerbParameter]()
    for name, each in list(inspect.signature(method).parameters.items())[1:]:
        if each.kind is each.VAR_KEYWORD:
            options = get_type_hints(get_args(hints[name])[0])
            found |= {option: _parameter(hint, needed=True) for option, hint in options.items()}
        else:
            found[name] = _parameter(hints[name], needed=each.default != "")
    return found


def _parameter(hint: object, *, needed: bool) -> VerbParameter:
    kinds = _kinds(hint)
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    # A pair, as tuple[str, object], is no list of what comes first in it.
    lists = [part for part in parts if _is_list(get_origin(part)) and not _is_pair(part)]
    items = _kinds(get_args(lists[0])[0]) if lists else ()
    return VerbParameter(kinds, items, needed)


def _is_pair(part: object) -> bool:
    return get_origin(part) is tuple and get_args(part)[-1:] != (Ellipsis,)


def _is_list(origin: object) -> bool:
    return isinstance(origin, type) and origin is not dict and issubclass(origin, Iterable)


def _kinds(hint: Any) -> tuple[type, ...]:
    """The classes of values that a hint means; none when it cannot be told."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        parts = [_kinds(part) for part in get_args(hint)]
        return sum(parts, ()) if all(parts) else ()
    if origin is Literal:
        return tuple({type(value) for value in get_args(hint)})
    kind = origin or hint
    if not isinstance(kind, type) or kind is object or getattr(kind, "_is_protocol", False):
        return ()
    if origin is not None and not _is_list(origin) and origin is not dict:
        return ()
    return (float, int) if kind is float else (kind,)


def _words(kinds: tuple[type, ...]) -> str:
    words = [_word(kind) for kind in kinds if not (kind is int and float in kinds)]
    text = " or ".join(dict.fromkeys(words))
    return text.replace("a number or a timedelta", "seconds or a timedelta")


def _word(kind: type) -> str:
    if kind not in WORDS and kind is not dict and issubclass(kind, Iterable):
        return "a list"
    return WORDS.get(kind, f"a {kind.__name__}")
