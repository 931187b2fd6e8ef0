"""scripts/bench [--ops | --ops-gpu] [--cpu-time] [NAME…] [--json FILE]: every row beside its reference, measured in one run.

--ops: instead of the rows, every op at a million elements beside PyTorch (the table is bench/op_table.py).
--ops-gpu: instead of the rows, every op on the GPU beside the CPU backend.
--cpu-time: processor time of all threads, not the clock's: ratios on a machine that others use too.

Rows compared with PyTorch are timed several times in turn with it, in an environment of its own; without it those
references stay empty and the reason is printed.
"""
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from peers import environment

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
PEERS = environment.folder()
ROUNDS = 3
PYTHON_ROW = "python_add_2x2"
PYTHON_GOAL = 0.6  # microseconds
_A_CORE_EACH = {"TANDEM_OPENCL_CPU_AS_GPU": "1", "TANDEM_CPU_CORES": "0", "TANDEM_OPENCL_CORES": "1"}
#: what bench/mirrored_rows.py measures, each in a process with this environment
MIRRORED_ROWS = {
    "mirrored_mlp": _A_CORE_EACH,
    "mirrored_cnn": _A_CORE_EACH,
    "mirrored_two_gpus": {"TANDEM_OPENCL_CPU_AS_GPU": "2"},
    "mirrored_small": {"TANDEM_OPENCL_CPU_AS_GPU": "0"},
    "mirrored_one_replica": {"TANDEM_OPENCL_CPU_AS_GPU": "0"},
}


def arguments(words):
    names, json_file = [], None
    words = list(words)
    while words:
        word = words.pop(0)
        if word == "--json" and words:
            json_file = words.pop(0)
        elif word in ("--ops", "--ops-gpu", "--cpu-time"):
            names.append(word)
        elif word.startswith("-"):
            sys.exit("usage: scripts/bench [--ops | --ops-gpu] [--cpu-time] [NAME…] [--json FILE]")
        else:
            names.append(word)
    return names, json_file


