"""CPU alone, GPU alone, both by hand, automatic: the same programs, each device on a core of its own."""
import json
import os
import subprocess

from .table import duration

MODES = ("cpu", "gpu", "both", "automatic")
GOAL = 1.05  # automatic beside the best of the others


def environment(cores):
    """PoCL as /GPU:0, each device on its own core; {} where there are not two."""
    if len(cores) < 2:
        return {}
    return {"TANDEM_OPENCL_CPU_AS_GPU": "1", "TANDEM_CPU_CORES": str(cores[0]), "TANDEM_OPENCL_CORES": str(cores[1])}


def run(python, path, rounds, seconds):
    """{program: {mode: times or {"why"}}}, or {"why": …}."""
    more = environment(sorted(os.sched_getaffinity(0)))
    if not more:
        return {"why": "two devices need two cores"}
    done = subprocess.run([str(python), "-m", "peers.hybrid_program", str(rounds), str(seconds)],
                          env={**os.environ, **more, "PYTHONPATH": path}, capture_output=True, text=True)
    if done.returncode:
        return {"why": (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1]}
    return summaries(json.loads(done.stdout))


def summaries(found):
    """Best times, and automatic beside the best of the others."""
    rows = {}
    for name, modes in found.items():
        best = {mode: min(times) for mode, times in modes.items() if isinstance(times, list) and times}
        others = [time for mode, time in best.items() if mode != "automatic"]
        ratio = best["automatic"] / min(others) if "automatic" in best and others else None
        rows[name] = {"best": best, "rounds": modes, "ratio": ratio, "met": ratio is not None and ratio <= GOAL}
    return rows


def lines(hybrid):
    if not hybrid:
        return []
    if "why" in hybrid:
        return [f"Hybrid: no figures, {hybrid['why']}"]
    text = [f"{'hybrid, a core each':24}" + "".join(f"{mode:>12}" for mode in MODES) + f"{'/best':>8}  goal {GOAL}"]
    for name, row in hybrid.items():
        cells = "".join(f"{duration(row['best'][mode]) if mode in row['best'] else '-':>12}" for mode in MODES)
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
        text.append(f"{name:24}{cells}{ratio:>8}  {'met' if row['met'] else 'MISSED'}")
        text += [f"  {mode}: {times['why']}" for mode, times in row["rounds"].items() if isinstance(times, dict)]
    return text
