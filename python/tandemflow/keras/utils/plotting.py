"""Pictures of models: DOT for Graphviz, SVG and PNG drawn here."""
import os

from . import drawing


class _Box:
    """A layer in the picture: lines of text, and the nested model it belongs to."""

    def __init__(self, key, lines, group):
        self.key, self.lines, self.group = key, lines, group


class Dot:
    """A graph; to_string() is its text for Graphviz, write() a picture."""

    def __init__(self, name, rankdir, dpi):
        self.name, self.rankdir, self.dpi = name, rankdir, dpi
        self.boxes, self.edges = {}, []

    def add_box(self, key, lines, group=()):
        self.boxes.setdefault(key, _Box(key, lines, group))

    def add_edge(self, source, target):
        if (source, target) not in self.edges:
            self.edges.append((source, target))

    def to_string(self):
        numbers = {key: f"n{i}" for i, key in enumerate(self.boxes)}
        out = [f"digraph {_quoted(self.name)} {{", f"  rankdir={self.rankdir}; dpi={self.dpi};", "  node [shape=box];"]
        out += _clusters(list(self.boxes.values()), (), numbers)
        out += [f"  {numbers[source]} -> {numbers[target]};" for source, target in self.edges]
        return "\n".join(out + ["}", ""])

    def create_svg(self):
        return drawing.to_svg(drawing.layout(self)).encode()

    def write(self, path, format=None):
        kind = format or os.path.splitext(os.fspath(path))[1].lstrip(".").lower()
        if kind not in ("dot", "gv", "svg", "png"):
            raise ValueError(f"plot_model writes .svg, .png and .dot, got '{path}'")
        if kind == "png":
            drawing.write_png(drawing.layout(self), path, self.dpi)
            return
        with open(path, "w", encoding="utf-8") as file:
            file.write(drawing.to_svg(drawing.layout(self)) if kind == "svg" else self.to_string())


def _quoted(text):
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _clusters(boxes, group, numbers):
    """The boxes of a group, groups inside of it as clusters."""
    out, done = [], set()
    for box in boxes:
        if box.group == group:
            label = _quoted("\n".join(box.lines)).replace("\n", "\\n")
            out.append(f"  {numbers[box.key]} [label={label}];")
        elif box.group[: len(group)] == group and box.group[len(group)] not in done:
            name = box.group[len(group)]
            done.add(name)
            inner = [b for b in boxes if b.group[: len(group) + 1] == (*group, name)]
            lines = _clusters(inner, (*group, name), numbers)
            cluster = _quoted("cluster_" + "/".join((*group, name)))
            out += [f"  subgraph {cluster} {{", f"    label={_quoted(name)};", *("  " + line for line in lines), "  }"]
    return out


def model_to_dot(model, show_shapes=False, show_dtype=False, show_layer_names=True, rankdir="TB", expand_nested=False, dpi=200,
                 subgraph=False, show_layer_activations=False, show_trainable=False, splines="ortho", **kwargs):  # fmt: skip
    """The graph of a model's layers; `splines`, how Graphviz draws edges, is accepted."""
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments: {kwargs}")
    if not model.built:
        raise ValueError(
            "This model has not yet been built. Build the model first by calling `build()` or by calling the model on a "
            "batch of data."
        )
    if rankdir not in ("TB", "LR"):
        raise ValueError(f"rankdir must be 'TB' or 'LR', got {rankdir!r}")
    show = {"shapes": show_shapes, "dtype": show_dtype, "names": show_layer_names, "activations": show_layer_activations,
            "trainable": show_trainable}  # fmt: skip
    dot = Dot(model.name, rankdir, dpi)
    _Drawer(dot, show, expand_nested).model(model, (), None)
    return dot


def plot_model(model, to_file="model.png", show_shapes=False, show_dtype=False, show_layer_names=False, rankdir="TB",
               expand_nested=False, dpi=200, show_layer_activations=False, show_trainable=False, splines="ortho", **kwargs):  # fmt: skip
    """Writes a picture of the model's layers: .svg, .png (with Pillow) or .dot."""
    dot = model_to_dot(model, show_shapes, show_dtype, show_layer_names, rankdir, expand_nested, dpi,
                       show_layer_activations=show_layer_activations, show_trainable=show_trainable, **kwargs)  # fmt: skip
    dot.write(to_file)
    return _for_notebook(to_file)


def _for_notebook(path):
    """What notebooks show; None elsewhere."""
    try:
        from IPython import display
    except ImportError:
        return None
    if str(path).endswith((".svg", ".dot")):
        return display.SVG(filename=path) if str(path).endswith(".svg") else None
    return display.Image(filename=path)


class _Drawer:
    def __init__(self, dot, show, expand):
        self.dot, self.show, self.expand = dot, show, expand

    def model(self, model, path, outer):
        """Boxes and edges of a model; `outer` gives the keys of what feeds its inputs. Returns the keys of its outputs."""
        if model._graph is None:
            self.dot.add_box((*path, id(model)), self.lines(model), path)
            return [(*path, id(model))]
        made = {}  # id of a tensor -> key of the box that makes it
        graph = model._graph
        for i, tensor in enumerate(graph.input_tensors):
            if outer is not None:
                made[id(tensor)] = outer[i]
        for node in graph.nodes:
            self.node(node, path, made)
        return [made[id(t)] for t in graph.output_tensors]

    def node(self, node, path, made):
        layer = node.operation
        if all(id(t) in made for t in node.outputs):  # an input that the model around feeds
            return
        sources = [made[id(t)] for t in node.inputs]
        if self.expand and getattr(layer, "_graph", None) is not None:
            ends = self.model(layer, (*path, layer.name), sources)
        else:
            key = (*path, id(layer))
            self.dot.add_box(key, self.lines(layer), path)
            for source in sources:
                self.dot.add_edge(source, key)
            ends = [key] * len(node.outputs)
        made.update({id(t): key for t, key in zip(node.outputs, ends)})

    def lines(self, layer):
        kind = type(layer).__name__
        out = [f"{layer.name} ({kind})" if self.show["names"] else kind]
        if self.show["activations"] and getattr(layer, "activation", None) is not None:
            out.append(f"Activation: {getattr(layer.activation, '__name__', layer.activation)}")
        if self.show["dtype"]:
            out.append(f"Output dtype: {layer.compute_dtype}")
        if self.show["shapes"] and layer._inbound_nodes:
            node = layer._inbound_nodes[-1]
            if node.inputs:
                out.append(f"Input shape: {_shapes(node.inputs)}")
            out.append(f"Output shape: {_shapes(node.outputs)}")
        if self.show["trainable"] and layer.weights:
            out.append("Trainable" if layer.trainable else "Non-trainable")
        return out


def _shapes(tensors):
    shapes = [str(tuple(t.shape)) for t in tensors]
    return shapes[0] if len(shapes) == 1 else f"[{', '.join(shapes)}]"
