"""Links that are opened once, by people who have no token yet: their tries are counted, and the
audit log says whose link it was."""

from collections.abc import Awaitable, Callable

from postroad.api.request import Request
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import Unauthorized
from postroad.model.networks import network
from postroad.model.tokens import EVERY_TENANT, Caller, identity_of
from postroad.verbs.tokens import NewToken, find_token


async def open_link(
    request: Request, verb: str, code: str, exchange: Callable[[str], Awaitable[NewToken]]
) -> NewToken:
    """Exchange a link's code, if its network has not brought too many wrong ones."""
    tries, address = request.context.login_tries, request.client[0] if request.client else ""
    tries.count(network(address))
    made = await exchange_link(request, verb, code, exchange)
    tries.forgive(network(address))
    return made


async def open_portal(
    request: Request, code: str, exchange: Callable[[str], Awaitable[NewToken]]
) -> NewToken:
    """Exchange the code of a portal link. A code has 256 bits, so a right one is never kept out for
    the wrong ones of its network: only these are refused without a word after a while, and not
    those of links that were opened or have ended."""
    here, address = request.context, request.client[0] if request.client else ""
    try:
        return await exchange_link(request, "portal_open", code, exchange)
    except Unauthorized:
        identity = identity_of(code)
        if identity is None or await here.road.store.token_find(identity) is None:
            here.login_tries.count(f"portal {network(address)}")  # raises
        raise


async def exchange_link(
    request: Request, verb: str, code: str, exchange: Callable[[str], Awaitable[NewToken]]
) -> NewToken:
    """Exchange a link's code. A stranger's code leaves no line in the audit log."""
    here, address = request.context, request.client[0] if request.client else ""
    link = await find_token(here.road.store, code)
    if link is None:
        return await exchange(code)  # it refuses
    tenant = DEFAULT_TENANT if link.tenant == EVERY_TENANT else link.tenant
    who = Caller(tenant, frozenset(), link.id, name=link.name)
    return await here.audit.around(who, verb, {}, exchange(code), address)
