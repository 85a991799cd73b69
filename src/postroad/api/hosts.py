"""Which `Host` names are answered, against DNS rebinding: a page of another site must not reach
this server by a name of its own that points to this machine."""

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final

ANY: Final = "*"
LOCAL: Final = "localhost"


class Hosts:
    """The names in `Host` that are answered. Addresses and localhost always are: no name that
    somebody else owns is one of them."""

    def __init__(self, named: Iterable[str], listens_on: str) -> None:
        self._named = frozenset(name.lower().strip("[].") for name in named)
        # A port that is open to others is reached by names that we cannot know.
        self._any = ANY in self._named or not (self._named or _is_loopback(listens_on))

    def allows(self, header: str) -> bool:
        """Whether a request with this `Host` is answered."""
        return self._any or self._known(_name(header))

    def _known(self, name: str) -> bool:
        if name in self._named or name == LOCAL or name.endswith(f".{LOCAL}"):
            return True
        return _is_address(name)


def _name(header: str) -> str:
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0].lower().rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return host == LOCAL or (_is_address(host) and ip_address(host).is_loopback)
