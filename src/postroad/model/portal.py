"""Links to the portal: what the customers of a tenant may do there, who may embed it, its looks."""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from postroad.model.errors import BadInput
from postroad.model.tokens import Scope, Token

MINUTES_MAX: Final = 1_440
ORIGINS_MAX: Final = 20
TITLE_MAX: Final = 60
ORIGIN: Final = re.compile(r"https?://(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::[0-9]{1,5})?")
COLOUR: Final = re.compile(r"#[0-9a-f]{6}")


class PortalRight(StrEnum):
    """What a link allows beside looking."""

    endpoints = "endpoints"
    """Create, change, enable, disable, test and delete endpoints."""
    secrets = "secrets"
    """Rotate the secrets of endpoints."""
    send_again = "send_again"
    """Send messages again, and recover what died."""
    bodies = "bodies"
    """See what was sent and answered."""


class PortalTheme(StrEnum):
    """Light, dark, or as the viewer's system is set."""

    system = "system"
    light = "light"
    dark = "dark"


LOOKING: Final = (
    *("endpoint_list", "endpoint_show", "endpoint_stats", "event_type_list", "event_type_show"),
    *("message_list", "show", "attempts", "logout"),
)
"""The operations of the API that every link allows."""
OPERATIONS: Final = {
    PortalRight.endpoints: (
        *("endpoint_create", "endpoint_change", "endpoint_delete", "endpoint_test"),
    ),
    PortalRight.secrets: ("endpoint_rotate",),
    PortalRight.send_again: ("send_again", "endpoint_recover"),
    PortalRight.bodies: ("message_body",),
}


class PortalLink(Token, frozen=True, kw_only=True):
    """A link to the portal, without its code. Its kind says whether it was opened."""

    allow: tuple[PortalRight, ...] = ()
    origins: tuple[str, ...] = ()
    """The sites that may embed the page, as `https://app.example.com`."""
    title: str = ""
    accent: str = ""
    """The colour of links and buttons, as `#2c56c9`."""
    theme: PortalTheme = PortalTheme.system

    @property
    def operations(self) -> frozenset[str]:
        """The operations of the API that its token is confined to."""
        return frozenset(LOOKING).union(*(OPERATIONS[right] for right in self.allow))


def scopes_of(allow: Iterable[PortalRight]) -> tuple[Scope, ...]:
    """The scopes that a link needs for what it allows."""
    given = set(allow)
    found = [Scope.read]
    if given - {PortalRight.bodies}:
        found.append(Scope.manage)
    if PortalRight.bodies in given:
        found.append(Scope.bodies)
    return tuple(found)


def check_rights(allow: Iterable[str]) -> tuple[PortalRight, ...]:
    """What is allowed, each once, or BadInput."""
    given = tuple(dict.fromkeys(allow))
    for right in given:
        if right not in set(PortalRight):
            raise BadInput(f"allow: {right!r:.40} is none of {', '.join(PortalRight)}")
    return tuple(PortalRight(right) for right in given)


def check_origins(origins: Iterable[str]) -> tuple[str, ...]:
    """The sites that may embed the page, or BadInput. They go into a header of the page."""
    given = tuple(dict.fromkeys(origin.lower() for origin in origins))
    if len(given) > ORIGINS_MAX:
        raise BadInput(f"origins: give at most {ORIGINS_MAX}")
    for origin in given:
        if not ORIGIN.fullmatch(origin):
            raise BadInput(f"origins: {origin!r:.80} is none: give it as https://app.example.com")
    return given


def check_look(title: str, accent: str, theme: str) -> tuple[str, str, PortalTheme]:
    """The looks of the page, or BadInput."""
    if len(title) > TITLE_MAX or not title.isprintable():
        raise BadInput(f"title: give at most {TITLE_MAX} letters on one line")
    colour = accent.lower()
    if colour and not COLOUR.fullmatch(colour):
        raise BadInput("accent: give a colour as #2c56c9")
    if theme not in set(PortalTheme):
        raise BadInput(f"theme: {theme!r:.40} is none of {', '.join(PortalTheme)}")
    return title, colour, PortalTheme(theme)
