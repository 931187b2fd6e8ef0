"""The figures as text for the terminal."""
from .figures import OURS, fastest, limit_seconds, ratio
from .libraries import CPP, PEERS, TITLES

COLUMNS = [CPP, OURS, *PEERS]
BUSY = 0.5  # load average from which others are said to use the machine too


def duration(seconds):
    """Three digits that matter, with their unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
        if seconds >= size or unit == "ns":
            value = seconds / size
            return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"


def derived(row, limits):
    """What a row says beside its times: ratios of our Python column (the C++ one where there is no other), and the limit."""
    columns = row["columns"]
    timed = {name: column for name, column in columns.items() if column.get("best")}
    ours = timed.get(OURS) or timed.get(CPP)
    best = fastest(timed, PEERS)
    least = limit_seconds(row.get("flops"), row.get("bytes"), limits)
    return {
        "to_tensorflow": ratio(ours, timed.get("tensorflow")),
        "to_fastest": ratio(ours, timed.get(best)),
        "by_median": ratio(ours, timed.get(best), "median"),
        "fastest": best,
        "of_limit": least / min(c["best"] for c in (timed.get(OURS), timed.get(CPP)) if c) if least and ours else None,
    }


def cell(column):
    if column.get("best"):
        return duration(column["best"])
    return "wrong" if column.get("why", "").startswith("wrong") else "-"


def number(value, form=None):
    """A ratio with two digits after the point, three where it is small."""
    if value is None:
        return "-"
    return (form or ("{:.2f}" if value >= 0.1 else "{:.3f}")).format(value)


def lines(report):
    """The table, then the reasons of what is missing in it, each once."""
    head = ["workload", *(TITLES[name] for name in COLUMNS), "/TensorFlow", "/fastest", "by median", "of limit"]
    rows, reasons = [head], {}
    for name, row in report["workloads"].items():
        more = row["derived"]
        rows.append([name, *(cell(row["columns"].get(c, {})) for c in COLUMNS), number(more["to_tensorflow"]),
                     number(more["to_fastest"]), number(more["by_median"]), number(more["of_limit"], "{:.0%}")])
        for column, entry in row["columns"].items():
            if entry.get("why") and not entry.get("unsaid"):
                reasons.setdefault((TITLES[column], entry["why"]), []).append(name)
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    text = ["  ".join(row[i].ljust(widths[i]) if i == 0 else row[i].rjust(widths[i]) for i in range(len(head))) for row in rows]
    for (title, why), names in reasons.items():
        text.append(f"{title}: {why} ({', '.join(names) if len(names) < 5 else f'{len(names)} workloads'})")
    return text


def goal_lines(report):
    """A line for every goal that a workload has beside a peer."""
    text = []
    for name, row in report["workloads"].items():
        ours = row["columns"].get(OURS, {})
        for column, goal in row.get("goals", {}).items():
            theirs = row["columns"].get(column, {})
            if ours.get("best") and theirs.get("best"):
                share = ratio(ours, theirs)
                text.append(f"{name}: {number(share)} of {TITLES[column]}'s time, goal {goal}: {'met' if share <= goal else 'MISSED'}")
    return text


def load_lines(report):
    """A busy machine is said: threads that wait for one another suffer more from it than those that do not."""
    load = report.get("load")
    if load is None or load < BUSY:
        return []
    return [f"The machine was busy: a load of {load:.1f} at the start; libraries whose threads wait for each other suffer most"]


def limit_lines(limits):
    if not limits:
        return []
    copies = ", ".join(f"{entry['gb_per_s']:.0f} GB/s at {entry['bytes'] / 2**20:g} MiB" for entry in limits["copy"])
    return [f"Limits, measured: {limits['gflops']:.0f} GFLOPS of float32; copying reads and writes {copies}"]


def coverage_lines(coverage):
    if not coverage:
        return []
    return [f"Names of TensorFlow's guides that resolve: {coverage['resolve']:.1%} by use ({coverage['names_resolve']} of {coverage['names']}); "
            f"tried out beside TensorFlow and right: {coverage['work']:.1%} by use ({coverage['names_work']})"]
