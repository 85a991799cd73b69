"""What a token of the portal reaches of its tenant's messages: those to endpoints. A tenant may
have jobs and mails as well, which are nothing of its customers."""

from collections.abc import Iterable

from postroad.api.request import Request
from postroad.model.endpoint import QUEUE_PREFIX
from postroad.model.errors import Forbidden, UnknownMessage
from postroad.verbs.messages import ListWhere


async def check_messages(request: Request, ids: Iterable[str]) -> None:
    """Refuse a message to another queue as if there was none."""
    if request.who.only is None:
        return
    for each in ids:
        said = await request.road.explain(each, tenant=request.tenant)
        if not said.queue.startswith(QUEUE_PREFIX):
            raise UnknownMessage(f"there is no message {each} to an endpoint")


async def check_named(request: Request, ids: Iterable[str] | None) -> None:
    """Refuse a change of messages that are not named by their ids, or are to other queues."""
    if request.who.only is not None and ids is None:
        raise Forbidden("your link to the portal sends messages again by their ids alone")
    await check_messages(request, ids or ())


def confined(request: Request, where: ListWhere) -> ListWhere:
    """Narrow a list to endpoints; Forbidden if another queue is asked for."""
    if request.who.only is None:
        return where
    asked = [name for name in (where.get("queue"), where.get("prefix")) if name is not None]
    if not asked:
        return where | ListWhere(prefix=QUEUE_PREFIX)
    if not all(name.startswith(QUEUE_PREFIX) for name in asked):
        raise Forbidden("your link to the portal shows messages to endpoints and no others")
    return where
