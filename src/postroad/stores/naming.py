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


def keys_beside(road: Path) -> Path:
    """Where the keys are that a road's file has of its own."""
    return road.with_name(f"{road.name}.keys")


def keys_begun(road: Path) -> Path:
    """Where the first of them is until all that lay there unsealed is sealed with it."""
    return road.with_name(f"{road.name}.keys.new")


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
    """The folder of a SQLite file, where it is missing; one that is made is its user's alone."""
    file = file_of(dsn)
    if file is None:
        return
    try:
        _make_private(file.parent)
    except OSError as error:
        raise BadInput(f"cannot make the folder of {file}: {error.strerror}") from None


def _make_private(folder: Path) -> None:
    if not folder.exists():
        _make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
