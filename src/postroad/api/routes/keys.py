"""Keys for secrets at rest: seal everything with the first one."""

from typing import Final

from postroad.api.request import Request
from postroad.api.routing import give
from postroad.model.errors import Forbidden
from postroad.model.tokens import Scope
from postroad.verbs.sealing import Rotated


@give("/v1/keys:rotate", scope=Scope.admin)
async def keys_rotate(request: Request) -> Rotated:
    """Read the server's keys again, and encrypt all secrets of all tenants with the first one. It
    can be repeated after an interruption."""
    if not request.who.every_tenant:
        raise Forbidden("the keys seal the secrets of every tenant: your token is for one")
    return await request.road.sealing.rotate()


ROUTES: Final = (keys_rotate,)
