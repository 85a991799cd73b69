"""What keeps pages from other sites: headers of answers, the session cookie, whose form it is."""

from bisect import bisect_right
from itertools import accumulate
from typing import Final
from urllib.parse import quote

from postroad.api.request import Request
from postroad.model.errors import Forbidden

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'"
)
MAIL_POLICY: Final = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "form-action 'none'; frame-ancestors 'self'; base-uri 'none'"
)
"""The policy of a mail that is shown in a frame: it runs no scripts, has no forms and fetches
nothing. Its own styles are allowed."""
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    # With no-referrer a browser would send `Origin: null` with a form, which is refused.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
    "x-robots-tag": "noindex",
}
SESSION: Final = "postroad_session"
NOTICE: Final = "postroad_notice"
TENANT: Final = "postroad_tenant"
THEME: Final = "postroad_theme"
HOST_ONLY: Final = "__Host-"
"""Browsers take a cookie of such a name only over TLS and from this very host: no other host of the
domain can plant a session."""
VALUE_BYTES_MAX: Final = 3_000
"""Browsers keep no cookie that takes more than 4,096 bytes with its name and attributes."""


def cookies(request: Request) -> dict[str, str]:
    """The cookies that came with a request; of two of one name the first counts."""
    found: dict[str, str] = {}
    for pair in request.headers.get("cookie", "").split(";")[:100]:
        name, mark, value = pair.strip().partition("=")
        if mark:
            found.setdefault(name, value)
    return found


def cookie_name(request: Request, name: str) -> str:
    """The name of our cookie. Browsers send a host's cookies to all its ports: two roads on one
    machine must not end each other's sessions."""
    port = request.headers.get("host", "").rpartition(":")[2]
    prefix = HOST_ONLY if request.scheme == "https" else ""
    return f"{prefix}{name}_{port}" if port.isdecimal() else f"{prefix}{name}"


def cookie(request: Request, name: str, value: str, lasts_s: int, same_site: str = "Strict") -> str:
    """A `Set-Cookie`: for this site alone, and out of reach for scripts."""
    secure = "; Secure" if request.scheme == "https" else ""
    own = cookie_name(request, name)
    return f"{own}={value}; Path=/; Max-Age={lasts_s}; HttpOnly; SameSite={same_site}{secure}"


def fitting(text: str) -> str:
    """A text as the value of a cookie, as much of it as all browsers keep."""
    quoted = [quote(each, safe="") for each in text[:VALUE_BYTES_MAX]]
    ends = list(accumulate(map(len, quoted)))
    if not ends or ends[-1] <= VALUE_BYTES_MAX:
        return "".join(quoted)
    left_out = quote("…")
    return "".join(quoted[: bisect_right(ends, VALUE_BYTES_MAX - len(left_out))]) + left_out


def check_own_form(request: Request) -> None:
    """Refuse a change that no page of ours asked for. Each browser says where a form comes from;
    who says nothing is no browser, and has the API."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin", "")
    same = origin.partition("://")[2] == request.headers.get("host")
    if site not in (None, "same-origin") or not same:
        raise Forbidden("this form does not come from a page of this server: nothing was changed")
