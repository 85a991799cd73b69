"""What a DSN names: its file, and how it is shown."""

from pathlib import Path

from postroad.model.errors import BadDsn, BadInput
from postroad.stores.rabbitmq.options import read_options


def file_of(dsn: str) -> Path | None:
    """The SQLite file of a road, or of its state beside a broker; None when there is none."""
    if dsn.startswith(("amqp://", "amqps://")):
        dsn = read_options(dsn).state
    name = dsn.removeprefix("sqlite:///")
    return Path(name) if name != dsn else None


def shown(dsn: str) -> str:
    """A store's address without its passwords, which may also stand behind the question mark."""
    if dsn.startswith("sqlite:"):
        return dsn
    if dsn.startswith(("amqp://", "amqps://")):
        try:
            options = read_options(dsn)
        except BadDsn:
            return "amqp://…"
        return f"{options.address.name}?state={shown(options.state)}"
    address, mark, query = dsn.partition("?")
    scheme, _, rest = address.partition("://")
    login, at, place = rest.rpartition("@")
    user = f"{login.partition(':')[0]}:…@" if at else ""
    names = "&".join(f"{each.partition('=')[0]}=…" for each in query.split("&") if "=" in each)
    return f"{scheme}://{user}{place}{mark}{names}"


def make_folder(dsn: str) -> None:
    """The folder of a SQLite file, where it is missing."""
    file = file_of(dsn)
    if file is None:
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot make the folder of {file}: {error.strerror}") from None
