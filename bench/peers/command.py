"""scripts/bench --peers [--quick] [NAME…]: TandemFlow beside TensorFlow, PyTorch, JAX and NumPy, in one run.

    --quick            fewer and shorter rounds: at most five minutes
    --only COLUMNS     these only, by comma: tandem_cpp,tandemflow,tensorflow,torch,jax,numpy
    --threads N        cores that every library may use (all)
    --rounds N         (5; quick: 3)
    --json FILE        where the figures go (build/bench/peers.json)
    --html FILE        where the page goes (beside the figures)
    --names            only try the names of names.json out, and list what is missing
    --against FILE     afterwards, what got worse since FILE by more than the noise; then the exit code is 1
scripts/bench --against OLD.json NEW.json: the same of two files, without running anything.
A NAME keeps the workloads whose name contains it.
"""
import argparse
import json
import os
import sys
import tempfile
from datetime import datetime, timezone
from pathlib import Path

from . import coverage, environment, guard, page, table
from .libraries import CPP, LIBRARIES, TITLES
from .session import Session
from .suite import Suite, missing_packages
from .workloads import WORKLOADS

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build"
COLUMNS = [CPP, *LIBRARIES]


def arguments(words):
    parser = argparse.ArgumentParser(prog="scripts/bench", usage=__doc__, add_help=False)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default=",".join(COLUMNS))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--json", default=str(BUILD / "bench" / "peers.json"))
    parser.add_argument("--html")
    parser.add_argument("--against")
    parser.add_argument("--names", dest="names_only", action="store_true")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args(words)
    given.only = given.only.split(",")
    unknown = [name for name in given.only if name not in COLUMNS]
    if unknown:
        parser.error(f"--only: no column is called {', '.join(unknown)}; there are {', '.join(COLUMNS)}")
    cores = len(os.sched_getaffinity(0))
    if not 1 <= given.threads <= cores:
        parser.error(f"--threads {given.threads}: this process may use 1 to {cores} cores")
    given.rounds = given.rounds or (3 if given.quick else 5)
    if given.rounds < 1:
        parser.error(f"--rounds {given.rounds}: at least one is needed")
    return given


def chosen(names):
    kept = [w for w in WORKLOADS if not names or any(name in w.name for name in names)]
    if not kept:
        sys.exit(f"bench: no workload has such a name; there are {', '.join(w.name for w in WORKLOADS)}")
    return kept


def start(columns, threads, scratch):
    """({column: Session}, {column: why there is none})."""
    cores = sorted(os.sched_getaffinity(0))[:threads]
    count = str(threads)
    shared = {"PYTHONPATH": str(ROOT / "bench"), "OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count, "MKL_NUM_THREADS": count}
    failed = environment.install(missing_packages(columns))
    sessions, problems = {}, {}
    for column in columns:
        if column == CPP:
            command, more = [BUILD / "tandem_peer_worker"], {"TANDEM_CPU_THREADS": count}
        elif column == "tandemflow":
            command = [ROOT / ".venv/bin/python", "-m", "peers.worker", column, threads]
            more = {"PYTHONPATH": f"{ROOT / 'bench'}:{BUILD / 'python'}"}
        else:
            command, more = [environment.folder() / "bin/python", "-m", "peers.worker", column, threads], {}
            if why := failed.get(LIBRARIES[column].package):
                problems[column] = why
                continue
        try:
            sessions[column] = Session(command, Path(scratch) / f"{column}.log", {**shared, **more}, cores)
        except OSError as error:
            problems[column] = str(error)
    return sessions, problems


def cover(columns):
    """The share of TensorFlow's names that is there; without TensorFlow only whether they resolve."""
    names = [name for name, _ in coverage.symbols()]
    shared = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TANDEM_LOG": "off"}
    ours = coverage.try_names([ROOT / ".venv/bin/python", "-m", "peers.names", "tandemflow"], names,
                              {**shared, "PYTHONPATH": f"{ROOT / 'bench'}:{BUILD / 'python'}"})
    theirs = None
    if "tensorflow" in columns and not environment.install(["numpy", "tensorflow-cpu"]):
        theirs = coverage.try_names([environment.folder() / "bin/python", "-m", "peers.names", "tensorflow"], names,
                                    {**shared, "PYTHONPATH": str(ROOT / "bench")})
    return coverage.weigh(coverage.symbols(), ours, theirs)


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown processor"


def measure(given):
    """The report of one run."""
    with tempfile.TemporaryDirectory() as scratch:
        sessions, problems = start(given.only, given.threads, scratch)
        suite = Suite(sessions, problems, scratch)
        try:
            limits = suite.ask(CPP, "limits") if CPP in given.only else {}
            rows = suite.run(chosen(given.names), given.rounds, 0.1 if given.quick else 0.4)
        finally:
            suite.close()
    limits = limits if "gflops" in limits else {}
    covered = cover(given.only) if "tandemflow" in given.only and not given.names else None
    for row in rows.values():
        row["derived"] = table.derived(row, limits)
    return {
        "machine": f"{processor()}, {given.threads} threads",
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "quick": given.quick, "threads": given.threads, "rounds": given.rounds,
        "versions": suite.versions, "problems": suite.problems, "limits": limits, "coverage": covered, "workloads": rows,
    }


def read_report(path):
    try:
        return guard.check(json.loads(Path(path).read_text()), path)
    except (OSError, ValueError) as error:
        sys.exit(f"bench: {error}")


def show(report):
    print(f"\n{report['machine']}, {report['date']}, {report['rounds']} rounds, best of each")
    print("\n".join([*table.lines(report), *table.limit_lines(report["limits"]), *table.coverage_lines(report["coverage"])]))
    for column, why in report["problems"].items():
        print(f"{TITLES[column]} has no figures: {why}")


def write(report, given):
    target = Path(given.json)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(report, indent=1) + "\n")
    html = Path(given.html) if given.html else target.with_suffix(".html")
    html.write_text(page.html(report))
    print(f"\nFigures: {target}\nPage: {html}")


def main(words):
    given = arguments(words)
    if given.names_only:
        found = cover(given.only)
        print("\n".join([f"{count:4} {name}: {why}" for name, count, why in found["missing"]] + table.coverage_lines(found)))
        return 0
    if given.against and not given.peers:
        if len(given.names) != 1:
            sys.exit("bench: scripts/bench --against OLD.json NEW.json compares two files; with --peers it runs and compares")
        old, new = read_report(given.against), read_report(given.names[0])
    else:
        old = read_report(given.against) if given.against else None  # before the minutes are spent
        new = measure(given)
        show(new)
        write(new, given)
    if old is None:
        return 0
    lines, worse = guard.against(old, new)
    print("\n".join(["", *lines]))
    return 1 if worse else 0
