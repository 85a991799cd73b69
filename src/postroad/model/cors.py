"""What an answer tells a browser about pages of other sites (CORS): those of the setting `origins`
may read it, without cookies. Tokens are in a header, so credentials are never allowed."""

from collections.abc import Iterable, Mapping
from typing import Final

SENT: Final = "authorization, content-type, idempotency-key, postroad-tenant"
"""Headers that such pages may send."""
READ: Final = "location, retry-after"
"""Headers of answers that they may read, beside those that all may."""
KEPT_S: Final = 600


class Cors:
    """The headers for the pages of some origins, and of no others."""

    def __init__(self, origins: Iterable[str]) -> None:
        self._origins = frozenset(origin.lower() for origin in origins)

    def allows(self, origin: str | None) -> bool:
        """Whether it is one of them."""
        return origin in self._origins

    def headers(self, origin: str | None) -> dict[str, str]:
        """Return the headers of every answer. It differs by origin, which caches have to know."""
        if not self._origins:
            return {}
        told = {"vary": "origin"}
        if origin is not None and self.allows(origin):
            told |= {"access-control-allow-origin": origin, "access-control-expose-headers": READ}
        return told

    def preflight(self, asked: Mapping[str, str], methods: str) -> dict[str, str]:
        """Further headers, for a browser that asks before it sends a page's request."""
        if "access-control-request-method" not in asked or not self.allows(asked.get("origin")):
            return {}
        return {
            "access-control-allow-methods": methods,
            "access-control-allow-headers": SENT,
            "access-control-max-age": str(KEPT_S),
        }
