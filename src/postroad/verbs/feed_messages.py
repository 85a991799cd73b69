"""Messages of feeds: what a request to a server would have been."""

from base64 import b64encode

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.entities import Message
from postroad.model.event import referred
from postroad.model.ids import to_text
from postroad.model.webhook import HEADERS
from postroad.transports.webhook.endpoints import Endpoint
from postroad.transports.webhook.shapes import JSON, Origin, shaped
from postroad.transports.webhook.transport import WebhookTransport


class FeedMessage(Struct, frozen=True):
    """A message of a feed: what a request would have been."""

    id: str
    event: str
    """The event that it carries; "" if it was sent and not published."""
    type: str
    read: int
    """How often it was read before without an ack."""
    headers: dict[str, str]
    """With the signature, made over id, time and body as for a request."""
    body: str
    data: str = ""
    """A body that is no text, in base64; then `body` is empty."""


async def shown_message(
    message: Message, tenant: str, endpoint: Endpoint, transport: WebhookTransport, now_ms: int
) -> tuple[FeedMessage, int]:
    """A message of a tenant's endpoint that is read, and how many bytes its body has."""
    before, hook, origin = message.attempts + (message.marks > 0), endpoint.hook, None
    bodies = transport.endpoints.bodies
    whole = await bodies.whole(tenant, message) if referred(message.headers) is not None else None
    if whole is not None:
        origin, message = bodies.origin(tenant, message), whole
    else:
        message = replace(message, headers=b"")  # those that a sender gave may be sealed
    kind = origin or Origin(to_text(message.id))
    if hook.shape != "plain":
        message = shaped(message, hook.shape, transport.rules.source, kind)
    own = HEADERS.decode(message.headers or b"{}")
    headers = {"content-type": JSON, **own, **_signed(message, endpoint, now_ms // 1000)}
    body, size, event = _text(message.body), len(message.body), origin.id if origin else ""
    data = b64encode(message.body).decode() if body is None else ""
    about = (to_text(message.id), event, kind.type, before, headers, body or "", data)
    return FeedMessage(*about), size


def _signed(message: Message, endpoint: Endpoint, at_s: int) -> dict[str, str]:
    number, names = to_text(message.id), endpoint.hook.names
    headers = {names.id: number, names.timestamp: str(at_s)}
    if signature := endpoint.signer.sign(number, at_s, message.body):
        headers[names.signature] = signature
    return headers


def _text(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None
