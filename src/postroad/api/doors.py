"""How routes are made: each says which scope it needs, and answers problems as all do."""

from typing import Any

from litestar import delete, get, post

from postroad.api.answering import RESPONSES
from postroad.model.tokens import Scope


def fetch(path: str, *, scope: Scope | None, **options: Any) -> get:
    """A route that only looks."""
    return get(path, opt={"scope": scope}, responses=RESPONSES, **options)


def give(path: str, *, scope: Scope | None, **options: Any) -> post:
    """A route that takes or does something."""
    return post(path, opt={"scope": scope}, responses=RESPONSES, **options)


def drop(path: str, *, scope: Scope | None, **options: Any) -> delete:
    """A route that ends something."""
    return delete(path, opt={"scope": scope}, responses=RESPONSES, **options)
