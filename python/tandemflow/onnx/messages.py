"""The messages of an ONNX file, by the numbers that its specification gives their fields."""
from .._protobuf import Field, Message


def _ints(number):
    return Field(number, "int", repeated=True)


def _strings(number):
    return Field(number, "str", repeated=True)


class Entry(Message):
    fields = {"key": Field(1, "str"), "value": Field(2, "str")}


class Tensor(Message):
    fields = {
        "dims": _ints(1),
        "data_type": Field(2, "int"),
        "float_data": Field(4, "float", repeated=True),
        "int32_data": _ints(5),
        "string_data": Field(6, "bytes", repeated=True),
        "int64_data": _ints(7),
        "name": Field(8, "str"),
        "raw_data": Field(9, "bytes"),
        "double_data": Field(10, "double", repeated=True),
        "uint64_data": _ints(11),
        "external_data": Field(13, Entry, repeated=True),
        "data_location": Field(14, "int"),
    }


class Dimension(Message):
    fields = {"dim_value": Field(1, "int"), "dim_param": Field(2, "str")}


class TensorShape(Message):
    fields = {"dim": Field(1, Dimension, repeated=True)}


class TensorType(Message):
    fields = {"elem_type": Field(1, "int"), "shape": Field(2, TensorShape)}


class Type(Message):
    fields = {"tensor_type": Field(1, TensorType)}


class ValueInfo(Message):
    fields = {"name": Field(1, "str"), "type": Field(2, Type)}


class Attribute(Message):
    fields = {}  # filled in below: attributes contain graphs, which contain attributes


class Node(Message):
    fields = {
        "input": _strings(1),
        "output": _strings(2),
        "name": Field(3, "str"),
        "op_type": Field(4, "str"),
        "attribute": Field(5, Attribute, repeated=True),
        "domain": Field(7, "str"),
    }


class Graph(Message):
    fields = {
        "node": Field(1, Node, repeated=True),
        "name": Field(2, "str"),
        "initializer": Field(5, Tensor, repeated=True),
        "input": Field(11, ValueInfo, repeated=True),
        "output": Field(12, ValueInfo, repeated=True),
        "value_info": Field(13, ValueInfo, repeated=True),
    }


Attribute.fields = {
    "name": Field(1, "str"),
    "f": Field(2, "float"),
    "i": Field(3, "int"),
    "s": Field(4, "bytes"),
    "t": Field(5, Tensor),
    "g": Field(6, Graph),
    "floats": Field(7, "float", repeated=True),
    "ints": _ints(8),
    "strings": Field(9, "bytes", repeated=True),
    "type": Field(20, "int"),
}
FLOAT, INT, STRING, TENSOR, GRAPH, FLOATS, INTS, STRINGS = 1, 2, 3, 4, 5, 6, 7, 8


class OperatorSet(Message):
    fields = {"domain": Field(1, "str"), "version": Field(2, "int")}


class Model(Message):
    fields = {
        "ir_version": Field(1, "int"),
        "producer_name": Field(2, "str"),
        "producer_version": Field(3, "str"),
        "graph": Field(7, Graph),
        "opset_import": Field(8, OperatorSet, repeated=True),
    }
