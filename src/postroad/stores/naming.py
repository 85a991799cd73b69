"""The file that a DSN names, and the DSN without its passwords."""

from pathlib import Path

from postroad.model.errors import BadDsn, BadInput
from postroad.stores.rabbitmq.options import read_options


def file_of(dsn: str) -> Path | None:
    """The SQLite file of a road, or of the state store beside its broker; None without a file."""
    if dsn.startswith(("amqp://", "amqps://")):
        dsn = read_options(dsn).state
    name = dsn.removeprefix("sqlite:///")
    return Path(name) if name != dsn else None


def keys_beside(road: Path) -> Path:
    """The file of the keys that belong to a road's own file."""
    return road.with_name(f"{road.name}.keys")


def keys_begun(road: Path) -> Path:
    """The file of a new key until everything that was stored unsealed is sealed with it."""
    return road.with_name(f"{road.name}.keys.new")


def shown(dsn: str) -> str:
    """A DSN without its passwords, which may also be in the query part."""
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
    user, colon, _ = login.partition(":")
    login = f"{user}{colon and ':…'}{at}"
    names = "&".join(f"{each.partition('=')[0]}=…" for each in query.split("&") if "=" in each)
    return f"{scheme}://{login}{place}{mark}{names}"


def make_folder(dsn: str) -> None:
    """Create the folder of a SQLite file if it is missing, readable by its user only."""
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
