"""Node.js with the packages of a folder, such as tests/webhook_requests/node, whose lock has their hashes. They are
installed once, beside this project's own environment."""

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.servers import ServerMissing, apt_install

FOLDER = Path(__file__).parent / "node"
FILES = ("package.json", "package-lock.json", "verify.mjs")


def programs() -> tuple[str, str]:
    """Node and npm, installed if they are missing."""
    for attempt in ("as found", "after apt"):
        node, npm = shutil.which("node"), shutil.which("npm")
        if node and npm:
            return node, npm
        if attempt == "as found":
            apt_install("nodejs")
            apt_install("npm")
    raise ServerMissing("no Node.js: run `apt-get install nodejs npm` as root")


def installed(folder: Path = FOLDER, files: tuple[str, ...] = FILES) -> Path:
    """A folder with the packages; nothing of theirs is run while they are installed."""
    digest = hashlib.sha256(b"".join((folder / name).read_bytes() for name in files)).hexdigest()
    place = Path(sys.prefix) / "npm" / digest[:16]
    if place.exists():
        return place
    place.parent.mkdir(exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=place.parent))
    for name in files:
        shutil.copy(folder / name, fresh)
    asked = [programs()[1], "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(
        asked, cwd=fresh, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        raise ServerMissing(f"npm could not install {folder}/package-lock.json: {done.stderr}")
    try:
        fresh.rename(place)
    except OSError:  # another test process was first
        shutil.rmtree(fresh)
    return place


def verified(asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the library says about each request."""
    lines = "".join(json.dumps(one) + "\n" for one in asked)
    script = [programs()[0], str(installed() / "verify.mjs")]
    done = subprocess.run(
        script, input=lines, capture_output=True, text=True, timeout=120, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]
