"""Tables on the console: columns of fixed width, words wrapped, what is too long cut with "…", colours on terminals.

A text is a list of (character, style); `text("dense (", ("Dense", "symbol"), ")")` makes one.
"""
import math
import os
import re
import sys

# Style -> (number of Keras' palette of 256 colours, code where a terminal has 16, bold?)
_STYLES = {
    "": (None, None, False),
    "bold": (None, None, True),
    "number": (34, "32", False),
    "none": (45, "96", False),
    "symbol": (33, "94", False),
    "yes": (34, "32", True),
    "no": (9, "91", True),
}


def text(*parts):
    """A text of strings and (string, style) pairs."""
    out = []
    for part in parts:
        string, style = part if isinstance(part, tuple) else (part, "")
        out += [(character, style) for character in string]
    return out


class Painter:
    """Turns texts into what the terminal understands; without colours it drops the styles."""

    def __init__(self, colours):
        self.colours = colours  # 0, 16 or 256

    @classmethod
    def of_stdout(cls):
        terminal = os.environ.get("TERM", "").strip().lower()
        if not (hasattr(sys.stdout, "isatty") and sys.stdout.isatty()) or terminal in ("dumb", "unknown"):
            return cls(0)
        if os.environ.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit"):
            return cls(256)
        return cls(256 if terminal.rpartition("-")[2] in ("256color", "kitty") else 16)

    def paint(self, styled):
        out, start = "", 0
        for end in range(1, len(styled) + 1):
            if end == len(styled) or styled[end][1] != styled[start][1]:
                out += self.wrap("".join(character for character, _ in styled[start:end]), styled[start][1])
                start = end
        return out

    def wrap(self, string, style):
        palette, basic, bold = _STYLES[style]
        codes = ["1"] if bold else []
        if palette is not None and not os.environ.get("NO_COLOR"):
            codes.append(f"38;5;{palette}" if self.colours == 256 and palette > 15 else basic)
        return f"\x1b[{';'.join(codes)}m{string}\x1b[0m" if self.colours and codes and string else string


def console_width():
    """Columns of the terminal; 80 where there is none. Lines are cut there."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given):
        return int(given)
    for stream in (0, 1, 2):
        try:
            return os.get_terminal_size(stream).columns or 80
        except OSError:
            continue
    return 80


def render(header, rows, justify, widths, width, painter):
    """The lines of a table that is `width` wide; `widths` are those of the columns' texts."""
    widths = _fit([w + 2 for w in widths], width - len(widths) - 1)
    crop = console_width()
    lines = [_rule("┏━┳┓", widths)]
    lines += _row([text((name, "bold")) for name in header], justify, widths, "┃", painter, crop, "bold")
    lines.append(_rule("┡━╇┩", widths))
    for i, row in enumerate(rows):
        if i:
            lines.append(_rule("├─┼┤", widths))
        lines += _row(row, justify, widths, "│", painter, crop, "")
    lines.append(_rule("└─┴┘", widths))
    return [line if isinstance(line, _Painted) else line[:crop] for line in lines]


class _Painted(str):
    """A line that is cut already."""


def _rule(characters, widths):
    left, line, joint, right = characters
    return left + joint.join(line * w for w in widths) + right


def _row(texts, justify, widths, edge, painter, crop, style):
    cells = [_wrap(cell, how, w - 2, style) for cell, how, w in zip(texts, justify, widths)]
    height = max(len(lines) for lines in cells)
    # The header stands at the bottom of its row, the rest at the top.
    cells = [[None] * (height - len(lines)) + lines if style else lines + [None] * (height - len(lines)) for lines in cells]
    out = []
    for i in range(height):
        parts = [text(edge)]
        for lines, w in zip(cells, widths):
            parts += _cell(lines[i], w, style) + [text(edge)]
        out.append(_Painted("".join(painter.paint(part) for part in _cut(parts, crop))))
    return out


def _cell(line, width, style):
    """Padding and text apart, as they are coloured one by one."""
    if line is None:
        return [text((" " * width, style))]
    return [text((" ", style)), line, text((" ", style))]


def _cut(parts, crop):
    out = []
    for part in parts:
        out.append(part[:crop])
        crop -= len(out[-1])
    return out


def _wrap(cell, justify, width, style):
    if width < 1:
        return [[]]
    string = "".join(character for character, _ in cell)
    breaks, used = [], 0
    for match in re.finditer(r"\s*\S+\s*", string):
        word = match.group()
        length = len(word.rstrip())
        if width - used >= length:
            used += len(word)
        else:
            if match.start():
                breaks.append(match.start())
            used = len(word)
    ends = breaks + [len(cell)]
    return [_justified(cell[start:end], justify, width, style) for start, end in zip([0] + breaks, ends)]


def _justified(line, justify, width, style):
    while line and line[-1][0].isspace() and (justify != "left" or len(line) > width):
        line = line[:-1]
    if len(line) > width:
        line = line[: width - 1] + [("…", line[width - 1][1])]
    space = width - len(line)
    left = {"left": 0, "right": space, "center": space // 2}[justify]
    return text((" " * left, style)) + line + text((" " * (space - left), style))


def _fit(widths, available):
    """Columns as wide as there is room: shrunk by the same each, or grown in proportion."""
    widths = [min(w, available) for w in widths]
    excess = sum(widths) - available
    out, left = [], len(widths)
    if excess > 0:
        for w in widths:
            share = min(w, round(excess / left))
            out.append(w - share)
            excess, left = excess - share, left - 1
        return out
    missing, total = -excess, sum(widths)
    for w in widths:
        share = math.ceil(w * missing / total) if missing else 0
        out.append(w + share)
        missing, total = missing - share, total - w
    return out
