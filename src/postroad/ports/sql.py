"""Loads the `.sql` files of a room: one query a file, named after its file."""

from importlib.resources import files
from importlib.resources.abc import Traversable


def load(package: str, folder: str = "") -> dict[str, str]:
    """The texts of all `.sql` files in a package's folder, by name."""
    found = sorted(_sql_files(package, folder), key=lambda entry: entry.name)
    return {entry.name.removesuffix(".sql"): entry.read_text("utf-8").strip() for entry in found}


def _sql_files(package: str, folder: str) -> list[Traversable]:
    here = files(package) / folder if folder else files(package)
    return [entry for entry in here.iterdir() if entry.name.endswith(".sql")]
