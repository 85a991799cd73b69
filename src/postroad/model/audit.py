"""The audit log: who changed what, when, from where, and with which result."""

from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from postroad.model.foreign import clean
from postroad.model.states import NEVER

CHARACTERS_MAX: Final = 200
"""Maximum length of each text in a line."""


class AuditOutcome(StrEnum):
    """The result of a change that was asked for."""

    asked = "asked"
    """The end was not noted: the change is under way, or the process ended first. It may have been
    made."""
    done = "done"
    refused = "refused"
    """Answered with 4xx: nothing was changed, unless `count` says so."""
    failed = "failed"
    """Answered with 5xx: it may have been done in part."""
    cut = "cut"
    """The client went away before the end; `count` is what was done until then."""


class AuditLine(Struct, frozen=True):
    """One change that somebody asked for over HTTP, by a command or through the window."""

    id: int
    at_ms: int
    ended_at_ms: int | None
    tenant: str
    actor: str
    """The id of the token, or `local` for commands on the machine."""
    name: str
    """The token's name, or the user's number and name."""
    address: str
    verb: str
    """The operation, as the API's description names it: `pause_queue`."""
    what: dict[str, str]
    """Which queue, message or campaign; never a body or a secret."""
    outcome: AuditOutcome
    status: int
    count: int | None = None
    """How many messages, recipients or rows were changed, where that is counted."""


class AuditEnd(Struct, frozen=True):
    """The result of a change, for its line."""

    at_ms: int
    outcome: AuditOutcome
    status: int
    count: int | None
    what: dict[str, str]


class AuditFilter(Struct, frozen=True):
    """Which lines: of a tenant (None: all), from a time up to, not including, another one."""

    tenant: str | None = None
    since_ms: int = 0
    until_ms: int = NEVER
    actor: str | None = None
    verb: str | None = None


class AuditCursor(Struct, frozen=True):
    """The line after which a page begins; newer ones come first."""

    at_ms: int = NEVER
    id: int = NEVER


def shown_text(text: str) -> str:
    """A text as a line shows it: short, and an address without what often is a secret."""
    return clean(_without_query(text) if "://" in text else text, CHARACTERS_MAX)


def _without_query(url: str) -> str:
    """Leave out the login, and what follows the question mark."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.partition("?")[0]
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}" + ("?…" if parts.query else "")
