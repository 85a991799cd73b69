"""Channels: transports that send with credentials, to recipients that messages name. SMS, WhatsApp
and mail are channels, and so are webhooks for campaigns. A channel says what is its own; what all
have in common is `transports/channels.py`."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol, runtime_checkable

from msgspec import Struct

from postroad.model.blobs import Attachment
from postroad.model.credential import CredentialField, CredentialSpec, OpenCredential
from postroad.model.entities import LaneKey, Message, Policy, Queue
from postroad.model.mail_report import MailReport
from postroad.model.recipients import Measured, RecipientCheck
from postroad.ports.transport import Session

CALLBACKS: Final = "/v1/callbacks"


@runtime_checkable
class Channel(Protocol):
    """One way to reach recipients."""

    @property
    def name(self) -> str:
        """The name of the transport, of the kind of its credentials, and the beginning of the names
        of its queues."""

    @property
    def scheme(self) -> str:
        """What the addresses of its recipients begin with; empty where only campaigns use it."""

    @property
    def fields(self) -> tuple[CredentialField, ...]:
        """The fields of its credentials."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The texts that a campaign renders for each recipient: `text`, for mail also `subject` and
        `html`."""

    @property
    def recipients(self) -> RecipientCheck:
        """How its recipients are checked."""

    @property
    def policy(self) -> Policy:
        """The policy of its queues."""

    @property
    def calls_max(self) -> int:
        """How often a campaign calls a recipient that does not answer: more than once only where
        receivers recognise a repetition."""

    def check(self, spec: CredentialSpec, secrets: Mapping[str, str]) -> None:
        """Check a credential beyond its fields; BadInput says what is wrong."""

    def encode(self, parts: Mapping[str, str]) -> bytes:
        """Return the body of a message with these rendered texts."""

    def measure(self, body: bytes) -> Measured:
        """Check a body, and say what it costs; BadInput says what is wrong."""

    async def connect(self, lane: LaneKey, credential: OpenCredential) -> Session:
        """Open a session for a lane with a credential; BadCredential or BadInput when nothing can
        be sent with it. A changed credential gets a new session."""


@runtime_checkable
class HasSites(Protocol):
    """A channel whose recipients are at many servers, each with a lane of its own."""

    async def site(self, recipient: str, credential: OpenCredential) -> str:
        """Return the site whose lane serves a recipient; empty where all share the credential's
        lane."""

    def only_site(self, credential: OpenCredential) -> str:
        """Return the site that serves all recipients; empty where each has its own."""


@runtime_checkable
class Attaches(Protocol):
    """A channel whose messages may have attachments."""

    def attach(self, body: bytes, attachments: Sequence[Attachment]) -> bytes:
        """Add stored attachments to a body that `encode` made."""


@runtime_checkable
class ChecksRecipient(Protocol):
    """A channel whose bodies may name the recipient, too."""

    def check_recipient(self, body: bytes, recipient: str) -> None:
        """Raise BadInput if a body names somebody else than whom it is sent to."""


@runtime_checkable
class HasDefault(Protocol):
    """A channel for which settings may name a credential: the one that has the channel's name,
    where a tenant has stored none of that name."""

    def default(self) -> OpenCredential | None:
        """Return the credential that settings name."""


@runtime_checkable
class HasWindow(Protocol):
    """A channel whose servers take only so much at once."""

    @property
    def window(self) -> int:
        """How many messages one lane may have in flight."""

    def sessions(self, credential: OpenCredential) -> int:
        """How many of them are on the wire at once with a credential; the others wait for their
        turn."""


@runtime_checkable
class Checks(Protocol):
    """A session that can ask its provider about the credential."""

    async def check(self) -> str:
        """Check the credential: answers the account's name, or raises BadCredential."""


@runtime_checkable
class LooksUp(Protocol):
    """A session that can ask its provider about a message."""

    async def lookup(self, queue: Queue, message: Message) -> str:
        """Ask for the provider's id of a message; empty when it has none. Raises BadCredential when
        it cannot be asked."""


def callback_url(base: str, key: str) -> str:
    """Return the URL at which a provider reports about one message; empty without a public
    address."""
    return f"{base.rstrip('/')}{CALLBACKS}/{key}" if base else ""


class ProviderCall(Struct, frozen=True):
    """A request of a provider that reports about a message."""

    url: str
    """As the provider was given it."""
    headers: Mapping[str, str]
    body: bytes
    key: str = ""
    """The secret that its address had."""


class ProviderReport(Struct, frozen=True):
    """What a provider reports about a message that it has taken."""

    provider_id: str
    status: str
    code: str = ""


@runtime_checkable
class CallsBack(Protocol):
    """A channel whose providers report about messages later."""

    def reads(self, headers: Mapping[str, str]) -> bool:
        """Whether a request can be such a report, by its headers: else nothing of it is read."""

    def report(self, call: ProviderCall, credential: OpenCredential) -> ProviderReport | None:
        """Read a report; None when it is not signed by the provider, or says nothing."""


OnceOnly = Callable[[str, str], Awaitable[bool]]
"""Whether a token comes for the first time, or with the same digest of a body as before."""


@runtime_checkable
class ReportsBack(Protocol):
    """A channel whose providers report about all messages of a credential at one address."""

    async def reports(
        self, call: ProviderCall, credential: OpenCredential, once: OnceOnly
    ) -> Sequence[MailReport] | None:
        """Read a call; None when it is not from the credential's provider."""
