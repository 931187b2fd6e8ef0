"""Draws a graph in layers: every box below what it reads, boxes of a row in an order with few crossings."""
from xml.sax.saxutils import escape

_FONT, _CHARACTER, _LINE = 14, 8.5, 20  # sizes in pixels
_PADDING, _GAP, _ROW_GAP, _MARGIN = 10, 28, 46, 16


class _Place:
    """A box, or the bend of an edge that passes a row."""

    def __init__(self, box=None):
        self.box = box
        self.width = max(len(line) for line in box.lines) * _CHARACTER + 2 * _PADDING if box else 0
        self.height = len(box.lines) * _LINE + 2 * _PADDING - 4 if box else 0
        self.row = self.x = self.y = 0


class Drawing:
    """Boxes with places, edges as lists of points, frames of nested models; x to the right, y down."""

    def __init__(self, places, edges, frames, width, height):
        self.places, self.edges, self.frames, self.width, self.height = places, edges, frames, width, height


def layout(graph):
    places = {key: _Place(box) for key, box in graph.boxes.items()}
    sideways = graph.rankdir == "LR"
    if sideways:
        for place in places.values():
            place.width, place.height = place.height, place.width
    rows, chains = _rows(places, graph.edges)
    _reduce_crossings(rows, chains)
    _set_places(rows, chains)
    everything = list(places.values())
    if sideways:
        for place in [p for row in rows for p in row]:
            place.x, place.y = place.y, place.x
            place.width, place.height = place.height, place.width
    edges = [_points(chain, sideways) for chain in chains]
    frames = _frames(everything)
    return _moved_to_origin(everything, edges, frames)


def _rows(places, edges):
    """Rows by the longest way from the start, and each edge as the chain of places it passes."""
    targets = {}
    for source, target in edges:
        targets.setdefault(source, []).append(target)
    waiting = {key: sum(target == key for _, target in edges) for key in places}
    ready = [key for key in places if not waiting[key]]
    while ready:
        key = ready.pop(0)
        for target in targets.get(key, ()):
            places[target].row = max(places[target].row, places[key].row + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    rows = [[] for _ in range(max((p.row for p in places.values()), default=-1) + 1)]
    for place in places.values():
        rows[place.row].append(place)
    chains = []
    for source, target in edges:
        chain = [places[source]]
        for row in range(places[source].row + 1, places[target].row):
            bend = _Place()
            bend.row = row
            rows[row].append(bend)
            chain.append(bend)
        chains.append(chain + [places[target]])
    return rows, chains


def _neighbours(chains):
    above, below = {}, {}
    for chain in chains:
        for upper, lower in zip(chain, chain[1:]):
            above.setdefault(id(lower), []).append(upper)
            below.setdefault(id(upper), []).append(lower)
    return above, below


def _reduce_crossings(rows, chains):
    """Sorts each row by the mean place of its neighbours, from above and from below in turn."""
    above, below = _neighbours(chains)
    for sweep in range(8):
        order = {id(place): i for row in rows for i, place in enumerate(row)}
        near = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            row.sort(key=lambda p: _mean([order[id(q)] for q in near.get(id(p), ())], order[id(p)]))
            order.update({id(place): i for i, place in enumerate(row)})


def _mean(values, otherwise):
    return sum(values) / len(values) if values else otherwise


def _set_places(rows, chains):
    """x and y of the middles: rows one below the other, boxes near their neighbours but apart from one another."""
    top = 0
    for row in rows:
        height = max(place.height for place in row)
        for place in row:
            place.y = top + height / 2
        top += height + _ROW_GAP
        _spread(row, [0.0] * len(row))
    above, below = _neighbours(chains)
    for sweep in range(8):
        near = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            _spread(row, [_mean([q.x for q in near.get(id(p), ())], p.x) for p in row])


def _spread(row, wanted):
    """As near to the wanted places as the widths and the order allow, moved as a whole to fit on average."""
    at, right = [], None
    for place, x in zip(row, wanted):
        left = x - place.width / 2
        left = left if right is None else max(left, right + _GAP)
        at.append(left + place.width / 2)
        right = left + place.width
    shift = sum(w - x for w, x in zip(wanted, at)) / len(at)
    for place, x in zip(row, at):
        place.x = x + shift


def _points(chain, sideways):
    start, end = chain[0], chain[-1]
    middle = [(p.x, p.y) for p in chain[1:-1]]
    if sideways:
        return [(start.x + start.width / 2, start.y), *middle, (end.x - end.width / 2, end.y)]
    return [(start.x, start.y + start.height / 2), *middle, (end.x, end.y - end.height / 2)]


def _frames(places):
    """(name, left, top, right, bottom) around the boxes of each nested model."""
    groups = {}
    for place in places:
        for depth in range(1, len(place.box.group) + 1):
            groups.setdefault(place.box.group[:depth], []).append(place)
    out, deepest = [], max((len(group) for group in groups), default=0)
    for group, members in groups.items():
        space = 8 * (deepest - len(group) + 1)
        left, right = min(p.x - p.width / 2 for p in members), max(p.x + p.width / 2 for p in members)
        top, bottom = min(p.y - p.height / 2 for p in members), max(p.y + p.height / 2 for p in members)
        out.append((group[-1], left - space, top - space - 12, right + space, bottom + space))
    return out


def _moved_to_origin(places, edges, frames):
    xs = [p.x - p.width / 2 for p in places] + [f[1] for f in frames] + [x for e in edges for x, _ in e]
    ys = [p.y - p.height / 2 for p in places] + [f[2] for f in frames]
    right = max([p.x + p.width / 2 for p in places] + [f[3] for f in frames] + [x for e in edges for x, _ in e])
    bottom = max([p.y + p.height / 2 for p in places] + [f[4] for f in frames])
    dx, dy = _MARGIN - min(xs), _MARGIN - min(ys)
    for place in places:
        place.x, place.y = place.x + dx, place.y + dy
    edges = [[(x + dx, y + dy) for x, y in edge] for edge in edges]
    frames = [(name, a + dx, b + dy, c + dx, d + dy) for name, a, b, c, d in frames]
    return Drawing(places, edges, frames, right + dx + _MARGIN, bottom + dy + _MARGIN)


# --- SVG ---


def to_svg(drawing):
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{drawing.width:.0f}" height="{drawing.height:.0f}" '
        f'viewBox="0 0 {drawing.width:.0f} {drawing.height:.0f}">',
        '<defs><marker id="arrow" viewBox="0 0 10 10" refX="10" refY="5" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L10 5L0 10z"/></marker></defs>',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for name, left, top, right, bottom in drawing.frames:
        out.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" fill="none" '
            f'stroke="gray" stroke-dasharray="4"/><text x="{left + 4:.1f}" y="{top + 12:.1f}" font-family="monospace" '
            f'font-size="11" fill="gray">{escape(name)}</text>'
        )
    for edge in drawing.edges:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in edge)
        out.append(f'<polyline points="{points}" fill="none" stroke="black" marker-end="url(#arrow)"/>')
    for place in drawing.places:
        out += _svg_box(place)
    return "\n".join(out + ["</svg>", ""])


