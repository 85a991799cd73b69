"""What a mail carries so that it can be recognised when it comes back: its reference, its return
path and its unsubscribe link, all signed by the road's keys."""

from base64 import b32decode, b32encode, urlsafe_b64decode, urlsafe_b64encode
from typing import Final

import msgspec
from msgspec import Struct

from postroad.model.ids import key_number
from postroad.model.keyring import KeyRing
from postroad.model.suppression import folded

UNSUBSCRIBE: Final = "/unsubscribe"
UNSUBSCRIBE_NAME: Final = "unsubscribe_url"
UNSUBSCRIBE_MARK: Final = "{{ unsubscribe_url }}"
"""Stands in the texts of a mail for the link of its recipient, which is made when it is sent."""
RETURN: Final = "b-"
"""The local part of a return path begins with it."""
ID_BYTES: Final = 8
MAC_BYTES: Final = 8
REFERENCE_BYTES: Final = ID_BYTES + 2 * MAC_BYTES
REFERENCE_LETTERS: Final = 39
TOKEN_MAC_BYTES: Final = 16
TOKEN_LETTERS_MAX: Final = 1_024


class Subscriber(Struct, frozen=True, array_like=True):
    """Whom an unsubscribe link names, and in which message it was."""

    tenant: str
    ref: str
    recipient: str


SUBSCRIBER: Final = msgspec.json.Decoder(Subscriber)


class MailLinks:
    """Makes and reads links. Without keys it makes none: somebody who can forge a link could
    unsubscribe others."""

    def __init__(self, ring: KeyRing, public_url: str = "", bounce_domain: str = "") -> None:
        self._ring = ring
        self._public_url = public_url.rstrip("/")
        self._bounce_domain = bounce_domain

    def reference(self, ref: str, recipient: str) -> str:
        """Name a message for those who may report about it, in letters that survive a change of
        case: its id, signed, and a signature for its recipient. Empty without keys."""
        number = key_number(ref)
        if number is None or not self._ring:
            return ""
        data = number.to_bytes(ID_BYTES, signed=True)
        macs = self._ring.sign(_known(data))[:MAC_BYTES], self._ring.sign(_bound(data, recipient))
        text = b32encode(data + macs[0] + macs[1][:MAC_BYTES]).decode()
        return text.lower().rstrip("=")

    def return_path(self, ref: str, recipient: str) -> str:
        """The address to which a mail is returned; empty where no domain for it is set."""
        reference = self.reference(ref, recipient) if self._bounce_domain else ""
        return f"{RETURN}{reference}@{self._bounce_domain}" if reference else ""

    def returned(self, address: str) -> str:
        """The reference of a return path; empty if it is none of ours."""
        local, _, domain = address.rpartition("@")
        ours = domain.lower() == self._bounce_domain.lower() and local[:2].lower() == RETURN
        reference = local[2:].lower() if ours else ""
        return reference if self.number(reference) is not None else ""

    def number(self, reference: str) -> int | None:
        """The id of the message that a reference names; None if we have not signed it."""
        data = _decoded(reference)
        if len(data) != REFERENCE_BYTES:
            return None
        mac = data[ID_BYTES : ID_BYTES + MAC_BYTES]
        if not self._ring.is_signed(_known(data[:ID_BYTES]), mac):
            return None
        return int.from_bytes(data[:ID_BYTES], signed=True)

    def is_for(self, reference: str, recipient: str) -> bool:
        """Whether a reference was made for this recipient: who got one cannot use it for others."""
        data = _decoded(reference)
        mac = data[ID_BYTES + MAC_BYTES :]
        whole = len(data) == REFERENCE_BYTES
        return whole and self._ring.is_signed(_bound(data[:ID_BYTES], recipient), mac)

    def unsubscribe_url(self, tenant: str, ref: str, recipient: str) -> str:
        """The link by which a recipient unsubscribes; empty where it cannot be made."""
        if not self._public_url or not self._ring:
            return ""
        data = msgspec.json.encode(Subscriber(tenant, ref, recipient))
        token = urlsafe_b64encode(data + self._ring.sign(_token(data))[:TOKEN_MAC_BYTES])
        return f"{self._public_url}{UNSUBSCRIBE}?t={token.decode().rstrip('=')}"

    def unsubscribe_headers(self, tenant: str, ref: str, recipient: str) -> dict[str, str]:
        """The headers by which mail programs unsubscribe with one click (RFC 8058)."""
        url = self.unsubscribe_url(tenant, ref, recipient)
        if not url:
            return {}
        return {
            "List-Unsubscribe": f"<{url}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        }

    def subscriber(self, token: str) -> Subscriber | None:
        """Whom a link names; None if it is not whole, or not ours."""
        if not 0 < len(token) <= TOKEN_LETTERS_MAX or not token.isascii():
            return None
        try:
            data = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        except ValueError:
            return None
        told, mac = data[:-TOKEN_MAC_BYTES], data[-TOKEN_MAC_BYTES:]
        if not self._ring.is_signed(_token(told), mac) or len(mac) != TOKEN_MAC_BYTES:
            return None
        return SUBSCRIBER.decode(told)


def _decoded(reference: str) -> bytes:
    if len(reference) != REFERENCE_LETTERS or not reference.isascii():
        return b""
    try:
        return b32decode(reference.upper() + "=")
    except ValueError:
        return b""


def _known(data: bytes) -> bytes:
    return b"reference\0" + data


def _bound(data: bytes, recipient: str) -> bytes:
    return b"recipient\0" + data + folded(recipient).encode()


def _token(data: bytes) -> bytes:
    return b"unsubscribe\0" + data
