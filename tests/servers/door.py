"""Finds a server of this machine by its road's window: where it listens, and a token for it."""

import json
from functools import cached_property
from http.client import HTTPException
from pathlib import Path
from typing import Any

from postroad.cli.client import WindowConnection
from postroad.model.errors import StoreError


class Door:
    """A server that owns the road in a folder."""

    def __init__(self, dsn: str, url: str, pid: int) -> None:
        self.url = url
        self.pid = pid
        self._dsn = dsn

    @cached_property
    def token(self) -> str:
        """A token of every tenant, made at the first use."""
        made = asked(self._dsn, "POST", "/v1/tokens", {"name": "test", "tenant": "*"})
        return str(made["secret"])


def asked(
    dsn: str, method: str, path: str, data: object = None, headers: dict[str, str] | None = None
) -> Any:
    """What the owner of a road's file answers at its window; a refusal fails the test, as it is told."""
    line = WindowConnection(dsn)
    try:
        given = {"content-type": "application/json", **(headers or {})}
        line.request(method, path, json.dumps(data), given)
        answer = line.getresponse()
        text = answer.read()
    finally:
        line.close()
    if answer.status >= 400:
        raise HTTPException(f"{method} {path}: {answer.status} {text.decode()}")
    return json.loads(text or b"null")


def door_of(folder: Path, pid: int) -> Door | None:
    """Where this process serves the road of a folder, as soon as it does."""
    dsn = f"sqlite:///{folder}/road/road.db"
    try:
        about = asked(dsn, "GET", "/v1/about")
    except (StoreError, OSError, HTTPException):
        return None
    return Door(dsn, about["url"], pid) if about["url"] and about["pid"] == pid else None