def _svg_box(place):
    left, top = place.x - place.width / 2, place.y - place.height / 2
    yield (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{place.width:.1f}" height="{place.height:.1f}" rx="4" fill="#f4f7fb" '
        'stroke="black"/>'
    )
    for i, line in enumerate(place.box.lines):
        weight = ' font-weight="bold"' if i == 0 else ""
        yield (
            f'<text x="{place.x:.1f}" y="{top + _PADDING + 12 + i * _LINE:.1f}" text-anchor="middle" '
            f'font-family="monospace" font-size="{_FONT}"{weight}>{escape(line)}</text>'
        )


# --- PNG ---


def write_png(drawing, path, dpi):
    """Drawn by Pillow, which has a font; the text-free rest would be little without it."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        raise ImportError(
            f"plot_model: '{path}' needs Pillow (pip install pillow); a file that ends in .svg or .dot needs nothing"
        ) from None
    scale = max(dpi, 24) / 96
    image = Image.new("RGB", (round(drawing.width * scale), round(drawing.height * scale)), "white")
    canvas, font = ImageDraw.Draw(image), ImageFont.load_default(_FONT * scale * 0.9)
    line = max(1, round(scale))
    for name, *corners in drawing.frames:
        canvas.rectangle([c * scale for c in corners], outline="gray", width=line)
        canvas.text((corners[0] * scale + 4, corners[1] * scale), name, fill="gray", font=font)
    for edge in drawing.edges:
        points = [(x * scale, y * scale) for x, y in edge]
        canvas.line(points, fill="black", width=line)
        canvas.polygon(_arrow_head(points[-2], points[-1], 8 * scale), fill="black")
    for place in drawing.places:
        left, top = (place.x - place.width / 2) * scale, (place.y - place.height / 2) * scale
        canvas.rectangle([left, top, left + place.width * scale, top + place.height * scale], "#f4f7fb", "black", line)
        for i, text in enumerate(place.box.lines):
            at = (place.x * scale, top + (_PADDING + 7 + i * _LINE) * scale)
            canvas.text(at, text, fill="black", font=font, anchor="mm")
    image.save(path, format="PNG", dpi=(dpi, dpi))


def _arrow_head(start, end, size):
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = (dx * dx + dy * dy) ** 0.5 or 1
    dx, dy = dx / length * size, dy / length * size
    return [end, (end[0] - dx + dy / 2.5, end[1] - dy - dx / 2.5), (end[0] - dx - dy / 2.5, end[1] - dy + dx / 2.5)]
