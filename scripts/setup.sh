# Sourced by scripts/demo, scripts/test and scripts/check: makes the virtual environment and installs what is pinned.
#
#   setup run|dev     `run` for operators and players, `dev` for the tests as well.
#
# Afterwards the programs are in $venv/bin. The folder is .venv, or $HKOJI_VENV. If nothing has changed, setup does
# nothing; an interrupted set-up starts again.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=${HKOJI_VENV:-$root/.venv}

say() { printf '%s\n' "$*" >&2; }

find_python() {
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
            # Inside a virtual environment use its base Python: that environment may be the one to be replaced.
            "$candidate" -c 'import sys; print(getattr(sys, "_base_executable", None) or sys.executable)'
            return
        fi
    done
    say "hkoji needs Python 3.11, 3.12 or 3.13, and none was found. Name one with PYTHON=/path/to/python3."
    return 1
}

# Runs a command quietly; shows its output if it fails.
quietly() {
    local output
    if ! output=$("$@" 2>&1); then
        say "$output"
        say "this failed: $*"
        return 1
    fi
}

stamp_of() { # WHAT PYTHON
    {
        "$2" -c 'import sys; print(sys.version, sys.base_prefix)'
        cat "$root/pyproject.toml" "$root/requirements/$1.txt"
        printf '%s\n' "$root"
    } | "$2" -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())'
}

setup() { # run|dev
    local what=$1 python started=$SECONDS wanted
    python=$(find_python) || return 1
    wanted=$(stamp_of "$what" "$python") || return 1
    if [ "$(cat "$venv/.hkoji-$what" 2>/dev/null)" = "$wanted" ]; then
        return
    fi
    say "setting up $venv with $("$python" --version)"
    rm -f "$venv"/.hkoji-*
    if ! "$python" -m venv --clear "$venv" 2>/dev/null; then
        say "cannot make a virtual environment with $python: is its venv module installed (Debian: python3-venv)?"
        return 1
    fi
    say "installing what is pinned in requirements/$what.txt (the first time this takes a minute)"
    quietly "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --no-deps --require-hashes \
        --requirement "$root/requirements/$what.txt" || return 1
    say "installing hkoji"
    quietly "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --no-deps --no-index \
        --no-build-isolation --editable "$root" || return 1
    # pip compiles only the files that it copies. This makes commands start faster, even with
    # PYTHONDONTWRITEBYTECODE.
    "$venv/bin/python" -m compileall -q "$root/hkoji" "$root/server" || return 1
    if [ "$what" = dev ]; then
        stamp_of run "$python" > "$venv/.hkoji-run" # the pins of `dev` include those of `run`
    fi
    printf '%s\n' "$wanted" > "$venv/.hkoji-$what"
    say "ready after $((SECONDS - started)) s"
}
