#!/bin/sh
# Regenerates requirements/*.lock with hashes. Took 43 s with the pins kept, 2 to 5 minutes from
# nothing, so nothing but `make lock` runs it.
#
# LOCK_ARGS goes to pip-compile: `make lock LOCK_ARGS=--upgrade` moves every pin,
# `LOCK_ARGS="-P rich"` moves one. Without it, pins stay and only what is new is resolved.
set -eu
cd "$(dirname "$0")/.."

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
echo "making a throw-away pip-tools …"
"${PYTHON:-python3}" -m venv "$tools"
"$tools/bin/pip" install -qq pip-tools

# No header, index or find-links: those would write this machine's paths and hosts into the tree.
compile() {
    lock=requirements/$1.lock
    shift
    echo "locking $lock …"
    # shellcheck disable=SC2086  # LOCK_ARGS is a list of words
    "$tools/bin/pip-compile" --quiet --generate-hashes --allow-unsafe --strip-extras \
        --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
        ${LOCK_ARGS:-} --output-file "$lock" "$@"
    { echo "# Made by \`make lock\`; edit pyproject.toml or requirements/*.in instead."; cat "$lock"; } \
        > "$tools/lock"
    cat "$tools/lock" > "$lock"
}

# The build backend is locked too: installing the project itself must not reach for an unpinned one.
compile run --extra all --build-deps-for editable pyproject.toml
compile dev requirements/dev.in
# What installs the others.
compile uv requirements/uv.in
# What builds the site.
compile docs requirements/docs.in
