"""The report as one HTML file: no scripts, nothing loaded from elsewhere."""
from html import escape

from . import drawing, hybrid, table
from .figures import OURS
from .libraries import CPP, TITLES

STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --faint: #e4e6ea; --back: #ffffff; --own: #0a5fd0; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --faint: #33373d; --back: #16181c; --own: #6aa5ff; --bad: #ff8a80; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--back); max-width: 1180px; margin: 2em auto; padding: 0 1em; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 10px; border-bottom: 1px solid var(--faint); text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; min-width: 240px; }
td small { opacity: 0.65; } .won { font-weight: 600; } .wrong { color: var(--bad); }
svg text { fill: var(--ink); font: 13px system-ui, sans-serif; } svg text.small { font-size: 11px; opacity: 0.8; }
svg .grid { stroke: var(--faint); } svg .row { stroke: var(--faint); stroke-dasharray: 1 4; } svg .own { stroke: var(--own); stroke-width: 1.5; }
"""


def figure(column, best):
    if not column.get("best"):
        why = column.get("why", "")
        kind, word = ("wrong", "wrong") if why.startswith("wrong") else ("", "–")
        return f'<td class="{kind}" title="{escape(why)}">{word}</td>'
    won = ' class="won"' if best else ""
    return f'<td{won}>{table.duration(column["best"])}<br><small>{table.duration(column["median"])}</small></td>'


def workload_table(report):
    head = ["workload", *(TITLES[name] for name in table.COLUMNS), "/ TensorFlow", "/ fastest", "of limit"]
    rows = ["<tr>" + "".join(f"<th>{escape(word)}</th>" for word in head) + "</tr>"]
    for name, row in report["workloads"].items():
        timed = [c["best"] for c in row["columns"].values() if c.get("best")]
        cells = [f"<td>{escape(name)}<br><small>{escape(row['doc'])}</small></td>"]
        for column in table.COLUMNS:
            entry = row["columns"].get(column, {})
            cells.append(figure(entry, bool(timed) and entry.get("best") == min(timed)))
        more = row["derived"]
        cells += [f"<td>{table.number(more['to_tensorflow'])}</td>", f"<td>{table.number(more['to_fastest'])}</td>",
                  f"<td>{table.number(more['of_limit'], '{:.0%}')}</td>"]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f'<div class="wide"><table>{"".join(rows)}</table></div>'


def multiples(report):
    """[(workload, {library: its time / ours})]; our Python column is the measure, the C++ one where there is no other."""
    rows = []
    for name, row in report["workloads"].items():
        timed = {column: entry["best"] for column, entry in row["columns"].items() if entry.get("best")}
        ours = timed.get(OURS) or timed.get(CPP)
        rows.append((name, {column: best / ours for column, best in timed.items()} if ours else {}))
    return rows


def reasons(report):
    found = {}
    for name, row in report["workloads"].items():
        for column, entry in row["columns"].items():
            if entry.get("why") and not entry.get("unsaid"):
                found.setdefault(f"{TITLES[column]}: {entry['why']}", []).append(name)
    items = "".join(f"<li>{escape(why)} <small>({escape(', '.join(names))})</small></li>" for why, names in found.items())
    return f"<h2>Not timed</h2><ul>{items}</ul>" if items else ""


def scaling_charts(report):
    parts = []
    for name, curve in report.get("scaling", {}).items():
        series = {column: list(zip(curve["sizes"], times)) for column, times in curve["seconds"].items()}
        memory = {column: list(zip(curve["sizes"], values)) for column, values in curve["megabytes"].items()}
        parts.append(f"<h3>{escape(name)}: {escape(curve['doc'])}</h3>")
        parts.append(drawing.curves(series, TITLES, curve["axis"], "seconds"))
        parts.append(drawing.curves(memory, TITLES, curve["axis"], "MB"))
        parts += [f"<p><small>{escape(TITLES[column])}: {escape(why)}</small></p>" for column, why in curve["why"].items()]
    return "<h2>How time and memory grow</h2>" + "".join(parts) if parts else ""


def hybrid_table(report):
    found = report.get("hybrid") or {}
    if not found:
        return ""
    if "why" in found:
        return f"<h2>Two devices</h2><p>{escape(found['why'])}</p>"
    rows = ["<tr><th>program</th>" + "".join(f"<th>{mode}</th>" for mode in hybrid.MODES) + "<th>automatic / best</th></tr>"]
    for name, row in found.items():
        cells = "".join(f"<td>{table.duration(row['best'][mode]) if mode in row['best'] else '–'}</td>" for mode in hybrid.MODES)
        rows.append(f"<tr><td>{escape(name)}</td>{cells}<td{'' if row['met'] else ' class=wrong'}>{table.number(row['ratio'])}</td></tr>")
    return f"<h2>Two devices, a core each</h2><table>{''.join(rows)}</table>"


def html(report):
    versions = ", ".join(f"{TITLES[name]} {version}" for name, version in report["versions"].items() if name != CPP)
    notes = table.load_lines(report) + table.limit_lines(report["limits"]) + table.coverage_lines(report.get("coverage"))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>TandemFlow beside its peers</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body>
<h1>TandemFlow beside its peers</h1>
<p>{escape(report['machine'])}, {escape(report['date'])}, {report['rounds']} rounds in turn; {escape(versions)}.
Outputs were compared before anything was timed. Best of all rounds; below it, the median.</p>
<div class="wide">{drawing.ratios(multiples(report), TITLES)}</div>
{workload_table(report)}
{''.join(f'<p>{escape(note)}</p>' for note in notes)}
{hybrid_table(report)}
{scaling_charts(report)}
{reasons(report)}
</body></html>
"""
