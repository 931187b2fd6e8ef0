"""The peers' own Python environment: one for all checkouts, since it is large, and apart from the tree's."""
import os
import subprocess
from pathlib import Path

PYTHON = "/usr/bin/python3"


def folder():
    """`TANDEM_PEERS`, or a folder of the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("TANDEM_PEERS") or Path(cache) / "tandem" / "peers")


def run(command):
    """None when the command succeeds, else the last line it wrote."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    except OSError as error:
        return str(error)
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return None if done.returncode == 0 else (lines or [f"ended with code {done.returncode}"])[-1]


def install(packages, where=None, run=run, say=print):
    """Makes sure that each package is there; returns {package: why it is not}.

    Each is installed by itself, so that one that fails leaves the others. A stamp says what was installed before.
    """
    where = where or folder()
    python, problems = where / "bin" / "python", {}
    if not python.exists():
        say(f"bench: making an environment for the peers in {where}", flush=True)
        if why := run([PYTHON, "-m", "venv", where]):
            return {package: why for package in packages}
    for package in packages:
        stamp = where / f"installed-{package}"
        if stamp.exists():
            continue
        say(f"bench: installing {package} (large, once)", flush=True)
        why = run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", package])
        if why:
            problems[package] = f"pip could not install {package}: {why}"
        else:
            stamp.touch()
    return problems
