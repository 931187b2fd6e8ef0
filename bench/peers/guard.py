"""What got worse between two runs: ratios to the same peers, and the noise that the rounds show."""
import math
from statistics import median

from .figures import spread

CERTAIN = 3.0  # standard errors
LEAST = 0.03  # changes below three percent are never named
COLUMNS = ("tandemflow", "tandem_cpp")


def yardsticks(old, new):
    """The peers timed in both runs of a workload."""
    return [name for name in old if name in new and name not in COLUMNS and old[name].get("rounds") and new[name].get("rounds")]


def log_ratios(columns, ours, peers):
    """A value a round: ours against the geometric mean of the peers in that round; alone, against nothing."""
    values = []
    for number, time in enumerate(columns[ours]["rounds"]):
        beside = [columns[peer]["rounds"][number] for peer in peers if number < len(columns[peer]["rounds"])]
        values.append(math.log(time) - sum(map(math.log, beside)) / len(beside) if beside else math.log(time))
    return values


def standard_error(values):
    """Of the median of the rounds. Few rounds know little about their own spread: they are trusted less."""
    few = 1 + 2 / len(values)
    return 1.2533 * spread(values) / math.sqrt(len(values)) * few


def compare(old, new):
    """One workload in two runs: a list of {"column", "change", "noise", "worse", "peers"}."""
    found = []
    for ours in COLUMNS:
        if not (old.get(ours, {}).get("rounds") and new.get(ours, {}).get("rounds")):
            continue
        peers = yardsticks(old, new)
        before, after = log_ratios(old, ours, peers), log_ratios(new, ours, peers)
        change = median(after) - median(before)
        noise = max(CERTAIN * math.hypot(standard_error(before), standard_error(after)), math.log1p(LEAST))
        found.append({"column": ours, "change": math.expm1(change), "noise": math.expm1(noise), "worse": change > noise,
                      "better": -change > noise, "peers": peers})
    return found


def broke(old, new):
    """Columns of ours that were timed before and are not any more, with what they say now."""
    return {
        ours: (new.get(ours) or {}).get("why") or "not measured"
        for ours in COLUMNS
        if old.get(ours, {}).get("rounds") and not new.get(ours, {}).get("rounds")
    }


def check(report, origin):
    """`report` if it is a run of --peers; otherwise an error that says what it is."""
    if not isinstance(report, dict) or not isinstance(report.get("workloads"), dict):
        raise ValueError(f"{origin} is not a report of scripts/bench --peers: it has no \"workloads\"")
    return report


def against(old, new):
    """(lines to print, whether something got worse)."""
    lines, worse = [], False
    if old.get("machine") != new.get("machine"):
        lines.append(f"another machine: {old.get('machine')} then, {new.get('machine')} now; only ratios to peers mean something")
    shared = [name for name in new["workloads"] if name in old["workloads"]]
    for name in shared:
        before, after = old["workloads"][name]["columns"], new["workloads"][name]["columns"]
        for column, why in broke(before, after).items():
            worse = True
            lines.append(f"{name:28} {column:11} WORSE: was timed, now: {why}")
        for found in compare(before, after):
            worse |= found["worse"]
            verdict = "WORSE" if found["worse"] else "better" if found["better"] else "same"
            beside = f"beside {', '.join(found['peers'])}" if found["peers"] else "no peer in both runs: times themselves"
            lines.append(f"{name:28} {found['column']:11} {verdict:6} {found['change']:+7.1%}, noise {found['noise']:.1%}, {beside}")
    for name in old["workloads"]:
        if name not in new["workloads"]:
            lines.append(f"{name:28} not in the new run")
    if not shared:
        lines.append("the two runs have no workload in common")
    return lines, worse
