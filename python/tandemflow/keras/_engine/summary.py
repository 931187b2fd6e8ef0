"""The table of a model's layers that model.summary() prints."""
import html
import math
import re
import shutil

from ..._html import table
from ..utils import messages
from ..utils.console_table import Painter, render, text
from .shape_trees import is_shape
from .operation import Operation
from .operation_config import class_name_of
from .tracking import unique


def print_summary(model, line_length=None, positions=None, print_fn=None, expand_nested=False, show_trainable=False,
                  layer_range=None):  # fmt: skip
    """Prints the layers with the shapes they give and their numbers of parameters."""
    if print_fn is None and not messages.is_interactive_logging_enabled():
        print_fn = messages.print_message
    header, justify, rows = _table_of(model, expand_nested, show_trainable, layer_range)
    default, positions = (108, positions or [0.3, 0.56, 0.74, 1.0]) if "Connected to" in header else (88, positions or [0.45, 0.80, 1.0])
    if show_trainable:
        default, positions = default + 12, [p * 0.90 for p in positions] + [1.0]
    width = line_length or min(default, shutil.get_terminal_size().columns - 4)
    widths = _column_widths(positions, width)
    painter = Painter(0) if print_fn is not None else Painter.of_stdout()
    lines = [painter.paint(text((f'Model: "{model.name}"', "bold")))]
    lines += render(header, rows, justify, widths, width, painter)
    lines += [painter.paint(line) for line in _totals(model)]
    (print_fn or _print)("\n".join(lines) + "\n")


def _table_of(model, expand_nested=False, show_trainable=False, layer_range=None):
    """Header, alignment and rows."""
    graph = None if model._graph is None or _is_sequential(model) else model._graph
    nodes = None if graph is None or _is_chain(graph) else graph.nodes
    header, justify = ["Layer (type)", "Output Shape", "Param #"], ["left", "left", "right"]
    if nodes is not None:
        header, justify = header + ["Connected to"], justify + ["left"]
    if show_trainable:
        header, justify = header + ["Trainable"], justify + ["center"]
    layers = graph.layers if graph is not None else model.layers
    first, end = _range_of(layers, layer_range)
    return header, justify, [row for layer in layers[first:end] for row in _rows(layer, nodes, expand_nested, show_trainable)]


def html_summary(model):
    """The table for notebooks: what print_summary prints."""
    header, _, rows = _table_of(model)
    plain = Painter(0)
    lines = [[plain.paint(cell) for cell in row] for row in rows]
    totals = "<br>".join(html.escape(plain.paint(line).strip()) for line in _totals(model))
    return table(header, lines, f'Model: "{model.name}"') + f"<div>{totals}</div>"


def _print(output):
    messages.print_message(output, line_break=False)


def _is_sequential(model):
    from .sequential import Sequential

    return isinstance(model, Sequential)


def _is_chain(graph):
    """Whether every layer has one use, one input and one follower: then "Connected to" says nothing."""
    depths = {}
    for node in reversed(graph.nodes):
        depth = depths.setdefault(id(node), 0)
        for parent in graph.parents_of(node):
            depths[id(parent)] = max(depth + 1, depths.get(id(parent), 0))
    used_once = len({id(node.operation) for node in graph.nodes}) == len(graph.nodes)
    alone = len({depths[id(node)] for node in graph.nodes}) == len(graph.nodes)
    return used_once and alone and all(len(node.inputs) <= 1 for node in graph.nodes)


def _column_widths(positions, width):
    widths = []
    for position in positions:
        widths.append(int(position * width) - sum(widths))
        if widths[-1] < 4:
            raise ValueError("Insufficient console width to print summary.")
    return widths


def _range_of(layers, layer_range):
    """From the first layer that matches one name to the last that matches the other."""
    if layer_range is None:
        return 0, len(layers)
    if len(layer_range) != 2:
        raise ValueError(
            f"layer_range must be a list or tuple of length 2. Received: layer_range = {layer_range} of length "
            f"{len(layer_range)}"
        )
    if not all(isinstance(name, str) for name in layer_range):
        raise ValueError(f"layer_range should contain string type only. Received: {layer_range}")
    lower, upper = ([i for i, layer in enumerate(layers) if re.match(name, layer.name)] for name in layer_range)
    if not lower or not upper:
        raise ValueError(f"Passed layer_names do not match the layer names in the model. Received: {layer_range}")
    if min(lower) > max(upper):
        return min(upper), max(lower) + 1
    return min(lower), max(upper) + 1


