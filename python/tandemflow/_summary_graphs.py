"""tf.summary: graphs of traced functions, and tensors as they are, for TensorBoard."""
import os

from . import _function, _tandem
from ._graph_def.messages import Graph, Node
from .profiler import experimental as _profiler
from .summary import _field, _local, _written, experimental, should_record_summaries

_profiled = []  # whether trace_on began a profile


def trace_on(graph=True, profiler=False, profiler_outdir=None):
    """From now on graphs of functions are kept as they are traced, and with profiler=True the ops that run, for trace_export."""
    _function.traced_graphs = [] if graph else None
    _profiled.clear()
    if profiler:
        _profiler.start(profiler_outdir or ".")
        _profiled.append(profiler_outdir)


def trace_off():
    """Ends what trace_on began, without writing it."""
    _function.traced_graphs = None
    if _profiled:
        _profiled.clear()
        _profiler.stop(save=False)


def trace_export(name, step=None, profiler_outdir=None):
    """Writes the graphs that were traced since trace_on to the default writer, and ends it."""
    if getattr(_local, "writer", None) is None:
        raise ValueError("No default writer set: call trace_export inside `with writer.as_default():`")
    if _function.traced_graphs is None:
        raise ValueError("Must enable trace before export through tf.summary.trace_on.")
    nodes = []
    for function, args, kwargs in _function.traced_graphs:
        found = function.get_concrete_function(*args, **kwargs).graph.as_graph_def().node
        nodes += [Node(name=f"{name}/{function.name}/{node.name}", op=node.op, input=[f"{name}/{function.name}/{one}" for one in node.input]) for node in found]
    _write_graph(Graph(node=nodes).to_bytes(), step)
    _function.traced_graphs = None
    if _profiled:
        _profiled.clear()
        if profiler_outdir is not None:
            _profiler._running.logdir = os.fspath(profiler_outdir)
        _profiler.stop()


def graph(graph_data):
    """Writes the graph of a concrete function, `.graph` or what its as_graph_def() gives."""
    definition = graph_data.as_graph_def() if hasattr(graph_data, "as_graph_def") else graph_data
    nodes = [Node(name=node.name, op=node.op, input=list(node.input)) for node in definition.node]
    return _write_graph(Graph(node=nodes).to_bytes(), 0)


def _write_graph(data, step):
    step = experimental.get_step() if step is None else step
    if step is None:
        raise ValueError("No step set. Please specify one either through the `step` argument or through tf.summary.experimental.set_step()")
    if not should_record_summaries():
        return False
    _local.writer.add(int(_tandem.to_tensor(step).numpy()), _field(4, data))  # an event's graph_def
    return True


def write(tag, tensor, step=None, metadata=None, name=None):
    """A tensor as it is, for plugins of TensorBoard."""
    from ._tensor_message import message_bytes

    plugin = getattr(getattr(metadata, "plugin_data", None), "plugin_name", "")
    return _written(tag, step, [tensor], message_bytes, plugin, getattr(metadata, "summary_description", None))


def audio(name, data, sample_rate, step=None, max_outputs=3, encoding=None, description=None):
    """Sounds [count, samples, channels] from -1 to 1, as WAV files."""
    from . import audio as sounds
    from .summary import _strings_tensor

    if encoding not in (None, "wav"):
        raise ValueError(f"Unknown encoding: {encoding!r}")

    def encode(value):
        if value.ndim != 3:
            raise ValueError(f"tf.summary.audio: needs [count, samples, channels], got {value.shape}")
        files = [sounds.encode_wav(value[i], int(sample_rate)).numpy() for i in range(min(value.shape[0], max_outputs))]
        return _strings_tensor([word for file in files for word in (file, b"")], [len(files), 2])

    return _written(name, step, [data], encode, "audio", description)
