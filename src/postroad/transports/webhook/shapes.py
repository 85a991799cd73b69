"""CloudEvents 1.0: the shapes of a request in which receivers read what an event is, from any
sender."""

from base64 import b64encode
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from postroad.model.entities import Message
from postroad.model.webhook import BINARY

ENCODE: Final = msgspec.json.Encoder().encode
HEADERS: Final = msgspec.json.Decoder(dict[str, str])
JSON: Final = "application/json"
STRUCTURED_TYPE: Final = "application/cloudevents+json"
PLAIN_TYPE: Final = "postroad.message"
"""The type of what was sent and not published: a message has none."""


class Origin(Struct, frozen=True):
    """What an event is, beside its body. A message that was sent has no type and no time."""

    id: str
    type: str = PLAIN_TYPE
    made_at_ms: int = 0


def shaped(message: Message, shape: str, source: str, origin: Origin) -> Message:
    """Return a message as a CloudEvent."""
    headers = HEADERS.decode(message.headers or b"{}")
    own = {name.lower(): value for name, value in headers.items()}
    content_type = own.get("content-type", JSON)
    facts = {"specversion": "1.0", "id": origin.id, "source": source, "type": origin.type}
    if origin.made_at_ms:
        made = datetime.fromtimestamp(origin.made_at_ms / 1000, UTC)
        facts["time"] = made.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if shape == BINARY:
        told = {f"ce-{name}": value for name, value in facts.items()}
        return replace(message, headers=ENCODE({**own, "content-type": content_type, **told}))
    data = _data(message.body, content_type)
    body = ENCODE({**facts, "datacontenttype": content_type, **data})
    return replace(message, body=body, headers=ENCODE({**own, "content-type": STRUCTURED_TYPE}))


def _data(body: bytes, content_type: str) -> dict[str, Any]:
    """JSON stands in it as it is, everything else in base64."""
    if content_type == JSON and _is_json(body):
        return {"data": Raw(body)}
    return {"data_base64": b64encode(body).decode()}


def _is_json(body: bytes) -> bool:
    try:
        _ = msgspec.json.decode(body)  # whether it can be
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
