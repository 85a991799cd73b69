"""What goes over the wire, in JSON or MessagePack: docs/guide/hub.md tells it to people."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from postroad.model.mailbox import Letter, RefusalCode

JSON: Final = "postroad.hub.v1.json"
MSGPACK: Final = "postroad.hub.v1.msgpack"

Name = Annotated[str, Meta(max_length=64, pattern="^[ -~]*$")]
Token = Annotated[str, Meta(max_length=128)]
Number = Annotated[int, Meta(ge=0, le=(1 << 62))]
Pair = tuple[Name, Token]


class Command(Struct, frozen=True, tag_field="do", kw_only=True):
    """What a client asks. `n` comes back with the answer."""

    n: Number = 0


class CreateBox(Command, frozen=True, tag="create"):
    """A new mailbox. `token`: the hub's token for making them. 0: as the hub has it."""

    token: Token
    quota: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    ttl: Annotated[int, Meta(ge=0, le=31_536_000)] = 0


class SendTo(Command, frozen=True, tag="send"):
    """A message: a text in `body`, or bytes in `data` (base64 in JSON)."""

    box: Name
    token: Token
    body: str | None = None
    data: bytes | None = None


class Subscribe(Command, frozen=True, tag="sub"):
    """Get what comes to these mailboxes: pairs of name and recipient token."""

    boxes: list[Pair]


class Unsubscribe(Command, frozen=True, tag="unsub"):
    """No more from these."""

    boxes: list[Name]


class Acknowledge(Command, frozen=True, tag="ack"):
    """The message was received, and may be deleted."""

    box: Name
    id: Number


class GetOne(Command, frozen=True, tag="get"):
    """The oldest message, once; `wait` for one up to so many seconds."""

    box: Name
    token: Token
    wait: Annotated[float, Meta(ge=0, le=3_600)] = 0.0


class DeleteBox(Command, frozen=True, tag="delete"):
    """The mailbox with all that is in it; `token` is the recipient's."""

    box: Name
    token: Token


class WatchFor(Command, frozen=True, tag="watch"):
    """Tell me when these may be sent to again: pairs of name and sender token."""

    boxes: list[Pair]


Asked = CreateBox | SendTo | Subscribe | Unsubscribe | Acknowledge | GetOne | DeleteBox | WatchFor


class Event(Struct, frozen=True, tag_field="is", kw_only=True, omit_defaults=True):
    """What the hub says. `n` is that of the command it answers."""

    n: int = 0


class Ok(Event, frozen=True, tag="ok"):
    """Done. After a send, `id` is the message's."""

    id: int = 0


class Created(Event, frozen=True, tag="created"):
    """A mailbox with its two tokens, which are shown this once."""

    box: str
    sender_token: str
    recipient_token: str
    quota: int


class Subscribed(Event, frozen=True, tag="subscribed"):
    """So many are subscribed; `refused` are not."""

    count: int
    refused: list[str] = []


class MessageFrame(Event, frozen=True, tag="message"):
    """A message: from a subscription, or the answer to a get."""

    box: str
    id: int
    at: int
    body: str | None = None
    data: bytes | None = None


class Acked(Event, frozen=True, tag="acked"):
    """It is deleted; and the mailbox's next message, if there is one."""

    box: str
    id: int
    next: MessageFrame | None = None


class Empty(Event, frozen=True, tag="empty"):
    """Nothing lies in the mailbox."""

    box: str


class End(Event, frozen=True, tag="end"):
    """The subscription is over: `taken over` by another connection, or `deleted`."""

    box: str
    why: str


class Quota(Event, frozen=True, tag="quota"):
    """Not sent: the mailbox takes nothing until it is empty. `watched`: a continue follows."""

    box: str
    watched: bool = False


class Watching(Event, frozen=True, tag="watching"):
    """So many are watched; those that are open already get their continue at once."""

    count: int
    refused: list[str] = []


class Continue(Event, frozen=True, tag="continue"):
    """The mailbox may be sent to again."""

    box: str


class Error(Event, frozen=True, tag="error"):
    """Not done, and why."""

    code: str
    text: str


Said = (
    Ok
    | Created
    | Subscribed
    | MessageFrame
    | Acked
    | Empty
    | End
    | Quota
    | Watching
    | Continue
    | Error
)


class Codec:
    """One subprotocol: frames to and from bytes."""

    def __init__(self, name: str) -> None:
        kind: Any = msgspec.msgpack if name == MSGPACK else msgspec.json
        self.name = name
        self.binary = name == MSGPACK
        self._encode = kind.Encoder().encode
        self._commands = kind.Decoder(Asked).decode
        self._events = kind.Decoder(Said).decode
        self._anything = kind.Decoder().decode

    def encode(self, frame: Event | Command) -> bytes:
        """The frame as bytes."""
        encoded: bytes = self._encode(frame)
        return encoded

    def command(self, payload: bytes) -> Asked | Error:
        """What a client asks, or the error that it gets."""
        try:
            asked: Asked = self._commands(payload)
        except msgspec.ValidationError as error:
            return self._refuse(payload, error)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return Error(code=RefusalCode.malformed, text=f"not a {self.name} frame: {error}")
        return asked

    def _refuse(self, payload: bytes, error: msgspec.ValidationError) -> Error:
        try:
            seen = self._anything(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            seen = None
        n = seen.get("n", 0) if isinstance(seen, dict) else 0
        n = n if isinstance(n, int) and 0 <= n <= 1 << 62 else 0
        known = {kind.__struct_config__.tag for kind in Asked.__args__}
        do = seen.get("do") if isinstance(seen, dict) else None
        if isinstance(do, str) and do not in known:
            listed = ", ".join(sorted(map(str, known)))
            return Error(
                n=n, code=RefusalCode.unknown_command, text=f"no such command: use {listed}"
            )
        return Error(n=n, code=RefusalCode.malformed, text=str(error))

    def event(self, payload: bytes) -> Said:
        """What the hub says."""
        said: Said = self._events(payload)
        return said


def message(box: str, letter: Letter, n: int = 0) -> MessageFrame:
    """A letter as it goes out: as text if it came as text."""
    if letter.text:
        return MessageFrame(
            n=n, box=box, id=letter.position, at=letter.at_ms, body=letter.body.decode()
        )
    return MessageFrame(n=n, box=box, id=letter.position, at=letter.at_ms, data=letter.body)
