"""Looks up every pin of requirements/*.lock in a database of known vulnerabilities: `make audit`.

Which one: that of the package index that pip is set up for, by its JSON API, or `--database URL`.
Ends with 0 when all pins were looked up and none is known to be vulnerable, 1 when one is, and 3 when
not all could be looked up: a missing answer is never taken for a good one.
Only the standard library: what is checked is not needed to check it.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit, urlunsplit

ROOT = Path(__file__).resolve().parent.parent
PIN = re.compile(r"([A-Za-z0-9._-]{1,100})(?:\[[^\]]{0,100}\])?==([^\s;\\]{1,100})")
TIMEOUT_S = 10
TRIES_FIRST = 3
ANSWER_BYTES_MAX = 64 << 20
OWN_DEFAULT = "from pip._internal.models.index import PyPI; print(PyPI.pypi_url)"

VULNERABLE, UNCHECKED = 1, 3


class NoAnswerError(Exception):
    """The database said nothing about a pin."""


def pins(locks: list[Path]) -> list[tuple[str, str]]:
    """Name and version of all that is installed, each once."""
    found = [PIN.match(line) for lock in locks for line in lock.read_text("utf-8").splitlines()]
    return sorted({(match[1].lower(), match[2]) for match in found if match})


def database() -> str:
    """The JSON API of the index that pip is set up for; empty when there is none."""
    told = _pip("-m", "pip", "config", "get", "global.index-url")
    index = _pip("-c", "import os; print(os.environ.get('PIP_INDEX_URL', ''))") or told
    if index:
        return index.rstrip("/").removesuffix("/simple") + "/pypi"
    return _pip("-c", OWN_DEFAULT)


def _pip(*words: str) -> str:
    done = subprocess.run((sys.executable, *words), capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def look_up(base: str, name: str, version: str) -> list[str]:
    """What is known against a pin, a line each."""
    parts = urlsplit(base)
    login, _, host = parts.netloc.rpartition("@")
    path = f"{parts.path.rstrip('/')}/{quote(name)}/{quote(version)}/json"
    if parts.scheme not in ("http", "https"):
        raise NoAnswerError("the package index has no JSON API")
    request = urllib.request.Request(urlunsplit((parts.scheme, host, path, "", "")))  # noqa: S310 - http(s), see above
    if login:
        secret = base64.b64encode(unquote(login).encode()).decode()
        request.add_header("authorization", f"Basic {secret}")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310
            said = json.loads(answer.read(ANSWER_BYTES_MAX))
        known = said["vulnerabilities"]
        live = [each for each in known if not each.get("withdrawn")]
        return [_told(name, version, each) for each in live]
    except urllib.error.HTTPError as error:
        raise NoAnswerError(f"answered {error.code}") from None
    except (OSError, http.client.HTTPException, ValueError, RecursionError) as error:
        raise NoAnswerError(str(getattr(error, "reason", error))) from None
    except (KeyError, TypeError, AttributeError):
        raise NoAnswerError("the answer has no list of vulnerabilities") from None


def _told(name: str, version: str, known: dict[str, object]) -> str:
    fixed = known.get("fixed_in") or ()
    mended = (
        f"; mended in {', '.join(map(str, fixed))}" if isinstance(fixed, list) and fixed else ""
    )
    return _plain(f"{name} {version}: {known.get('id', 'no id')}{mended}")


def audit(base: str, wanted: list[tuple[str, str]]) -> int:
    """Look all up, and tell what came of it."""
    found: list[str] = []
    missing: list[str] = []

    def one(pin: tuple[str, str]) -> None:
        try:
            found.extend(look_up(base, *pin))
        except NoAnswerError as error:
            missing.append(f"{pin[0]} {pin[1]}: {error}")

    for pin in wanted[:TRIES_FIRST]:
        one(pin)
    reached = len(missing) < len(wanted[:TRIES_FIRST])
    if reached:
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(one, wanted[TRIES_FIRST:]))
    for line in sorted(found):
        sys.stdout.write(f"VULNERABLE {line}\n")
    if not reached or not wanted:
        why = missing[0] if missing else "there are no pins"
        sys.stdout.write(f"no advisory database reached: nothing was checked ({_plain(why)})\n")
        return UNCHECKED
    for line in sorted(missing):
        sys.stdout.write(f"not checked: {_plain(line)}\n")
    if found:
        return VULNERABLE
    if missing:
        sys.stdout.write(f"{len(missing)} of {len(wanted)} pins were not checked\n")
        return UNCHECKED
    sys.stdout.write(f"no known vulnerabilities in {len(wanted)} pins\n")
    return 0


def _plain(text: str) -> str:
    """For a terminal: what it says is a stranger's text."""
    return "".join(each if " " <= each <= "~" else "?" for each in text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("locks", nargs="*", type=Path, help="else all of requirements/")
    parser.add_argument("--database", default="", help="the JSON API to ask, as https://host/pypi")
    asked = parser.parse_args()
    locks = asked.locks or sorted((ROOT / "requirements").glob("*.lock"))
    return audit(asked.database or database(), pins(locks))


if __name__ == "__main__":
    sys.exit(main())
