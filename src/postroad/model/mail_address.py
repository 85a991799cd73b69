"""Mail addresses: how one is checked, and the one form in which it is stored."""

import re
from encodings import idna
from typing import Final

from postroad.model.errors import BadInput

ADDRESS_MAX: Final = 254
LOCAL_BYTES_MAX: Final = 64
DOMAIN_MAX: Final = 253
SHOWN: Final = 60
ATOMS: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~\u00a1-\U0010ffff-]+")
"""What stands between the dots of a local part: ASCII as RFC 5321 allows, and beyond it."""
LABEL: Final = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
TWO_WAYS: Final = frozenset("ßς\u200c\u200d")
"""The two standards for names beyond ASCII disagree on these: the one maps them, the other does
not, so that they name two domains."""
PLAIN: Final = re.compile(
    r"[A-Za-z0-9_+-]{1,30}(\.[A-Za-z0-9_+-]{1,30})?@([a-z0-9]{1,63}\.){1,3}[a-z]{2,63}"
)
"""Matches only addresses that are in the stored form already; most are."""


def normal_mail(text: str) -> str:
    """Return an address in its stored form: the local part as it is, the domain in lower case and
    in ASCII. BadInput says what is wrong with it."""
    if PLAIN.fullmatch(text):
        return text
    local, mark, domain = text.rpartition("@")
    if not mark or not local or not domain:
        raise _bad(text, "write ann@example.com")
    _check_local(text, local)
    found = f"{local}@{_domain(text, domain)}"
    if len(found) > ADDRESS_MAX:
        raise _bad(text, f"it has over {ADDRESS_MAX} characters")
    return found


def _check_local(text: str, local: str) -> None:
    if '"' in local or "(" in local or "\\" in local:
        raise _bad(text, "quotes and comments are not taken: write the bare address")
    if "<" in text or "," in text or ";" in text:
        raise _bad(text, "write one bare address, without a name")
    if not text.isprintable() or any(letter.isspace() for letter in text):
        raise _bad(text, "it has a blank or a control character")
    if "@" in local or not all(map(ATOMS.fullmatch, local.split("."))):
        raise _bad(text, "the part before the @ has a character, or a dot, where none may be")
    if len(local.encode(errors="surrogatepass")) > LOCAL_BYTES_MAX:
        raise _bad(text, f"the part before the @ has over {LOCAL_BYTES_MAX} bytes")


def _domain(text: str, domain: str) -> str:
    if len(domain) > DOMAIN_MAX:
        raise _bad(text, f"its domain has over {DOMAIN_MAX} characters")
    if domain.startswith("["):
        raise _bad(text, "a number in brackets is no domain: give a name")
    found = domain.removesuffix(".").lower() if domain.isascii() else _ascii(text, domain)
    labels = found.split(".")
    if len(found) > DOMAIN_MAX or not all(map(LABEL.fullmatch, labels)):
        raise _bad(text, "its domain is no name")
    if labels[-1].isdecimal():
        raise _bad(text, "its domain is a number: give a name")
    return found


def _ascii(text: str, domain: str) -> str:
    if not TWO_WAYS.isdisjoint(domain):
        raise _bad(text, "its domain can be written in ASCII in two ways: write it as xn--…")
    try:
        return b".".join(idna.ToASCII(label) for label in idna.dots.split(domain)).decode().lower()
    except UnicodeError:
        raise _bad(text, "its domain cannot be written in ASCII") from None


def _bad(text: str, why: str) -> BadInput:
    return BadInput(f"{text[:SHOWN]!r} is no mail address: {why}")
