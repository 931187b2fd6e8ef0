"""scripts/bench [--ops | --ops-gpu] [--cpu-time] [NAME…] [--json FILE]: every row beside its reference, measured in one run.

--ops: instead of the rows, every op at a million elements beside PyTorch, forward, and again with its gradients (the table is bench/op_table.py).
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

from goals import met
from peers import environment
from python_rows import ROWS as PYTHON_ROWS

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
PEERS = environment.folder()
ROUNDS = 3
BESIDE_PYTORCH = "python_add_2x2"  # of the rows of Python
_A_CORE_EACH = {"TANDEM_OPENCL_CPU_AS_GPU": "1", "TANDEM_CPU_CORES": "0", "TANDEM_OPENCL_CORES": "1"}
_TENSORFLOW_SMALL = 2730.0  # us a step: TensorFlow with two logical CPU devices, on this class of machine


def _together(cpu, gpu, both):
    """The speeds of two devices add up at best."""
    return both, "rows/s", "both devices alone, added", cpu + gpu, both / (cpu + gpu), ">= 0.88"


#: What bench/mirrored_rows.py measures: in how many processes, with which environment, and the row of a round's figures. The round
#: with the median ratio counts. Where both cores compute, several processes: for seconds or minutes a virtual machine may have its cores on
#: one of the host's, and whether what a process computes with stays in the caches differs from one to the next.
MIRRORED_ROWS = {
    "mirrored_mlp": (3, _A_CORE_EACH, _together),
    "mirrored_cnn": (3, _A_CORE_EACH, _together),
    "mirrored_two_gpus": (3, {"TANDEM_OPENCL_CPU_AS_GPU": "2"},
                          lambda one, two: (two, "rows/s", "one of them", one, two / one, ">= 1.75")),
    "mirrored_small": (1, {"TANDEM_OPENCL_CPU_AS_GPU": "0"},
                       lambda step: (step * 1e6, "us", "TensorFlow, two logical CPUs", _TENSORFLOW_SMALL, step * 1e6 / _TENSORFLOW_SMALL, "<= 0.05")),
    "mirrored_one_replica": (1, {"TANDEM_OPENCL_CPU_AS_GPU": "0"},
                             lambda one, none: (one * 1e6, "us", "without a strategy", none * 1e6, one / none, "<= 1.02")),
}  # fmt: skip


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


def native_rows(names, shown=False):
    """Runs tandem_bench; its report as a dictionary, or None when no row has such a name. `shown`: with its rows as they come."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run([BUILD / "tandem_bench", *names, "--json", out.name], stdout=None if shown else subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode == 2:
            return None
        if done.returncode:
            sys.exit(f"bench: tandem_bench failed\n{done.stderr}")
        return json.load(open(out.name))


