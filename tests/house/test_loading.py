"""What is loaded: a command that only asks waits for no engine, a road for no driver but its own."""

import subprocess
import sys

import pytest

OTHERS = {"asyncpg", "pamqp", "picows", "jinja2", "litestar", "uvicorn", "rich"}


def loaded(code: str) -> set[str]:
    """The modules of a fresh process that has run this."""
    said = f"{code}\nimport sys\nprint('loaded', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("loaded")[2].split())


@pytest.mark.parametrize(
    ("code", "never"),
    [
        (
            "import postroad.cli.root",
            OTHERS - {"rich"} | {"apsw", "postroad.app", "cryptography"},
        ),
        ("import postroad; postroad.Postroad('sqlite:///x.db')", OTHERS),
        (
            "import postroad; postroad.Postroad('postgresql://x/y')",
            OTHERS - {"asyncpg"} | {"postroad.stores.sqlite.store"},
        ),
    ],
)
def test_only_what_is_needed_is_loaded(code: str, never: set[str]) -> None:
    assert loaded(code) & never == set()


def test_the_face_has_what_it_names_and_nothing_else() -> None:
    done = loaded(
        "import postroad\n"
        "assert dir(postroad) == sorted(postroad.__all__)\n"
        "from postroad import *\n"
        "assert Postroad.__module__ == 'postroad.app'\n"
        "assert Reject and RetryLater and PostroadError and Send and Receipt and Message\n"
        "try: postroad.nothing\n"
        "except AttributeError as error: assert 'nothing' in str(error)\n"
        "else: raise SystemExit(1)"
    )
    assert "postroad.app" in done