def native_rows(names):
    """Runs tandem_bench; its report as a dictionary, or None when no row has such a name."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run([BUILD / "tandem_bench", *names, "--json", out.name], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode == 2:
            return None
        if done.returncode:
            sys.exit(f"bench: tandem_bench failed\n{done.stderr}")
        return json.load(open(out.name))


def python_value():
    environment = dict(os.environ, PYTHONPATH=str(BUILD / "python"))
    done = subprocess.run([ROOT / ".venv/bin/python", ROOT / "bench/python_rows.py"], env=environment, check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)[PYTHON_ROW]


def mirrored_rows(names):
    """Rows of mirrored training whose name contains one of the names."""
    rows = []
    for case, settings in MIRRORED_ROWS.items():
        if names and not any(name in case for name in names):
            continue
        environment = dict(os.environ, PYTHONPATH=str(BUILD / "python"), **settings)
        done = subprocess.run([ROOT / ".venv/bin/python", ROOT / "bench/mirrored_rows.py", case], env=environment, capture_output=True, text=True)
        if done.returncode:
            print(f"bench: no row {case}: {(done.stderr.strip().splitlines() or ['it failed'])[-1]}")
            continue
        rows += json.loads(done.stdout.splitlines()[-1])
    return rows


def make_peers():
    """The environment with PyTorch that --peers uses too; the reason why there is none, or None."""
    return environment.install(["numpy", "torch"]).get("torch")


def peer_values(rows, threads):
    done = subprocess.run([PEERS / "bin/python", ROOT / "bench/torch_rows.py", str(threads), *rows], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["torch_rows.py failed"])[-1])
    return json.loads(done.stdout)


def add_peers(rows, threads):
    """Fills the PyTorch references in: ours and theirs in turn, best of each. Returns why not, or None."""
    wanted = [row["name"] for row in rows if row["reference"] == "PyTorch" or row["name"] == PYTHON_ROW]
    if not wanted:
        return None
    reason = make_peers()
    if reason:
        return reason
    ours = {row["name"]: row["value"] for row in rows if row["name"] in wanted}
    theirs = {}
    for _ in range(ROUNDS):
        for name, value in peer_values(wanted, threads).items():
            theirs[name] = min(value, theirs.get(name, value))
        again = native_rows([name.removesuffix("_step") for name in wanted if name != PYTHON_ROW]) or {"rows": []}
        for row in again["rows"]:
            if row["name"] in ours:
                ours[row["name"]] = min(ours[row["name"]], row["value"])
        if PYTHON_ROW in wanted:
            ours[PYTHON_ROW] = min(ours[PYTHON_ROW], python_value())
    for row in rows:
        if row["name"] not in wanted:
            continue
        row["value"] = ours[row["name"]]
        if row["name"] == PYTHON_ROW:
            row["ratio"] = row["value"] / PYTHON_GOAL
            row["reference"] = f"goal {PYTHON_GOAL} us; PyTorch {theirs[PYTHON_ROW]:.2f}"
        else:
            row["reference_value"] = theirs[row["name"]]
            row["ratio"] = row["value"] / theirs[row["name"]]
    return None


def met(row):
    """Whether the goal is met; None where there is none to compare with."""
    words = row["goal"].split()
    if len(words) != 2 or (row["reference"] == "PyTorch" and not row["reference_value"]):
        return None
    limit = float(words[1])
    return row["ratio"] <= limit if words[0] == "<=" else row["ratio"] >= limit


def show(rows):
    print(f"{'name':32} {'value':>10} {'unit':7} {'reference':32} {'its value':>10} {'ratio':>7}  goal")
    for row in rows:
        known = row["reference_value"] or row["reference"] != "PyTorch"
        mark = {True: "met", False: "MISSED", None: ""}[met(row)]
        print(f"{row['name']:32} {row['value']:10.4g} {row['unit']:7} {row['reference']:32} "
              f"{row['reference_value'] if known else '-':>10{'.4g' if known else ''}} "
              f"{row['ratio'] if known else '-':>7{'.3f' if known else ''}}  {row['goal']:8} {mark}")


def op_times(python, library, threads, names):
    environment = dict(os.environ, PYTHONPATH=str(BUILD / "python"))
    done = subprocess.run([python, ROOT / "bench/op_times.py", library, str(threads), *names], env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench: op_times.py {library} failed\n{done.stderr}")
    return json.loads(done.stdout)


def op_rows(names, json_file):
    """The table of ops beside PyTorch: both in turn, best of each."""
    if reason := make_peers():
        sys.exit(f"bench: no PyTorch to compare with: {reason}")
    threads = len(os.sched_getaffinity(0))
    ours, theirs = {}, {}
    for _ in range(ROUNDS):
        for best, python, library in ((ours, ROOT / ".venv/bin/python", "tf"), (theirs, PEERS / "bin/python", "torch")):
            for name, value in op_times(python, library, threads, names).items():
                best[name] = min(value, best.get(name, value))
    if not ours:
        sys.exit("bench: no op of bench/op_table.py has such a name")
    ratios = {name: ours[name] / theirs[name] for name in ours}
    print(f"{'op, a million elements':32} {'us':>10} {'PyTorch':>10} {'ratio':>7}")
    for name, ratio in sorted(ratios.items(), key=lambda item: -item[1]):
        print(f"{name:32} {ours[name]:10.1f} {theirs[name]:10.1f} {ratio:7.2f}{'  above 1.3' if ratio > 1.3 else ''}")
    print(f"geometric mean {math.exp(sum(math.log(r) for r in ratios.values()) / len(ratios)):.2f}, goal 0.8; none above 1.3")
    if json_file:
        Path(json_file).write_text(json.dumps({"us": ours, "pytorch_us": theirs, "ratio": ratios}, indent=2) + "\n")


def main():
    names, json_file = arguments(sys.argv[1:])
    if "--ops" in names:
        return op_rows([name for name in names if name != "--ops"], json_file)
    print("bench: measuring; this takes a few minutes", flush=True)
    report = native_rows(names)
    if report is None:
        report = native_rows(["eager_add"])  # for machine and date
        report["rows"] = []
    if not names or "--ops-gpu" not in names and any(name in PYTHON_ROW for name in names):
        value = python_value()
        report["rows"].insert(1, {"name": PYTHON_ROW, "value": value, "unit": "us", "reference": f"goal {PYTHON_GOAL} us",
                                  "reference_value": PYTHON_GOAL, "ratio": value / PYTHON_GOAL, "goal": "<= 1"})
    if "--ops-gpu" not in names:
        report["rows"] += mirrored_rows([name for name in names if not name.startswith("-")])
    if not report["rows"]:
        sys.exit("bench: no benchmark has such a name; scripts/bench without names lists them all")
    try:
        reason = add_peers(report["rows"], report["threads"])
    except (RuntimeError, OSError) as error:
        reason = str(error)
    print(f"\n{report['machine']}, {report['date']}")
    show(report["rows"])
    if reason:
        print(f"\nNo PyTorch figures: {reason}")
    if json_file:
        Path(json_file).write_text(json.dumps(report, indent=2) + "\n")


main()
