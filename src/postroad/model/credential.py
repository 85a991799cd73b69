"""Credentials: who sends, at which server, how fast. Secrets are kept apart, and sealed."""

from typing import Final

from msgspec import Struct

from postroad.model.entities import LaneKey

KINDS: Final = ("twilio", "webhook")


class CredentialSpec(Struct, frozen=True):
    """The part of a credential that is no secret."""

    server: str
    """The provider's address, as https://api.twilio.com; empty for webhooks."""
    account: str = ""
    sender: str = ""
    rate: str = ""
    """As `50/s` or `50/s,1000/h`; empty is no limit."""
    segments_max: int = 1
    """The most segments that one message may have; the limit counts segments."""
    price: float = 0.0
    """Of one segment, for estimates."""
    expires_at_ms: int = 0
    callback: str = ""
    """Where the provider is to report: the public address of this road's server."""


class Credential(Struct, frozen=True):
    """A credential as stored. `key` is the key that sealed it."""

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
    def lane(self) -> LaneKey:
        """The session that it is for; limits are kept by it."""
        server = self.spec.server or "any"
        return LaneKey(
            "sms" if self.kind == "twilio" else "webhook", server, self.name, tenant=self.tenant
        )

    @property
    def place(self) -> str:
        """The name that its secret is sealed for."""
        return f"credential {self.tenant} {self.name}"
