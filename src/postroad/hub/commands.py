"""Hands clients' commands to the core, and makes frames of its answers."""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from postroad.hub.access import HubTokens, new_box, token_matches
from postroad.hub.frames import (
    Acked,
    Acknowledge,
    Asked,
    CreateBox,
    DeleteBox,
    Empty,
    Error,
    Event,
    GetOne,
    Ok,
    Quota,
    SendTo,
    Subscribe,
    Subscribed,
    Unsubscribe,
    WatchFor,
    Watching,
    message,
)
from postroad.hub.pump import Hub
from postroad.hub.state import OnAnswer
from postroad.hub.subscriber import Client
from postroad.model.mailbox import (
    Answer,
    Create,
    Drop,
    Get,
    Heads,
    Looked,
    Post,
    Posted,
    RefusalCode,
    Refused,
    Taken,
    Watch,
    Watched,
    digest,
)

Reply = Callable[[Event], None]
MAY_NOT_CREATE: Final = "the token does not let you make mailboxes here"


class Commands:
    """The commands of the protocol. All connections share one object."""

    def __init__(self, hub: Hub, keys: HubTokens) -> None:
        self._hub = hub
        self._keys = keys

    def execute(self, client: Client, asked: Asked, reply: Reply) -> None:
        """Execute a command. One frame answers it, now or after a commit."""
        most = self._hub.limits.batch_max
        if isinstance(asked, Subscribe | Unsubscribe | WatchFor) and len(asked.boxes) > most:
            text = f"{len(asked.boxes)} mailboxes in one frame: name {most} at most"
            reply(Error(n=asked.n, code=RefusalCode.too_many, text=text))
            return
        match asked:
            case SendTo():
                self._send(client, asked, reply)
            case Acknowledge():
                self._ack(client, asked, reply)
            case Subscribe():
                self._subscribe(client, asked, reply)
            case WatchFor():
                self._watch(client, asked, reply)
            case GetOne():
                self._get(client, asked, reply)
            case CreateBox():
                self._create(asked, reply)
            case Unsubscribe(boxes=names):
                done = _then(reply, asked.n, lambda _: Ok(n=asked.n))
                self._hub.core.unsubscribe(client, names, done)
            case DeleteBox(box=box, token=token):
                done = _then(reply, asked.n, lambda _: Ok(n=asked.n))
                self._hub.core.drop(Drop(box, digest(token)), done)

    def post(self, box: str, token: str, body: bytes, *, text: bool) -> Post:
        """Make the operation that stores a message. The hub's own token is good for every
        mailbox."""
        kept = digest(token)
        return Post(box, kept, text, body, token_matches(self._keys.send, kept))

    def _send(self, client: Client, asked: SendTo, reply: Reply) -> None:
        n, box = asked.n, asked.box
        body = asked.data if asked.body is None else asked.body.encode()
        if body is None or (asked.body is not None and asked.data is not None):
            reply(
                Error(n=n, code=RefusalCode.malformed, text="give a text in body, or bytes in data")
            )
            return
        if len(body) > self._hub.limits.body_bytes_max:
            text = f"{len(body)} bytes: {self._hub.limits.body_bytes_max} at most"
            reply(Error(n=n, code=RefusalCode.too_large, text=text))
            return

        def frame_of(answer: Answer) -> Event:
            if isinstance(answer, Posted):
                return Ok(n=n, id=answer.letter.position)
            return Quota(n=n, box=box, watched=box in client.watching)

        post = self.post(box, asked.token, body, text=asked.body is not None)
        self._hub.core.send(client, post, _then(reply, n, frame_of))

    def _ack(self, client: Client, asked: Acknowledge, reply: Reply) -> None:
        def frame_of(answer: Answer) -> Event:
            letter = answer.next if isinstance(answer, Taken) else None
            following = None if letter is None else message(asked.box, letter)
            return Acked(n=asked.n, box=asked.box, id=asked.id, next=following)

        self._hub.core.ack(client, asked.box, asked.id, _then(reply, asked.n, frame_of))

    def _subscribe(self, client: Client, asked: Subscribe, reply: Reply) -> None:
        asks = [(name, digest(token)) for name, token in asked.boxes]

        def frame_of(answer: Answer) -> Event:
            waiting = answer.waiting if isinstance(answer, Looked) else []
            refused = [name for (name, _), left in zip(asks, waiting, strict=True) if left is None]
            return Subscribed(n=asked.n, count=len(asks) - len(refused), refused=refused)

        self._hub.core.subscribe(client, asks, _then(reply, asked.n, frame_of))

    def _watch(self, client: Client, asked: WatchFor, reply: Reply) -> None:
        asks = [(name, digest(token)) for name, token in asked.boxes]
        trusted = bool(asks) and all(token_matches(self._keys.send, token) for _, token in asks)

        def frame_of(answer: Answer) -> Event:
            states = answer.open if isinstance(answer, Watched) else []
            refused = [name for (name, _), state in zip(asks, states, strict=True) if state is None]
            return Watching(n=asked.n, count=len(asks) - len(refused), refused=refused)

        self._hub.core.watch(client, Watch(asks, trusted), _then(reply, asked.n, frame_of))

    def _get(self, client: Client, asked: GetOne, reply: Reply) -> None:
        def frame_of(answer: Answer) -> Event:
            letter = answer.letters[0] if isinstance(answer, Heads) else None
            if letter is None:
                return Empty(n=asked.n, box=asked.box)
            return message(asked.box, letter, asked.n)

        get = Get(asked.box, digest(asked.token))
        # It ends with its client.
        _ = self._hub.core.get(client, get, asked.wait, _then(reply, asked.n, frame_of))

    def _create(self, asked: CreateBox, reply: Reply) -> None:
        if not token_matches(self._keys.create, digest(asked.token)):
            reply(Error(n=asked.n, code=RefusalCode.denied, text=MAY_NOT_CREATE))
            return
        box, created = new_box(self._hub.limits, asked.quota, asked.ttl)
        frame_of = replace(created, n=asked.n)
        self._hub.core.work.append((Create(box), _then(reply, asked.n, lambda _: frame_of)))


def _then(reply: Reply, n: int, frame_of: Callable[[Answer], Event]) -> OnAnswer:
    def settled(answer: Answer) -> None:
        if isinstance(answer, Refused):
            reply(Error(n=n, code=answer.code, text=answer.text))
        else:
            reply(frame_of(answer))

    return settled
