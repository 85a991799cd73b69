"""Callbacks: what providers report about messages that they have taken."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from postroad.api.request import Request, Response
from postroad.api.routing import give
from postroad.model.errors import Forbidden, UnknownMessage
from postroad.model.ids import key_number
from postroad.ports.channel import CALLBACKS, ProviderCall

EVENT_BYTES_MAX: Final = 256 << 10
"""SNS carries at most so much."""
CallbackKey = Annotated[str, Meta(max_length=500, description="The secret of Postmark's address")]


class CallbackForm(Struct, frozen=True):
    """A provider's status callback, with the provider's own field names."""


@give(
    f"{CALLBACKS}/{{key}}",
    scope=None,
    status=204,
    takes=CallbackForm,
    takes_media="application/x-www-form-urlencoded",
)
async def callback(request: Request, key: str) -> Response[None]:
    """Receive a provider's status callback for one message, signed with the credential's secret."""
    stranger = Forbidden("this is not signed by the provider of a message that this road has sent")
    callbacks = request.road.campaign_service.callbacks
    number = _number(key)
    known = None if number is None else await callbacks.credential(number, request.headers)
    if number is None or known is None:
        raise stranger  # nothing of a stranger is read
    if not await callbacks.take(number, known, request.headers, await request.body()):
        raise stranger
    return Response(None, status=204)


class ProviderEvent(Struct, frozen=True):
    """What a mail provider reports, in its own form."""


@give(
    f"{CALLBACKS}/{{owner}}/{{name}}",
    scope=None,
    status=204,
    bytes_max=EVENT_BYTES_MAX,
    takes=ProviderEvent,
)
async def provider_callback(
    request: Request, owner: str, name: str, key: CallbackKey = ""
) -> Response[None]:
    """Receive what the mail provider of a tenant's credential reports: SES through SNS, Mailgun or
    Postmark, as the credential's `callbacks` says."""
    stranger = Forbidden("this is not from the provider of a credential that takes callbacks")
    callbacks = request.road.campaign_service.callbacks
    known = await callbacks.reporting(owner, name)
    if known is None:
        raise stranger  # nothing of a stranger is read
    call = ProviderCall(request.path, request.headers, await request.body(), key)
    if not await callbacks.take_reports(known, call):
        raise stranger
    return Response(None, status=204)


def _number(key: str) -> int | None:
    try:
        return key_number(key)
    except UnknownMessage:
        return None


ROUTES: Final = (callback, provider_callback)
