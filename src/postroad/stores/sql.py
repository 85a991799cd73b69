"""Scripts of a schema and their numbers; statements are loaded by `ports.sql`."""

import re
from importlib.resources import files
from typing import Final

from postroad.ports.sql import load

__all__ = ["BETWEEN", "load", "number_of", "plain", "read_scripts", "shared_views"]
BETWEEN: Final = (
    "{where} has tables that no release had: it was made by a Postroad from between two releases, "
    "and cannot be migrated. Let that one deliver what is left, then {then}"
)


def shared_views() -> dict[str, str]:
    """The views that read the same in SQLite and PostgreSQL; they are made after the tables."""
    return read_scripts("postroad.stores", "schema")


def read_scripts(package: str, folder: str) -> dict[str, str]:
    """The whole `.sql` files of a package's folder, by name, in order."""
    found = {entry.name: entry for entry in (files(package) / folder).iterdir()}
    names = sorted(name for name in found if name.endswith(".sql"))
    return {name.removesuffix(".sql"): found[name].read_text("utf-8") for name in names}


def plain(sql: str) -> str:
    """Definitions without their comments and their layout."""
    return re.sub(r"\s*([(),;])\s*", r"\1", " ".join(re.sub(r"--[^\n]*", "", sql).split()))


def number_of(migration: str) -> int:
    """`104_pace` is step 104. Numbers may have gaps: parts of a release are written in parallel."""
    return int(migration.partition("_")[0])