def python_values(names):
    environment = dict(os.environ, PYTHONPATH=str(BUILD / "python"))
    done = subprocess.run([ROOT / ".venv/bin/python", ROOT / "bench/python_rows.py", *names], env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench: python_rows.py failed\n{done.stderr}")
    return json.loads(done.stdout)


def python_rows(names):
    """The rows of Python whose name contains one of `names`, beside their goals or the row of C++ they stand on."""
    wanted = [row for row in PYTHON_ROWS if not names or any(name in row for name in names)]
    values, rows = python_values(wanted) if wanted else {}, []
    for name in wanted:
        known = PYTHON_ROWS[name]
        if isinstance(values[name], str):
            print(f"bench: no row {name}: {values[name]}")
            continue
        reference, text, goal = known.get("goal"), f"goal {known.get('goal')} {known['unit']}", "<= 1"
        if reference is None:  # measured in turn with it, best of each
            text, goal, reference = "C++", f"<= {known['at_most']}", 1e9
            for _ in range(ROUNDS):
                reference = min(reference, next(r["value"] for r in native_rows([known["of"]])["rows"] if r["name"] == known["reference"]))
                values[name] = min(values[name], python_values([name])[name])
        rows.append({"name": name, "value": values[name], "unit": known["unit"], "reference": text, "reference_value": reference,
                     "ratio": values[name] / reference, "goal": goal})
    return rows


def mirrored_rows(names):
    """Rows of mirrored training whose name contains one of the names."""
    rows = []
    for case, (processes, settings, row) in MIRRORED_ROWS.items():
        if names and not any(name in case for name in names):
            continue
        environment = dict(os.environ, PYTHONPATH=str(BUILD / "python"), **settings)
        measured = []
        for _ in range(processes):
            done = subprocess.run([ROOT / ".venv/bin/python", ROOT / "bench/mirrored_rows.py", case], env=environment, capture_output=True, text=True)
            if done.returncode:
                print(f"bench: no row {case}: {(done.stderr.strip().splitlines() or ['it failed'])[-1]}")
                break
            measured += json.loads(done.stdout.splitlines()[-1])
        else:
            keys = ("value", "unit", "reference", "reference_value", "ratio", "goal")
            rounds = [dict(zip(keys, row(*seconds))) for seconds in measured]
            rows.append({"name": case, **sorted(rounds, key=lambda r: r["ratio"])[len(rounds) // 2]})
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
    wanted = [row["name"] for row in rows if row["reference"] == "PyTorch" or row["name"] == BESIDE_PYTORCH]
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
        again = native_rows([name.removesuffix("_step") for name in wanted if name != BESIDE_PYTORCH]) or {"rows": []}
        for row in again["rows"]:
            if row["name"] in ours:
                ours[row["name"]] = min(ours[row["name"]], row["value"])
        if BESIDE_PYTORCH in wanted:
            ours[BESIDE_PYTORCH] = min(ours[BESIDE_PYTORCH], python_values([BESIDE_PYTORCH])[BESIDE_PYTORCH])
    for row in rows:
        if row["name"] not in wanted:
            continue
        row["value"] = ours[row["name"]]
        if row["name"] == BESIDE_PYTORCH:
            row["ratio"] = row["value"] / row["reference_value"]
            row["reference"] += f"; PyTorch {theirs[BESIDE_PYTORCH]:.2f}"
        else:
            row["reference_value"] = theirs[row["name"]]
            row["ratio"] = row["value"] / theirs[row["name"]]
    return None


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
    ratios = {name: ours[name] / theirs[name] for name in ours.keys() & theirs.keys()}
    print(f"{'op, a million elements':32} {'us':>10} {'PyTorch':>10} {'ratio':>7}")
    for name, ratio in sorted(ratios.items(), key=lambda item: -item[1]):
        print(f"{name:32} {ours[name]:10.1f} {theirs[name]:10.1f} {ratio:7.2f}{'  above 1.3' if ratio > 1.3 else ''}")
    for library, alone in (("TandemFlow", ours.keys() - theirs.keys()), ("PyTorch", theirs.keys() - ours.keys())):
        if alone:
            print(f"only {library} has gradients for: {', '.join(sorted(name.removesuffix('_grad') for name in alone))}")
    print(f"geometric mean {math.exp(sum(math.log(r) for r in ratios.values()) / len(ratios)):.2f}, goal 0.8; none above 1.3")
    if json_file:
        Path(json_file).write_text(json.dumps({"us": ours, "pytorch_us": theirs, "ratio": ratios}, indent=2) + "\n")


def main():
    names, json_file = arguments(sys.argv[1:])
    if "--ops" in names:
        return op_rows([name for name in names if name != "--ops"], json_file)
    print("bench: measuring; this takes a few minutes; rows of Python, strategies and PyTorch come last", flush=True)
    report = native_rows(names, shown=True)
    if report is None:
        report = native_rows(["eager_add"])  # for machine and date
        report["rows"] = []
    if "--ops-gpu" not in names:
        kept = [name for name in names if not name.startswith("-")]
        report["rows"][1:1] = python_rows(kept)
        report["rows"] += mirrored_rows(kept)
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
