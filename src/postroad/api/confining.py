"""Confines the token of a portal link to the messages of endpoints: the one door for all that it
may ask about messages."""

from typing import Any, Final

from msgspec import structs

from postroad.api.request import Request
from postroad.api.routes.lists import ListQuery, SendAgainRequest
from postroad.api.routing import Route
from postroad.model.endpoint import PREFIX, QUEUE_PREFIX, is_endpoint_queue
from postroad.model.errors import BadInput, Forbidden, UnknownMessage
from postroad.model.ids import to_number
from postroad.verbs.send_again import IDS_MAX

MESSAGE: Final = "/v1/messages/{id}"
"""What the paths of routes about one message begin with."""
QUEUES: Final = QUEUE_PREFIX + PREFIX
"""What the queues of endpoints begin with."""
NO_OTHERS: Final = "your link to the portal shows messages to endpoints and no others"


async def confine(request: Request, route: Route, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a route, narrowed to messages of endpoints if the caller is a portal's. What
    is none of theirs is as unknown as what is not there."""
    if request.who.only is None:
        return given
    if route.path.startswith(MESSAGE):
        await _check_message(request, given["id"])
    narrowed = dict(given)
    for name, asked in given.items():
        if isinstance(asked, SendAgainRequest):
            await _check_named(request, asked)
        elif isinstance(asked, ListQuery):
            narrowed[name] = _narrow(asked)
    return narrowed


async def _check_named(request: Request, asked: SendAgainRequest) -> None:
    if asked.ids is None:
        raise Forbidden("your link to the portal sends messages again by their ids alone")
    numbers = {to_number(one): one for one in asked.ids}
    if len(numbers) > IDS_MAX:
        raise BadInput(f"{len(numbers)} ids: give up to {IDS_MAX} at once")
    for one in numbers.values():
        await _check_message(request, one)


def _narrow(asked: ListQuery) -> ListQuery:
    queue, prefix = asked.queue, asked.prefix or QUEUES
    if queue is not None and not queue.endswith("*"):
        if not is_endpoint_queue(queue):
            raise Forbidden(NO_OTHERS)
        return asked
    begins = prefix if queue is None else queue[:-1]
    if begins == QUEUE_PREFIX:
        begins = QUEUES
    if not begins.startswith(QUEUES):
        raise Forbidden(NO_OTHERS)
    # With both given the verb refuses them.
    given = {"prefix": begins} if queue is None else {"queue": f"{begins}*"}
    return structs.replace(asked, **given)


async def _check_message(request: Request, id: str) -> None:  # noqa: A002 - the word of the API
    tenant = request.tenant
    facts = await request.road.store.message_facts(tenant, to_number(id))
    if facts is None or not is_endpoint_queue(facts.queue.name):
        raise UnknownMessage(
            f"this road knows no message {id} of tenant {tenant!r}: it may have been deleted for "
            "its age"
        )
