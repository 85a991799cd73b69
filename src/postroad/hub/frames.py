"""The frames of the protocol, in JSON or MessagePack. docs/guide/hub.md describes them."""

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
    """A client's command. Its answer carries the same `n`."""

    n: Number = 0


class CreateBox(Command, frozen=True, tag="create"):
    """Makes a mailbox. `token` is the hub's token for this. 0 stands for the hub's default."""

    token: Token
    quota: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    ttl: Annotated[int, Meta(ge=0, le=31_536_000)] = 0


class SendTo(Command, frozen=True, tag="send"):
    """Sends a message: a text in `body`, or bytes in `data` (base64 in JSON)."""

    box: Name
    token: Token
    body: str | None = None
    data: bytes | None = None


class Subscribe(Command, frozen=True, tag="sub"):
    """Subscribes to these mailboxes: pairs of name and recipient token."""

    boxes: list[Pair]


class Unsubscribe(Command, frozen=True, tag="unsub"):
    """Ends these subscriptions."""

    boxes: list[Name]


class Acknowledge(Command, frozen=True, tag="ack"):
    """Confirms that a message was received, so that it is deleted."""

    box: Name
    id: Number


class GetOne(Command, frozen=True, tag="get"):
    """Gets the oldest message once; waits for one up to `wait` seconds."""

    box: Name
    token: Token
    wait: Annotated[float, Meta(ge=0, le=3_600)] = 0.0


class DeleteBox(Command, frozen=True, tag="delete"):
    """Deletes a mailbox with all that is in it; `token` is the recipient's."""

    box: Name
    token: Token


class WatchFor(Command, frozen=True, tag="watch"):
    """Asks for a CONTINUE when these mailboxes can be sent to: pairs of name and sender token."""

    boxes: list[Pair]


Asked = CreateBox | SendTo | Subscribe | Unsubscribe | Acknowledge | GetOne | DeleteBox | WatchFor


class Event(Struct, frozen=True, tag_field="is", kw_only=True, omit_defaults=True):
    """A frame from the hub. `n` is that of the command it answers, or 0."""

    n: int = 0


class Ok(Event, frozen=True, tag="ok"):
    """The command was executed. After a send, `id` is the message's."""

    id: int = 0


class Created(Event, frozen=True, tag="created"):
    """A mailbox was made. Its two tokens are shown this once."""

    box: str
    sender_token: str
    recipient_token: str
    quota: int


class Subscribed(Event, frozen=True, tag="subscribed"):
    """`count` mailboxes are subscribed to; `refused` are not."""

    count: int
    refused: list[str] = []


class MessageFrame(Event, frozen=True, tag="message"):
    """A message from a subscription, or the answer to a get."""

    box: str
    id: int
    at: int
    body: str | None = None
    data: bytes | None = None


class Acked(Event, frozen=True, tag="acked"):
    """The message is deleted. `next` is the mailbox's next message, if there is one."""

    box: str
    id: int
    next: MessageFrame | None = None


class Empty(Event, frozen=True, tag="empty"):
    """The mailbox is empty."""

    box: str


class End(Event, frozen=True, tag="end"):
    """The subscription has ended: `taken over` by another connection, or `deleted`."""

    box: str
    why: str


class Quota(Event, frozen=True, tag="quota"):
    """The message was not stored: the mailbox takes nothing until it is empty. `watched`: a
    CONTINUE follows."""

    box: str
    watched: bool = False


class Watching(Event, frozen=True, tag="watching"):
    """`count` mailboxes are watched. Those that are open already get their CONTINUE at once."""

    count: int
    refused: list[str] = []


class Continue(Event, frozen=True, tag="continue"):
    """The mailbox can be sent to again."""

    box: str


class Error(Event, frozen=True, tag="error"):
    """The command was refused; `text` says why."""

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
    """Encodes and decodes the frames of one subprotocol."""

    def __init__(self, name: str) -> None:
        kind: Any = msgspec.msgpack if name == MSGPACK else msgspec.json
        self.name = name
        self.binary = name == MSGPACK
        self._encode = kind.Encoder().encode
        self._commands = kind.Decoder(Asked).decode
        self._events = kind.Decoder(Said).decode
        self._anything = kind.Decoder().decode

    def encode(self, frame: Event | Command) -> bytes:
        """Encode a frame."""
        encoded: bytes = self._encode(frame)
        return encoded

    def command(self, payload: bytes) -> Asked | Error:
        """Decode a client's command, or return the error that answers it."""
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
        """Decode a frame from the hub."""
        said: Said = self._events(payload)
        return said


def message(box: str, letter: Letter, n: int = 0) -> MessageFrame:
    """Make the frame of a letter. It goes out as text if it came as text."""
    if letter.text:
        return MessageFrame(
            n=n, box=box, id=letter.position, at=letter.at_ms, body=letter.body.decode()
        )
    return MessageFrame(n=n, box=box, id=letter.position, at=letter.at_ms, data=letter.body)
