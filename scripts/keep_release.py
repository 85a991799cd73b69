"""Keeps what the next releases are compared with: `python scripts/keep_release.py`.

The public face, and the tables of both stores, each in a file that is named after the version. Before the
first release `--public` keeps the public face alone: tables may still be changed in place.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from postroad.stores.postgres import migration as postgres  # noqa: E402
from postroad.stores.sqlite import migration as sqlite  # noqa: E402
from scripts.public_face import public_face  # noqa: E402


def files() -> dict[str, str]:
    """What is kept, by path."""
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    functions = f"-- functions: {postgres.digest()}\n"
    tables = "tests/contract/releases"
    return {
        f"docs/public/{about['version']}.txt": "\n".join(public_face()) + "\n",
        f"{tables}/sqlite/{sqlite.VERSION}.sql": "\n".join(sqlite.SCHEMA.values()),
        f"{tables}/postgres/{postgres.VERSION}.sql": functions
        + "\n".join(postgres.TABLES.values()),
    }


if __name__ == "__main__":
    for name, text in files().items():
        if "--public" not in sys.argv or name.startswith("docs/public/"):
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(text)
            sys.stdout.write(f"kept: {name}\n")
