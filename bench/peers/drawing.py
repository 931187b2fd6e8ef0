"""Charts as SVG text: a dot plot of ratios and lines over sizes, both on logarithmic axes."""
import math
from html import escape

COLORS = {
    "tandem_cpp": "#1b7f5c", "tandemflow": "#0a5fd0", "tensorflow": "#e8710a", "torch": "#c5221f", "jax": "#8430ce", "numpy": "#6b7280",
}


def text(x, y, words, anchor="start", kind=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(words)}</text>'


def line(x1, y1, x2, y2, kind):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def svg(width, height, parts, label):
    return (f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{escape(label)}" '
            f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>')


class LogAxis:
    """Values to places between `start` and `end`; ticks at 1, 2, 5 of the decades they span."""

    def __init__(self, values, start, end):
        self.low, self.high = min(values), max(values)
        if self.low == self.high:
            self.low, self.high = self.low / 2, self.high * 2
        self.start, self.end = start, end

    def __call__(self, value):
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self):
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        steps = (1, 2, 5) if last - first <= 2 else (1,)
        marks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        return [mark for mark in marks if self.low <= mark <= self.high]


def plain(value):
    return f"{value:g}" if value < 1e6 else f"{value:.0e}"


def legend(names, titles, x, y):
    parts = []
    for name in names:
        parts.append(f'<circle cx="{x:.1f}" cy="{y - 4:.1f}" r="5" fill="{COLORS[name]}"/>')
        parts.append(text(x + 10, y, titles[name]))
        x += 36 + 7.8 * len(titles[name])
    return parts


def ratios(rows, titles, width=900):
    """`rows`: [(label, {name: how many times as long as ours})]. A dot a library, ours on the line at 1."""
    rows = [(label, values) for label, values in rows if values]
    if not rows:
        return ""
    left, top, step = 230, 70, 26
    height = top + step * len(rows) + 30
    axis = LogAxis([value for _, values in rows for value in values.values()] + [0.5, 2], left, width - 30)
    names = [name for name in titles if any(name in values for _, values in rows)]
    parts = legend(names, titles, left, 20)
    for mark in axis.ticks():
        parts += [line(axis(mark), top - 12, axis(mark), height - 30, "own" if mark == 1 else "grid"),
                  text(axis(mark), top - 18, plain(mark) + "×", "middle", "small")]
    for number, (label, values) in enumerate(rows):
        y = top + step * number + 8
        parts.append(text(left - 14, y + 4, label, "end"))
        parts.append(line(left, y, width - 30, y, "row"))
        for name, value in values.items():
            tip = f"{titles[name]}: {value:.2f} × TandemFlow's time"
            parts.append(f'<circle cx="{axis(value):.1f}" cy="{y}" r="6" fill="{COLORS[name]}" fill-opacity="0.85"><title>{escape(tip)}</title></circle>')
    parts.append(text(left, height - 8, "time as a multiple of TandemFlow's; to the right of the line: slower than TandemFlow", "start", "small"))
    return svg(width, height, parts, "times of the peers as multiples of TandemFlow's")


def curves(series, titles, x_title, y_title, width=440, height=280):
    """`series`: {name: [(x, y)]}, drawn as lines."""
    points = [point for line_ in series.values() for point in line_]
    if not points:
        return ""
    across = LogAxis([x for x, _ in points], 70, width - 20)
    up = LogAxis([y for _, y in points], height - 50, 40)
    parts = legend(list(series), titles, 70, 18)
    for mark in across.ticks():
        parts += [line(across(mark), 40, across(mark), height - 50, "grid"), text(across(mark), height - 34, plain(mark), "middle", "small")]
    for mark in up.ticks():
        parts += [line(70, up(mark), width - 20, up(mark), "grid"), text(64, up(mark) + 4, plain(mark), "end", "small")]
    for name, values in series.items():
        places = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in values)
        parts.append(f'<polyline points="{places}" fill="none" stroke="{COLORS[name]}" stroke-width="2"/>')
        parts += [f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="3.5" fill="{COLORS[name]}"><title>{escape(f"{x:g}: {y:.4g}")}</title></circle>'
                  for x, y in values]
    parts += [text((70 + width - 20) / 2, height - 12, x_title, "middle", "small"), text(8, 32, y_title, "start", "small")]
    return svg(width, height, parts, f"{y_title} against {x_title}")
