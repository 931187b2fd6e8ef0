"""What notebooks show: tensors, datasets, models and explanations as HTML."""
import html

_MOST = 10  # rows and columns of a tensor


def table(header, rows, caption=""):
    """A table of plain texts."""
    caption = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    head = "".join(f"<th>{html.escape(str(word))}</th>" for word in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _shortened(count):
    """The indices that are shown of so many, None for those left out."""
    if count <= _MOST:
        return list(range(count))
    return [*range(_MOST // 2), None, *range(count - _MOST // 2, count)]


def _text(value):
    if isinstance(value, bytes):
        return repr(value)
    return f"{value:.6g}" if hasattr(value, "dtype") and value.dtype.kind == "f" else str(value)


def of_tensor(tensor):
    """Its values where it has one or two axes, the text of print elsewhere, with shape, dtype and device."""
    kind = type(tensor).__name__
    title = f"{kind}, shape {tensor.shape}, {tensor.dtype.name}"
    from . import _tandem

    if _tandem.is_symbolic(tensor):
        return f"<pre>{html.escape(repr(tensor))}</pre>"
    title += f", {tensor.device.split('device:')[-1]}"
    if tensor.ndim not in (1, 2) or 0 in tuple(tensor.shape):
        return f"<div>{html.escape(title)}</div><pre>{html.escape(_tandem.numpy_str(tensor))}</pre>"
    values = tensor.numpy()
    if tensor.ndim == 1:
        values = values[None, :]
    columns = _shortened(values.shape[1])
    rows = [
        ["…"] * (len(columns) + 1) if i is None else [i, *("…" if j is None else _text(values[i, j]) for j in columns)]
        for i in _shortened(values.shape[0])
    ]
    header = ["", *("…" if j is None else j for j in columns)]
    return table(header, rows if tensor.ndim == 2 else [["", *rows[0][1:]]], title)


def of_dataset(dataset):
    """What its elements are and how many there are."""
    from ._dataset_structure import flatten

    count = dataset.cardinality().numpy()
    number = {-1: "endlessly many", -2: "an unknown number of"}.get(count, str(count))
    rows = [
        [i, type(spec).__name__, getattr(spec, "shape", ""), getattr(getattr(spec, "dtype", None), "name", "")]
        for i, spec in enumerate(flatten(dataset.element_spec))
    ]
    return table(["", "part", "shape", "dtype"], rows, f"Dataset, {number} elements")


def of_decision(decision):
    """A decision: what was chosen and why, then what else was considered."""
    chosen = [[name, decision[name]] for name in ("op", "signature", "requested", "device", "kernel", "reason", "remedy") if decision[name]]
    return table(["", ""], chosen) + f"<pre>{html.escape(decision.text)}</pre>"
