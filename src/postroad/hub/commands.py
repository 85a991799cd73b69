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

Say = Callable[[Event], None]
NO_CREATING: Final = "the token does not let you make mailboxes here"


class Commands:
    """The commands of the protocol. All connections share one object."""

    def __init__(self, hub: Hub, keys: HubTokens) -> None:
        self._hub = hub
        self._keys = keys

    def obey(self, client: Client, asked: Asked, say: Say) -> None:
        """Execute a command. One frame answers it, now or after a commit."""
        most = self._hub.limits.batch_max
        if isinstance(asked, Subscribe | Unsubscribe | WatchFor) and len(asked.boxes) > most:
            text = f"{len(asked.boxes)} mailboxes in one frame: name {most} at most"
            say(Error(n=asked.n, code=RefusalCode.too_many, text=text))
            return
        match asked:
            case SendTo():
                self._send(client, asked, say)
            case Acknowledge():
                self._ack(client, asked, say)
            case Subscribe():
                self._subscribe(client, asked, say)
            case WatchFor():
                self._watch(client, asked, say)
            case GetOne():
                self._get(client, asked, say)
            case CreateBox():
                self._create(asked, say)
            case Unsubscribe(boxes=names):
                done = _then(say, asked.n, lambda _: Ok(n=asked.n))
                self._hub.core.unsubscribe(client, names, done)
            case DeleteBox(box=box, token=token):
                done = _then(say, asked.n, lambda _: Ok(n=asked.n))
                self._hub.core.drop(Drop(box, digest(token)), done)

    def post(self, box: str, token: str, body: bytes, *, text: bool) -> Post:
        """Make the operation that stores a message. The hub's own token is good for every
        mailbox."""
        kept = digest(token)
        return Post(box, kept, text, body, token_matches(self._keys.send, kept))

    def _send(self, client: Client, asked: SendTo, say: Say) -> None:
        n, box = asked.n, asked.box
        body = asked.data if asked.body is None else asked.body.encode()
        if body is None or (asked.body is not None and asked.data is not None):
            say(
                Error(n=n, code=RefusalCode.malformed, text="give a text in body, or bytes in data")
            )
            return
        if len(body) > self._hub.limits.body_bytes_max:
            text = f"{len(body)} bytes: {self._hub.limits.body_bytes_max} at most"
            say(Error(n=n, code=RefusalCode.too_large, text=text))
            return

        def told(answer: Answer) -> Event:
            if isinstance(answer, Posted):
                return Ok(n=n, id=answer.letter.position)
            return Quota(n=n, box=box, watched=box in client.watching)

        post = self.post(box, asked.token, body, text=asked.body is not None)
        self._hub.core.send(client, post, _then(say, n, told))

    def _ack(self, client: Client, asked: Acknowledge, say: Say) -> None:
        def told(answer: Answer) -> Event:
            letter = answer.next if isinstance(answer, Taken) else None
            following = None if letter is None else message(asked.box, letter)
            return Acked(n=asked.n, box=asked.box, id=asked.id, next=following)

        self._hub.core.ack(client, asked.box, asked.id, _then(say, asked.n, told))

    def _subscribe(self, client: Client, asked: Subscribe, say: Say) -> None:
        asks = [(name, digest(token)) for name, token in asked.boxes]

        def told(answer: Answer) -> Event:
            waiting = answer.waiting if isinstance(answer, Looked) else []
            refused = [name for (name, _), left in zip(asks, waiting, strict=True) if left is None]
            return Subscribed(n=asked.n, count=len(asks) - len(refused), refused=refused)

        self._hub.core.subscribe(client, asks, _then(say, asked.n, told))

    def _watch(self, client: Client, asked: WatchFor, say: Say) -> None:
        asks = [(name, digest(token)) for name, token in asked.boxes]
        trusted = bool(asks) and all(token_matches(self._keys.send, token) for _, token in asks)

        def told(answer: Answer) -> Event:
            states = answer.open if isinstance(answer, Watched) else []
            refused = [name for (name, _), state in zip(asks, states, strict=True) if state is None]
            return Watching(n=asked.n, count=len(asks) - len(refused), refused=refused)

        self._hub.core.watch(client, Watch(asks, trusted), _then(say, asked.n, told))

    def _get(self, client: Client, asked: GetOne, say: Say) -> None:
        def told(answer: Answer) -> Event:
            letter = answer.letters[0] if isinstance(answer, Heads) else None
            if letter is None:
                return Empty(n=asked.n, box=asked.box)
            return message(asked.box, letter, asked.n)

        get = Get(asked.box, digest(asked.token))
        # It ends with its client.
        _ = self._hub.core.get(client, get, asked.wait, _then(say, asked.n, told))

    def _create(self, asked: CreateBox, say: Say) -> None:
        if not token_matches(self._keys.create, digest(asked.token)):
            say(Error(n=asked.n, code=RefusalCode.denied, text=NO_CREATING))
            return
        box, created = new_box(self._hub.limits, asked.quota, asked.ttl)
        told = replace(created, n=asked.n)
        self._hub.core.work.append((Create(box), _then(say, asked.n, lambda _: told)))


def _then(say: Say, n: int, told: Callable[[Answer], Event]) -> OnAnswer:
    def settled(answer: Answer) -> None:
        if isinstance(answer, Refused):
            say(Error(n=n, code=answer.code, text=answer.text))
        else:
            say(told(answer))

    return settled
