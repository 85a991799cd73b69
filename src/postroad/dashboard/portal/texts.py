"""All texts of the portal: one file for each language, with the same keys."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import SimpleNamespace
from typing import Final

import msgspec

ROOM: Final = "postroad.dashboard.portal"
FIRST: Final = "en"
ACCEPTED_MAX: Final = 20


@cache
def languages() -> Mapping[str, dict[str, str]]:
    """The texts of each language that there is a file for."""
    found = [each for each in files(ROOM).iterdir() if each.name.endswith(".json")]
    decoder = msgspec.json.Decoder(dict[str, str])
    return {each.name.removesuffix(".json"): decoder.decode(each.read_bytes()) for each in found}


def texts_for(accepted: str) -> SimpleNamespace:
    """The texts of the first language that a browser accepts and we have. They are all that it has:
    the `copy` of a dict would be its method, in a template too."""
    return SimpleNamespace(**_chosen(accepted, languages()))


def _chosen(accepted: str, known: Mapping[str, dict[str, str]]) -> dict[str, str]:
    for each in accepted.split(",")[:ACCEPTED_MAX]:
        name = each.partition(";")[0].strip().partition("-")[0].lower()
        if name in known:
            return known[name]
    return known[FIRST]
