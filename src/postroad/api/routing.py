"""How routes are made: each says which scope it needs, and answers problems as all do."""

from typing import Any, Final

from litestar import delete, get, post

from postroad.api.answering import RESPONSES
from postroad.model.tokens import Scope

PUBLIC_BYTES_MAX: Final = 64 << 10
SMALL_BYTES_MAX: Final = 1 << 20
"""The largest body of a route that needs no token, and of one that needs one."""


def fetch(path: str, *, scope: Scope | None, **options: Any) -> get:
    """A route that only looks."""
    return get(path, opt={"scope": scope}, responses=RESPONSES, **options)


def give(path: str, *, scope: Scope | None, much: bool = False, **options: Any) -> post:
    """A route that takes or does something. Who takes `much` takes as much as the setting
    request_bytes_max says; what needs no token takes little."""
    if not much:
        most = SMALL_BYTES_MAX if scope else PUBLIC_BYTES_MAX
        options.setdefault("request_max_body_size", most)
    return post(path, opt={"scope": scope}, responses=RESPONSES, **options)


def drop(path: str, *, scope: Scope | None, **options: Any) -> delete:
    """A route that ends something."""
    return delete(path, opt={"scope": scope}, responses=RESPONSES, **options)
