"""The bill of materials of a release, as CycloneDX 1.6: what requirements/run.lock pins for `postroad[all]`.

The lock says by its comments who needs what. What only the build needs is left out.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from datetime import UTC, datetime
from typing import Any, NamedTuple

ENTRY = re.compile(r"^([a-z0-9][a-z0-9.-]*)==([^ \\]+)", re.MULTILINE)
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
NEEDED_BY = re.compile(r"^ +# +(?:via +)?(\S.*)$", re.MULTILINE)
PROJECT = "postroad (pyproject.toml)"


class Pin(NamedTuple):
    name: str
    version: str
    hashes: list[str]
    needed_by: list[str]

    @property
    def ref(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


def pins(lock: str) -> list[Pin]:
    """Every entry of a lock."""
    found = []
    for entry in re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE):
        if match := ENTRY.match(entry):
            needed_by = [name for name in NEEDED_BY.findall(entry) if name != "via"]
            found.append(Pin(match[1], match[2], HASH.findall(entry), needed_by))
    return found


def shipped(found: list[Pin]) -> list[Pin]:
    """Those that the project needs, or that something needs which it does."""
    names = {PROJECT}
    while more := {pin.name for pin in found if names & {*pin.needed_by}} - names:
        names |= more
    return [pin for pin in found if pin.name in names]


def bill(lock: str, version: str, core: set[str], epoch: int) -> dict[str, Any]:
    """The document. `core`: the libraries that come without any extra; their needs count too."""
    found = shipped(pins(lock))
    required = set(core)
    while more := {pin.name for pin in found if required & {*pin.needed_by}} - required:
        required |= more
    own = f"pkg:pypi/postroad@{version}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{_number(lock + version)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "library",
                "bom-ref": own,
                "name": "postroad",
                "version": version,
                "purl": own,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            },
        },
        "components": [_component(pin, pin.name in required) for pin in found],
        "dependencies": _dependencies(own, found),
    }


def _number(text: str) -> uuid.UUID:
    """The same for the same content: a release that is built again is the same bytes."""
    return uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4)


def _component(pin: Pin, required: bool) -> dict[str, Any]:  # noqa: FBT001 - of two
    return {
        "type": "library",
        "bom-ref": pin.ref,
        "name": pin.name,
        "version": pin.version,
        "purl": pin.ref,
        "scope": "required" if required else "optional",
        # One of each file that the index has of this version.
        "properties": [{"name": "postroad:lock:sha256", "value": each} for each in pin.hashes],
    }


def _dependencies(own: str, found: list[Pin]) -> list[dict[str, Any]]:
    names = {PROJECT: own} | {pin.name: pin.ref for pin in found}
    needs: dict[str, list[str]] = {ref: [] for ref in names.values()}
    for pin in found:
        for name in pin.needed_by:
            if name in names:
                needs[names[name]].append(pin.ref)
    return [{"ref": ref, "dependsOn": sorted(on)} for ref, on in needs.items()]
