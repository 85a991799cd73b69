"""Credentials: who sends, at which server, how fast. Secrets are kept apart, and sealed."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from postroad.model.errors import BadInput

SECRET: Final = "secret"  # noqa: S105 - the name, not the secret
"""The name of a credential's main secret."""


class BadCredential(BadInput):
    """The credential is unknown, expired, refused by its provider, or not usable as it is."""


class CredentialField(Struct, frozen=True):
    """A field that credentials of one kind have: of those below, of their options, or a secret."""

    name: str
    help: str
    needed: bool = False
    sealed: bool = False
    characters_min: int = 0


class CredentialSpec(Struct, frozen=True):
    """The part of a credential that is no secret."""

    server: str = ""
    """The provider's address, as https://api.twilio.com; empty for webhooks."""
    account: str = ""
    sender: str = ""
    rate: str = ""
    """As `50/s` or `50/s,1000/h`; empty is no limit."""
    segments_max: int = 1
    """The most segments that one message may have; the limit counts segments."""
    price: float = 0.0
    """The price of one segment, for estimates."""
    expires_at_ms: int = 0
    callback: str = ""
    """Where the provider is to report: the public address of this road's server."""
    options: dict[str, str] = {}
    """Fields that only credentials of its kind have."""
    secrets: tuple[str, ...] = ()
    """The names of its secrets."""


class Credential(Struct, frozen=True):
    """A credential as stored. `key` is the key that sealed its secrets. `kind` is the channel that
    sends with it."""

    id: int
    tenant: str
    name: str
    kind: str
    spec: CredentialSpec
    key: str
    sealed: bytes
    blocked_until_ms: int = 0
    block_reason: str = ""
    block_streak: int = 0
    created_at_ms: int = 0

    @property
    def place(self) -> str:
        """The name that its secrets are sealed for."""
        return f"credential {self.tenant} {self.name}"


class OpenCredential(Struct, frozen=True):
    """A credential with its secrets in clear: what a session sends with."""

    credential: Credential
    secrets: Mapping[str, str]

    @property
    def spec(self) -> CredentialSpec:
        """What is public of it."""
        return self.credential.spec

    @property
    def secret(self) -> str:
        """The credential's main secret; empty when it has none."""
        return self.secrets.get(SECRET, "")
