"""The address of a broker, parsed from a DSN."""

from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from postroad.model.errors import BadDsn

PORT: Final = 5672
TLS_PORT: Final = 5671


class BrokerAddress(Struct, frozen=True):
    """A broker, a vhost and a user. The text form leaves the password out."""

    host: str
    port: int = PORT
    user: str = "guest"
    password: str = "guest"  # noqa: S105 - RabbitMQ's own default
    vhost: str = "/"
    tls: bool = False

    @property
    def name(self) -> str:
        """The address without its password, for errors and logs."""
        scheme = "amqps" if self.tls else "amqp"
        return f"{scheme}://{self.host}:{self.port}/{'' if self.vhost == '/' else self.vhost}"

    def __repr__(self) -> str:
        return f"Address({self.name})"


def read_address(dsn: str) -> BrokerAddress:
    """Parse the broker's address. The query part of the DSN is read by `read_options`."""
    try:
        parts = urlsplit(dsn)
        port = parts.port
    except ValueError:  # its text may contain a part of the password
        raise BadDsn(
            "the RabbitMQ address is malformed: check its port, and write / and @ in a password as"
            " %2F and %40"
        ) from None
    if parts.scheme not in ("amqp", "amqps") or not parts.hostname:
        raise BadDsn("a RabbitMQ address looks like amqp://user:password@host:5672/vhost")
    tls = parts.scheme == "amqps"
    vhost = unquote(parts.path[1:])
    if "/" in parts.path[1:]:
        raise BadDsn("the vhost of a RabbitMQ address has a slash: write it as %2F")
    return BrokerAddress(
        host=parts.hostname,
        port=port or (TLS_PORT if tls else PORT),
        user=unquote(parts.username or "guest"),
        password=unquote(parts.password or "guest"),
        vhost=vhost or "/",
        tls=tls,
    )
