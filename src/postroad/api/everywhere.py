"""Whose list, limit or rule a request means: its tenant's, or that of all tenants."""

from typing import Annotated

from msgspec import Meta

from postroad.api.request import Request
from postroad.model.errors import Forbidden
from postroad.model.tokens import EVERY_TENANT

Everywhere = Annotated[
    bool, Meta(description="What holds for all tenants; for tokens of every tenant")
]


def whose(request: Request, *, everywhere: bool) -> str:
    """Return the tenant that is meant; Forbidden if the token is for one tenant only."""
    if everywhere and not request.who.every_tenant:
        raise Forbidden("what holds for all tenants needs a token of every tenant")
    return EVERY_TENANT if everywhere else request.tenant
