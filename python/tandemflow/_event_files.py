"""Reading what tf.summary wrote: tf.compat.v1.train.summary_iterator."""
from ._protobuf import Field, Message
from ._tensor_message import TensorMessage


class PluginData(Message):
    fields = {"plugin_name": Field(1, "str"), "content": Field(2, "bytes")}


class SummaryMetadata(Message):
    fields = {"plugin_data": Field(1, PluginData), "display_name": Field(2, "str"), "summary_description": Field(3, "str")}


class Value(Message):
    fields = {"tag": Field(1, "str"), "simple_value": Field(2, "float"), "tensor": Field(8, TensorMessage), "metadata": Field(9, SummaryMetadata)}


class Summary(Message):
    fields = {"value": Field(1, Value, repeated=True)}


class Event(Message):
    """One record of an event file: wall_time, step, and a summary or a graph."""

    fields = {"wall_time": Field(1, "double"), "step": Field(2, "int"), "file_version": Field(3, "str"), "graph_def": Field(4, "bytes"), "summary": Field(5, Summary)}

    def __init__(self, **values):
        super().__init__(**values)
        self.summary = self.summary or Summary()


def summary_iterator(path):
    """The events of a file, in order."""
    from .data import TFRecordDataset

    for record in TFRecordDataset(str(path)):
        yield Event.parse(record.numpy())


def tf_record_iterator(path, options=None):
    """The records of a file, as bytes."""
    from .data import TFRecordDataset

    kind = getattr(options, "compression_type", "") or ""
    for record in TFRecordDataset(str(path), compression_type=kind):
        yield record.numpy()
