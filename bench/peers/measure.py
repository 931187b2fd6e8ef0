"""What the suites measure on this machine: workers started, limits, workloads, names, curves, hybrid programs."""
import os
import tempfile
from datetime import datetime, timezone
from functools import partial
from pathlib import Path

from . import coverage, environment, figures, hybrid, scaling, table
from .libraries import CPP, LIBRARIES
from .session import Session
from .suite import Suite, missing_packages
from .workloads.growth import CURVES

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build"
OUR_PYTHON = ROOT / ".venv/bin/python"
OUR_PATH = f"{ROOT / 'bench'}:{BUILD / 'python'}"
SCALING = ("tandemflow", "tensorflow", "torch", "jax")


def threads_environment(threads):
    """As many threads for every library, whoever reads which variable; how they wait is left to each."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TANDEM_CPU_THREADS")
    return {"TF_CPP_MIN_LOG_LEVEL": "3", **dict.fromkeys(names, str(threads))}


def python_of(column):
    """(interpreter, PYTHONPATH) of a column that is a Python library."""
    if column == "tandemflow":
        return OUR_PYTHON, OUR_PATH
    return environment.folder() / "bin/python", str(ROOT / "bench")


def start(columns, threads, scratch):
    """({column: Session}, {column: why there is none})."""
    shared = threads_environment(threads)
    cores = sorted(os.sched_getaffinity(0))[:threads]
    failed = environment.install(missing_packages(columns))
    sessions, problems = {}, {}
    for column in columns:
        if column != CPP and (why := failed.get(LIBRARIES[column].package)):
            problems[column] = why
            continue
        python, path = (None, "") if column == CPP else python_of(column)
        command = [BUILD / "tandem_peer_worker"] if column == CPP else [python, "-m", "peers.worker", column, threads]
        try:
            sessions[column] = Session(command, Path(scratch) / f"{column}.log", {**shared, "PYTHONPATH": path}, cores)
        except OSError as error:
            problems[column] = str(error)
    return sessions, problems


def workloads(columns, threads, chosen, rounds, seconds):
    """The part of the report that the workloads make."""
    with tempfile.TemporaryDirectory() as scratch:
        sessions, problems = start(columns, threads, scratch)
        suite = Suite(sessions, problems, scratch)
        try:
            measured = []
            rows = suite.run(chosen, rounds, seconds, before_round=lambda: measured.append(suite.ask(CPP, "limits") if CPP in columns else {}))
        finally:
            suite.close()
    limits = figures.highest(measured)
    for row in rows.values():
        row["derived"] = table.derived(row, limits)
    return {"versions": suite.versions, "problems": suite.problems, "limits": limits, "workloads": rows}


def names(columns):
    """The share of TensorFlow's names that is there; without TensorFlow only whether they resolve."""
    wanted = [name for name, _ in coverage.symbols()]
    shared = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TANDEM_LOG": "off"}

    def answers(column):
        python, path = python_of(column)
        return coverage.try_names([python, "-m", "peers.names", column], wanted, {**shared, "PYTHONPATH": path})

    there = "tensorflow" in columns and not environment.install(missing_packages(["numpy", "tensorflow"]))
    return coverage.weigh(coverage.symbols(), answers("tandemflow"), answers("tensorflow") if there else None)


def curves(columns, threads):
    columns = [column for column in SCALING if column in columns]
    failed = environment.install(missing_packages(columns))

    def run(name, column, sizes):
        if why := failed.get(LIBRARIES[column].package):
            return [{"error": why}]
        python, path = python_of(column)
        return scaling.run_curve([python, "-m", "peers.point", column, threads, name, *sizes],
                                 {**os.environ, **threads_environment(threads), "PYTHONPATH": path})

    found = {}
    for name, curve in CURVES.items():
        print(f"bench: how it grows with {curve.axis}", flush=True)
        answers = {column: scaling.run_sizes(curve, partial(run, name, column)) for column in columns}
        found[name] = scaling.collect(curve, answers)
    return found


def hybrid_programs(rounds, seconds):
    print("bench: programs on the CPU, the GPU, both", flush=True)
    return hybrid.run(OUR_PYTHON, OUR_PATH, rounds, seconds)


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown processor"


def header(threads, rounds, quick):
    return {
        "machine": f"{processor()}, {threads} threads", "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "threads": threads, "rounds": rounds, "quick": quick, "load": os.getloadavg()[0],
    }  # fmt: skip
