"""Loads the statements of a package: `.sql` files by topic, each statement under `-- name: …`."""

from collections.abc import Iterator
from importlib.resources import files

MARK = "-- name:"


def load(package: str, folder: str = "") -> dict[str, str]:
    """All statements in a package's folder, by name. Two of one name are refused."""
    here = files(package) / folder if folder else files(package)
    found: dict[str, str] = {}
    for entry in sorted(here.iterdir(), key=lambda entry: entry.name):
        if not entry.name.endswith(".sql"):
            continue
        for name, statement in split(entry.read_text("utf-8"), entry.name.removesuffix(".sql")):
            if name in found:
                raise ValueError(f"{package}: statement {name} stands twice; rename one of them")
            found[name] = statement
    return found


def split(text: str, topic: str) -> Iterator[tuple[str, str]]:
    """Name and statement of each part of a file. The comment lines that follow a name describe the
    statement and are not sent."""
    head, *parts = ("\n" + text).split("\n" + MARK)
    for line in head.splitlines():
        if line and not line.startswith("--"):
            raise ValueError(f"{topic}.sql: {line!r} stands before the first `{MARK}`")
    for part in parts:
        name, _, rest = part.partition("\n")
        lines = rest.strip().splitlines()
        while lines and lines[0].startswith("--"):
            del lines[0]
        yield name.strip(), "\n".join(lines).strip()