# --- Rows ---


def _rows(layer, nodes, expand_nested, show_trainable, level=0):
    prefix = "   " * level + "└ " if level else ""
    row = [text(f"{prefix}{layer.name} (", (_kind(layer), "symbol"), ")"), _shape_text(layer), _params(layer)]
    if nodes is not None:
        row.append(_connections(layer, nodes))
    if show_trainable:
        row.append(_trainable(layer))
    rows = [row]
    if expand_nested:
        for inner in getattr(layer, "layers", None) or ():
            rows += _rows(inner, nodes, expand_nested, show_trainable, level + 1)
    return rows


def _params(layer):
    if not layer.built:
        return text(("0", "number"), " (unbuilt)")
    return text((f"{layer.count_params():,}", "number"))


def _trainable(layer):
    if not layer.weights:
        return text(("-", "bold"))
    return text(("Y", "yes") if layer.trainable else ("N", "no"))


def _connections(layer, nodes):
    relevant = {id(node) for node in nodes}
    parts = []
    for node in layer._inbound_nodes:
        for tensor in node.inputs if id(node) in relevant else ():
            history = tensor._keras_history
            parts += [", "] if parts else []
            parts += [f"{history.operation.name}[", (str(history.node_index), "number"), "]["]
            parts += [(str(history.tensor_index), "number"), "]"]
    return text(*parts) if parts else text("-")


def _kind(layer):
    """The class; of a function of keras.ops the one that Keras has for it."""
    return class_name_of(layer.function) if isinstance(layer, Operation) else type(layer).__name__


def _shape_text(layer):
    shapes = _output_shapes(layer)
    if shapes is None:
        return text("?")
    if len(shapes) == 1:
        return text(*_shape_parts(shapes[0]))
    first, last = "[]" if layer._inbound_nodes else "()"  # Keras writes those of a model that is not part of another so
    parts = []
    for shape in shapes:
        parts += [", " if parts else first, *_shape_parts(shape)]
    return text(*parts, last)


def _output_shapes(layer):
    if layer._inbound_nodes:
        return [tensor.shape for tensor in layer._inbound_nodes[-1].outputs]
    if getattr(layer, "outputs", None):  # a model that was drawn
        return [tensor.shape for tensor in layer.outputs]
    if layer._build_shapes is None or not _says_its_shape(layer):
        return None
    shapes = list(layer._build_shapes.values())
    try:
        found = layer.compute_output_shape(*shapes)
    except NotImplementedError:
        return None
    return [found] if is_shape(found) else [shape for shape in _shapes_in(found)]


def _says_its_shape(layer):
    """Keras shows no shape of a user's layer that has no compute_output_shape; a model knows its own."""
    from .layer import Layer
    from .model import Model

    return isinstance(layer, Model) or type(layer).compute_output_shape is not Layer.compute_output_shape or type(layer).__module__.startswith(__package__.rpartition(".")[0])


def _shapes_in(structure):
    if is_shape(structure):
        return [structure]
    items = structure.values() if isinstance(structure, dict) else structure
    return [shape for item in items for shape in _shapes_in(item)]


def _shape_parts(shape):
    parts = ["("]
    for size in shape:
        parts += [", "] if len(parts) > 1 else []
        parts.append(("None", "none") if size is None else (str(size), "number"))
    return parts + [")"]


# --- The lines below the table ---


def _totals(model):
    trainable, frozen = model.trainable_weights, model.non_trainable_weights
    optimizer = getattr(model, "optimizer", None)
    slots = list(optimizer.variables) if model.compiled and optimizer is not None and optimizer.built else None
    yield _total(" Total params: ", trainable + frozen + (slots or []))
    yield _total(" Trainable params: ", trainable)
    yield _total(" Non-trainable params: ", frozen)
    if slots is not None:
        yield _total(" Optimizer params: ", slots)


def _total(title, variables):
    count = sum(math.prod(tuple(v.shape)) for v in variables)
    size = sum(math.prod(tuple(v.shape)) * v.dtype.size for v in unique(variables))
    return text((title, "bold"), (f"{count:,}", "number"), f" ({_readable(size)})")


def _readable(size):
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if size < 1024:
            return f"{size:.2f} {unit}"
        size /= 1024
    return f"{size:.2f} PB"
