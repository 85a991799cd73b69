"""Loads the `.sql` files beside a store: one query a file, named after its file."""

from importlib.resources import files
from importlib.resources.abc import Traversable


def load(package: str, folder: str) -> dict[str, str]:
    """The texts of all `.sql` files in a package's folder, by name."""
    found = sorted(_sql_files(package, folder), key=lambda entry: entry.name)
    return {entry.name.removesuffix(".sql"): entry.read_text("utf-8").strip() for entry in found}


def _sql_files(package: str, folder: str) -> list[Traversable]:
    here = files(package) / folder
    return [entry for entry in here.iterdir() if entry.name.endswith(".sql")]


def number_of(migration: str) -> int:
    """`004_pace` is step 4. Numbers may have gaps: parts of a release are written side by side."""
    return int(migration.partition("_")[0])
