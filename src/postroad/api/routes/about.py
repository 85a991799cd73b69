"""What answers here: which release, which process, and what the caller may do."""

import os
from typing import Final

from msgspec import Struct, structs

from postroad.api.request import Request
from postroad.api.routing import fetch
from postroad.model.tokens import Scope
from postroad.version import VERSION


class About(Struct, frozen=True):
    """The release that answers, and for whom. `pid` and `url` are for tokens of every tenant."""

    version: str
    tenant: str
    scopes: tuple[Scope, ...]
    every_tenant: bool
    delivers: bool
    pid: int = 0
    url: str = ""
    """Where this process serves the API; empty when it serves none."""


@fetch("/v1/about", scope=None, any_scope=True)
async def about(request: Request) -> About:
    """Tell which release answers here, and what the token may do."""
    here, who = request.context, request.who
    known = About(VERSION, who.tenant, tuple(sorted(who.scopes)), who.every_tenant, here.delivers)
    if not who.every_tenant:
        return known
    return structs.replace(known, pid=os.getpid(), url=here.url)


ROUTES: Final = (about,)
