"""Names of migrations; the loader of `.sql` files is a port's, since rooms have tables too."""

from postroad.ports.sql import load

__all__ = ["load", "number_of"]


def number_of(migration: str) -> int:
    """`004_pace` is step 4. Numbers may have gaps: parts of a release are written side by side."""
    return int(migration.partition("_")[0])
