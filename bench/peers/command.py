"""scripts/bench --peers [--quick] [NAME…]: TandemFlow beside TensorFlow, PyTorch, JAX and NumPy, in one run.

    --quick            fewer and shorter rounds, no scaling, no networks of examples/ unless named: at most five minutes
    --suite SUITES     these only, by comma: workloads,names,scaling,hybrid
    --only COLUMNS     these only, by comma: tandem_cpp,tandemflow,tensorflow,torch,jax,numpy
    --threads N        cores that every library may use (all)
    --rounds N         (5; quick: 3)
    --json FILE        where the figures go (build/bench/peers.json)
    --html FILE        where the page goes (beside the figures)
    --against FILE     afterwards, what got worse since FILE by more than the noise; then the exit code is 1
scripts/bench --against OLD.json NEW.json: the same of two files, without running anything.
A NAME keeps the workloads whose name contains it, and leaves the other suites out.
"""
import argparse
import json
import os
import sys
from pathlib import Path

from . import guard, hybrid, measure, page, scaling, table
from .libraries import CPP, LIBRARIES, TITLES
from .workloads import WORKLOADS

COLUMNS = [CPP, *LIBRARIES]
SUITES = ["workloads", "names", "scaling", "hybrid"]


def parts(parser, option, text, known):
    """The words of a list by comma, all of them known."""
    words = text.split(",")
    if unknown := [word for word in words if word not in known]:
        parser.error(f"{option}: nothing is called {', '.join(unknown)}; there are {', '.join(known)}")
    return words


def arguments(words):
    parser = argparse.ArgumentParser(prog="scripts/bench", usage=__doc__, add_help=False)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--suite")
    parser.add_argument("--only", default=",".join(COLUMNS))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--json", default=str(measure.BUILD / "bench" / "peers.json"))
    parser.add_argument("--html")
    parser.add_argument("--against")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args(words)
    given.only = parts(parser, "--only", given.only, COLUMNS)
    usual = ["workloads"] if given.names else [suite for suite in SUITES if not (given.quick and suite == "scaling")]
    given.suite = parts(parser, "--suite", given.suite, SUITES) if given.suite else usual
    cores = len(os.sched_getaffinity(0))
    if not 1 <= given.threads <= cores:
        parser.error(f"--threads {given.threads}: this process may use 1 to {cores} cores")
    given.rounds = (3 if given.quick else 5) if given.rounds is None else given.rounds
    if given.rounds < 1:
        parser.error(f"--rounds {given.rounds}: at least one is needed")
    return given


def chosen(names, quick):
    """Those with such names; without names all, or all that --quick has time for."""
    kept = [w for w in WORKLOADS if (any(name in w.name for name in names) if names else w.quick or not quick)]
    if not kept:
        sys.exit(f"bench: no workload has such a name; there are {', '.join(w.name for w in WORKLOADS)}")
    return kept


def run(given):
    """The report of one run; a suite that was not asked for is empty in it."""
    seconds = 0.1 if given.quick else 0.4
    report = measure.header(given.threads, given.rounds, given.quick)
    report |= {"versions": {}, "problems": {}, "limits": {}, "workloads": {}}
    if "workloads" in given.suite:
        report |= measure.workloads(given.only, given.threads, chosen(given.names, given.quick), given.rounds, seconds)
    report["coverage"] = measure.names(given.only) if "names" in given.suite else None
    report["scaling"] = measure.curves(given.only, given.threads) if "scaling" in given.suite else {}
    report["hybrid"] = measure.hybrid_programs(given.rounds, seconds) if "hybrid" in given.suite else {}
    return report


def missing_names(report):
    return [f"{count:4} {name}: {why}" for name, count, why in report["coverage"]["missing"]]


def show(report, suites):
    print(f"\n{report['machine']}, {report['date']}, {report['rounds']} rounds, best of each")
    if report["workloads"]:
        print("\n".join([*table.lines(report), *table.goal_lines(report), *table.limit_lines(report["limits"]), *table.load_lines(report)]))
    if suites == ["names"]:
        print("\n".join(missing_names(report)))
    print("\n".join([*scaling.lines(report["scaling"]), *hybrid.lines(report["hybrid"]), *table.coverage_lines(report["coverage"])]))
    for column, why in report["problems"].items():
        print(f"{TITLES[column]} has no figures: {why}")


def write(report, given):
    target = Path(given.json)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(report, indent=1) + "\n")
    html = Path(given.html) if given.html else target.with_suffix(".html")
    html.write_text(page.html(report))
    print(f"\nFigures: {target}\nPage: {html}")


def read_report(path):
    try:
        return guard.check(json.loads(Path(path).read_text()), path)
    except (OSError, ValueError) as error:
        sys.exit(f"bench: {error}")


def main(words):
    given = arguments(words)
    if given.against and not given.peers:
        if len(given.names) != 1:
            sys.exit("bench: scripts/bench --against OLD.json NEW.json compares two files; with --peers it runs and compares")
        old, new = read_report(given.against), read_report(given.names[0])
    else:
        old = read_report(given.against) if given.against else None  # before the minutes are spent
        new = run(given)
        show(new, given.suite)
        write(new, given)
    if old is None:
        return 0
    lines, worse = guard.against(old, new)
    print("\n".join(["", *lines]))
    return 1 if worse else 0
