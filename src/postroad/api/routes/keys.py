"""Keys for secrets at rest: seal everything with the first one."""

from typing import Final

from postroad.api.context import Ask, context, who
from postroad.api.routing import give
from postroad.model.errors import Forbidden
from postroad.model.tokens import Scope
from postroad.verbs.sealing import Rotated


@give("/v1/keys:rotate", scope=Scope.admin, status_code=200)
async def keys_rotate(request: Ask) -> Rotated:
    """Read the server's keys again, and seal all secrets of all tenants with the first one. Can be
    asked again when it broke off."""
    if not who(request).every_tenant:
        raise Forbidden("the keys seal the secrets of every tenant: your token is for one")
    return await context(request).road.sealing.rotate()


ROUTES: Final = (keys_rotate,)
