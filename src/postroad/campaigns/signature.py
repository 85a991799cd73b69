"""Signatures of callbacks: a provider signs them with the credential's token."""

import hashlib
import hmac
from base64 import b64encode
from collections.abc import Mapping


def sign(token: str, url: str, form: Mapping[str, str]) -> str:
    """The signature of a callback: HMAC-SHA1 over the address and the sorted form."""
    text = url + "".join(name + form[name] for name in sorted(form))
    return b64encode(hmac.new(token.encode(), text.encode(), hashlib.sha1).digest()).decode()


def signed(token: str, url: str, form: Mapping[str, str], signature: str) -> bool:
    """Whether the signature is the provider's."""
    return hmac.compare_digest(sign(token, url, form).encode(), signature.encode())
