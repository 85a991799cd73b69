"""Names that somebody may have meant."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from msgspec import StructMeta

from postroad.model.errors import BadSetting


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `: did you mean x?` for the known name that is nearest, or nothing."""
    near = get_close_matches(name[:200], known, 1)
    return f": did you mean {near[0]!r}?" if near else ""


class NamesChecked(StructMeta):
    """Makes classes of settings say which name was meant, when they are given an unknown one."""

    if not TYPE_CHECKING:  # a checker knows the fields of each

        def __call__(cls, *values, **named):  # noqa: N805 - of a class
            """Make the settings, if all names are known."""
            for name in named:
                if name not in cls.__struct_fields__:
                    near = nearest(name, cls.__struct_fields__)
                    raise BadSetting(f"{cls.__name__} has no setting {name!r}{near}")
            return super().__call__(*values, **named)
