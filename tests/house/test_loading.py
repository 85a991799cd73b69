"""What is loaded: a command that only asks waits for no engine, a road for no driver but its own."""

import subprocess
import sys

import pytest

from postroad.model.extras import EXTRAS

OTHERS = {*EXTRAS, "uvloop", "opentelemetry"}
LIBRARIES = {"apsw", "cronsim", "cryptography", "httptools", "msgspec"}
ROOMS = {
    *("app", "campaigns", "config", "engine", "hub", "model", "observe", "pacing", "ports"),
    *("rules", "stores", "transports", "verbs", "version"),
}
INNER = {"_cffi_backend", "_openssl", "cython_runtime", "typing_extensions"}
"""What the libraries themselves load, by names of their own."""


def loaded(code: str) -> set[str]:
    """The modules of a fresh process that has run this."""
    said = f"{code}\nimport sys\nprint('loaded', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("loaded")[2].split())


@pytest.mark.parametrize(
    ("code", "never"),
    [
        (
            "import postroad.cli.root as root; root.app.whole()",
            OTHERS | {"apsw", "postroad.app", "cryptography"},
        ),
        (
            "import postroad; postroad.Postroad('sqlite:///x.db')",
            OTHERS | {"cryptography.x509"},
        ),
        (
            "import postroad; postroad.Postroad('postgresql://x/y')",
            OTHERS - {"asyncpg"} | {"postroad.stores.sqlite.store"},
        ),
    ],
)
def test_only_what_is_needed_is_loaded(code: str, never: set[str]) -> None:
    assert loaded(code) & never == set()


def test_a_program_that_imports_postroad_loads_these_and_no_others() -> None:
    found = loaded("from postroad import Postroad") - loaded("")
    ours = {name.split(".")[1] for name in found if name.startswith("postroad.")}
    others = {name.partition(".")[0] for name in found} - {"postroad", *sys.stdlib_module_names}
    plain = {name for name in others if not name.startswith(("_cython", "_sysconfigdata"))}
    assert ours == ROOMS
    assert plain - INNER == LIBRARIES


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
