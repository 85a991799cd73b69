"""The addresses of the road's own API: an endpoint there would get its own events for ever."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from postroad.model.errors import BadUrl
from postroad.transports.webhook.target import Target

EVERYWHERE: Final = ("0.0.0.0", "::", "")  # noqa: S104 - compared with, not listened on
HERE: Final = ("127.0.0.1", "::1", "localhost")
API: Final = "/v1/"


class OwnServer(Struct, frozen=True):
    """Where the API of a road is: the address that it listens on, and names that lead to it."""

    host: str
    port: int
    names: frozenset[str] = frozenset()

    def check(self, target: Target) -> None:
        """Raise BadUrl for a URL that leads back here."""
        at_port = target.port == self.port and target.host in self._hosts()
        by_name = target.host in self.names and target.path.startswith(API)
        if at_port or by_name:
            raise BadUrl(
                f"{target.server} is this road itself: an endpoint there would send events in a "
                "circle; use a handler, or another server"
            )

    def _hosts(self) -> Iterable[str]:
        """Names of the host that it listens on; of all hosts, those of this machine."""
        anywhere = self.host in EVERYWHERE or self.host in HERE
        return (self.host, *HERE) if anywhere else (self.host,)
