"""Access tokens: make, list, revoke."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from postroad.api.everywhere import Everywhere, whose
from postroad.api.request import Request
from postroad.api.routing import drop, fetch, give
from postroad.model.errors import BadInput
from postroad.model.texts import Name
from postroad.model.tokens import Role, Scope, Token
from postroad.verbs.tokens import NewToken


class TokenRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A token to be made, with a `role` or with `scopes`; with neither it has all
    scopes. A token of every tenant may name another `tenant` than its own, or make one that is for
    every tenant (`everywhere`). The new token expires no later than the one that makes it."""

    name: Annotated[Name, Meta(min_length=1)]
    scopes: Annotated[tuple[Scope, ...], Meta(min_length=1)] | None = None
    role: Role | None = None
    tenant: Name = ""
    everywhere: Everywhere = False
    lasts_s: Annotated[float, Meta(ge=1, le=3_162_240_000)] | None = None


@give("/v1/tokens", scope=Scope.admin, status=201)
async def token_make(request: Request, asked: TokenRequest) -> NewToken:
    """Make a token. Its `secret` is in this answer and nowhere else."""
    asker = request.who
    if asked.everywhere and asked.tenant:
        raise BadInput("everywhere is every tenant: leave tenant out")
    tenant = whose(request, everywhere=True) if asked.everywhere else asked.tenant
    made = await request.road.tokens.make(
        asked.name,
        scopes=asked.scopes,
        role=asked.role,
        tenant=tenant or asker.tenant,
        lasts_s=asked.lasts_s,
        by=asker,
    )
    request.noted["token"] = made.token.id
    return made


@fetch("/v1/tokens", scope=Scope.admin)
async def token_list(request: Request) -> list[Token]:
    """List the tokens of the tenant; a token of every tenant sees all of them."""
    asker = request.who
    every = asker.every_tenant and request.headers.get("postroad-tenant") is None
    return await request.road.tokens.list(tenant=None if every else asker.tenant)


@drop("/v1/tokens/{id}", scope=Scope.admin, status=204)
async def token_revoke(request: Request, id: str) -> None:  # noqa: A002
    """Revoke a token: at once here, within two seconds in other processes."""
    here, asker = request.context, request.who
    await here.road.tokens.revoke(id, tenant=None if asker.every_tenant else asker.tenant)
    here.access.forget()


ROUTES: Final = (token_make, token_list, token_revoke)
