"""Scripts of a schema and their numbers; statements are loaded by `ports.sql`."""

from importlib.resources import files

from postroad.ports.sql import load

__all__ = ["load", "number_of", "read_scripts", "shared_views"]


def shared_views() -> dict[str, str]:
    """The views that read the same in SQLite and PostgreSQL; they are made after the tables."""
    return read_scripts("postroad.stores", "schema")


def read_scripts(package: str, folder: str) -> dict[str, str]:
    """The whole `.sql` files of a package's folder, by name, in order."""
    found = {entry.name: entry for entry in (files(package) / folder).iterdir()}
    names = sorted(name for name in found if name.endswith(".sql"))
    return {name.removesuffix(".sql"): found[name].read_text("utf-8") for name in names}


def number_of(migration: str) -> int:
    """`104_pace` is step 104. Numbers may have gaps: parts of a release are written in parallel."""
    return int(migration.partition("_")[0])
