"""What all channels have in common: a transport whose queues are those of credentials, and whose
sessions follow the credential when it is changed."""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.credential import BadCredential, OpenCredential
from postroad.model.entities import Draft, LaneKey, Message, Policy, Queue, QueueSpec
from postroad.model.errors import BadInput, BadKey, PostroadError, StoreError
from postroad.model.foreign import error_text
from postroad.model.outcome import Outcome, ProviderAnswer, held, refused, unknown, unreachable
from postroad.model.recipients import lane_of, queue_name, read_queue_name, recipient_in
from postroad.model.redaction import Redaction
from postroad.ports.channel import Channel, ChecksRecipient, HasSites
from postroad.ports.transport import HearsCuts, Prepares, Session
from postroad.transports.credential_cache import CredentialCache
from postroad.transports.suppression_gate import SuppressionGate

AHEAD_S: Final = 1.0
"""What is prepared holds at least so long."""


class ChannelTransport:
    """Makes a transport of a channel."""

    shards = 1

    def __init__(
        self,
        channel: Channel,
        credentials: CredentialCache,
        gate: SuppressionGate,
        redaction: Redaction,
    ) -> None:
        self.channel = channel
        self._redaction = redaction
        self.name = channel.name
        self._credentials = credentials
        self._gate = gate

    def address(self, queue: str, tenant: str) -> LaneKey:
        """Return the lane of a credential's queue."""
        return lane_of(queue, tenant)

    def policy(self, _queue: str, /) -> Policy:
        """Return the channel's policy."""
        return self.channel.policy

    def pools(self) -> list[str]:
        """Any process can serve it."""
        return [self.name]

    def concurrency(self, _pool: str, /) -> int:
        """Channels have no limit of their own."""
        return 0

    async def open(self, lane: LaneKey) -> "ChannelSession":
        """Open a session. The credential is read at its first send."""
        known = (self._credentials, self._gate, self._redaction)
        return ChannelSession(self.channel, lane, *known)

    def spec(self, tenant: str, credential: str, site: str = "") -> QueueSpec:
        """How the queue of a credential's messages is made."""
        name = queue_name(self.name, credential, site)
        return QueueSpec(tenant, name, lane_of(name, tenant), self.shards, self.channel.policy)

    async def route(self, recipient: str, tenant: str, credential: str) -> tuple[str, str]:
        """The queue of messages to a recipient with a credential, and the recipient as it is sent;
        BadInput says what is wrong."""
        to = self.channel.recipients.one(recipient)
        known = self._credentials.get(tenant, credential)
        if known is None:
            known = await self._credentials.ask(tenant, credential)
        check_kind(known, self.channel)
        site = ""
        if isinstance(self.channel, HasSites):
            site = await self.channel.site(to, known)
        return queue_name(self.name, credential, site), to

    def check(self, draft: Draft, queue: Queue) -> Draft:
        """Check the body of a draft, and what it costs; BadInput says what is wrong."""
        measured = self.channel.measure(draft.body)
        if isinstance(self.channel, ChecksRecipient):
            self.channel.check_recipient(draft.body, recipient_in(draft.headers))
        cost = measured.cost
        _, credential, _ = read_queue_name(queue.name)
        known = self._credentials.get(queue.tenant, credential)
        if known is not None and cost > (most := known.spec.segments_max):
            raise BadInput(f"{cost} segments, but credential {credential!r} allows {most}")
        return replace(draft, blobs=measured.blobs) if measured.blobs else draft


def check_kind(credential: OpenCredential, channel: Channel) -> None:
    """Raise BadCredential if a credential is for another channel."""
    kind, name = credential.credential.kind, credential.credential.name
    if kind != channel.name:
        raise BadCredential(f"credential {name!r} is for {kind}, not for {channel.name}")


class _Connected(Struct):
    """A session, the credential that it was opened with, and how many tries it has under way."""

    session: Session
    credential: OpenCredential
    in_flight: int = 0
    replaced: bool = False


class ChannelSession:
    """The session of one lane. When its credential is changed, tries that are under way end with
    the old one."""

    def __init__(
        self,
        channel: Channel,
        lane: LaneKey,
        credentials: CredentialCache,
        gate: SuppressionGate,
        redaction: Redaction,
    ) -> None:
        self._channel = channel
        self._redaction = redaction
        self._lane = lane
        self._credentials = credentials
        self._gate = gate
        self._connected: _Connected | None = None

    async def send(self, queue: Queue, message: Message) -> Outcome:
        """Make one try, unless the recipient is on a suppression list."""
        held = await self._gate.holds(self._lane, message)
        if held is not None:
            return held
        try:
            here = self._fresh() or await self._connect()
        except PostroadError as error:
            return _not_sent(error)
        here.in_flight += 1
        try:
            outcome = await here.session.send(queue, message)
            return self._redaction.outcome(queue.name, message.body, outcome)
        finally:
            here.in_flight -= 1
            if here.replaced and not here.in_flight:
                await here.session.close()

    async def prepare(self, queue: Queue, message: Message) -> Outcome | None:
        """Read the credential, and do what the channel can do beforehand."""
        try:
            here = self._fresh(AHEAD_S) or await self._connect()
        except PostroadError as error:
            return _not_sent(error)
        session = here.session
        return await session.prepare(queue, message) if isinstance(session, Prepares) else None

    def overdue(self, seconds: float) -> Outcome:
        """Return the outcome of a try that was cut after so long."""
        here = self._connected
        return here.session.overdue(seconds) if here else unknown(f"cut after {seconds:g} s")

    def cut(self, message: Message, outcome: Outcome) -> None:
        """Tell the channel's session, if it wants to know."""
        here = self._connected
        if here is not None and isinstance(here.session, HearsCuts):
            here.session.cut(message, outcome)

    async def close(self) -> None:
        """Close the session."""
        if self._connected is not None:
            await self._connected.session.close()
            self._connected = None

    async def session(self) -> Session:
        """The channel's own session, with what else it can do; BadCredential when there is none."""
        return (self._fresh() or await self._connect()).session

    def _fresh(self, ahead_s: float = 0.0) -> _Connected | None:
        here, lane = self._connected, self._lane
        credential = self._credentials.get(lane.tenant, lane.credential, ahead_s)
        return here if here is not None and here.credential is credential else None

    async def _connect(self) -> _Connected:
        lane = self._lane
        credential = await self._credentials.ask(lane.tenant, lane.credential)
        check_kind(credential, self._channel)
        old = self._connected
        if old is not None and old.credential is credential:
            return old
        session = await self._channel.connect(lane, credential)
        here, self._connected = self._connected, _Connected(session, credential)
        if here is not None:
            here.replaced = True
            if not here.in_flight:
                await here.session.close()
        return self._connected


def _not_sent(error: PostroadError) -> Outcome:
    """Make the outcome of a try without a session: nothing was sent."""
    why = error_text(error)
    if isinstance(error, BadKey):
        return held(f"the credential cannot be read: {why}")
    if isinstance(error, StoreError):
        return unreachable(f"the credential cannot be read: {why}")
    if isinstance(error, BadInput):
        return refused(why, ProviderAnswer(sub_type="credential"))
    raise error
