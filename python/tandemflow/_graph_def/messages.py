"""The messages of saved_model.pb."""
from .._protobuf import Field, Message
from .._tensor_bundle import Dim
from .._tensor_message import TensorMessage


def _map(value):
    """The field of a map: its entries are messages of key and value."""

    class Entry(Message):
        fields = {"key": Field(1, "str"), "value": Field(2, value)}

    return Entry


def entries(message, field, values):
    """The entries of a map, from a dict."""
    kind = message.fields[field].kind
    return [kind(key=key, value=value) for key, value in values.items()]


def as_dict(entries):
    return {entry.key: entry.value for entry in entries}


class Shape(Message):
    fields = {"dim": Field(2, Dim, repeated=True), "unknown_rank": Field(3, "int")}

    @classmethod
    def of(cls, shape):
        """Of a tf.TensorShape."""
        return cls(unknown_rank=1) if shape.rank is None else cls(dim=[Dim(size=-1 if size is None else size) for size in shape.as_list()])

    def sizes(self):
        """None where the number of axes is open; an open size is None."""
        return None if self.unknown_rank else [None if dim.size < 0 else dim.size for dim in self.dim]


# --- Graphs ---


class NamedFunction(Message):
    fields = {"name": Field(1, "str")}


class Values(Message):
    fields = {
        "s": Field(2, "bytes", repeated=True), "i": Field(3, "int", repeated=True), "f": Field(4, "float", repeated=True), "b": Field(5, "int", repeated=True),
        "type": Field(6, "int", repeated=True), "shape": Field(7, Shape, repeated=True), "func": Field(9, NamedFunction, repeated=True),
    }  # fmt: skip

    def items(self):
        """Of whichever kind they are."""
        return self.s or self.i or self.f or self.b or self.type or self.shape or self.func


class AttrValue(Message):
    one_of = True
    fields = {
        "list": Field(1, Values), "s": Field(2, "bytes"), "i": Field(3, "int"), "f": Field(4, "float"), "b": Field(5, "int"), "type": Field(6, "int"),
        "shape": Field(7, Shape), "tensor": Field(8, TensorMessage), "func": Field(10, NamedFunction),
    }  # fmt: skip


class Node(Message):
    fields = {"name": Field(1, "str"), "op": Field(2, "str"), "input": Field(3, "str", repeated=True), "attr": Field(5, _map(AttrValue), repeated=True)}


class Argument(Message):
    fields = {"name": Field(1, "str"), "type": Field(3, "int")}


class Signature(Message):
    fields = {
        "name": Field(1, "str"), "input_arg": Field(2, Argument, repeated=True), "output_arg": Field(3, Argument, repeated=True),
        "is_stateful": Field(17, "int"), "control_output": Field(20, "str", repeated=True),
    }  # fmt: skip


class ArgumentAttributes(Message):
    fields = {"attr": Field(1, _map(AttrValue), repeated=True)}


class NumberedAttributes(Message):
    """An entry of the map from an argument's number to its attributes."""

    fields = {"key": Field(1, "int"), "value": Field(2, ArgumentAttributes)}


class FunctionMessage(Message):
    fields = {
        "signature": Field(1, Signature), "node_def": Field(3, Node, repeated=True), "ret": Field(4, _map("str"), repeated=True),
        "control_ret": Field(6, _map("str"), repeated=True), "arg_attr": Field(7, NumberedAttributes, repeated=True),
    }  # fmt: skip


class Library(Message):
    fields = {"function": Field(1, FunctionMessage, repeated=True)}


class Versions(Message):
    fields = {"producer": Field(1, "int"), "min_consumer": Field(2, "int")}


class Graph(Message):
    fields = {"node": Field(1, Node, repeated=True), "library": Field(2, Library), "versions": Field(4, Versions)}


# --- Structures of arguments and results ---


class SpecMessage(Message):
    fields = {"name": Field(1, "str"), "shape": Field(2, Shape), "dtype": Field(3, "int")}


def _unzigzag(value):
    value &= 2**64 - 1
    return value >> 1 if value % 2 == 0 else -(value >> 1) - 1


class Structure(Message):
    """One of its fields is set; a number, text or truth value, which may be 0, is `plain`."""

    one_of = True
    plain = None
    _PLAIN = {"float64_value": float, "int64_value": _unzigzag, "string_value": str, "bool_value": bool}

    def _take(self, name, field, wire, value, depth):
        super()._take(name, field, wire, value, depth)
        if name in self._PLAIN:
            self.plain = self._PLAIN[name](getattr(self, name))


class Structures(Message):
    fields = {"values": Field(1, Structure, repeated=True)}


class Pair(Message):
    fields = {"key": Field(1, "str"), "value": Field(2, Structure)}


class Dictionary(Message):
    fields = {"fields": Field(1, Pair, repeated=True)}


class NamedTuple(Message):
    fields = {"name": Field(1, "str"), "values": Field(2, Pair, repeated=True)}


class TypeSpecMessage(Message):
    fields = {"type_spec_class": Field(1, "int"), "type_state": Field(2, Structure), "type_spec_class_name": Field(3, "str")}


class Nothing(Message):
    pass


Structure.fields = {
    "none_value": Field(1, Nothing), "float64_value": Field(11, "double"), "int64_value": Field(12, "int"), "string_value": Field(13, "str"),
    "bool_value": Field(14, "int"), "tensor_shape_value": Field(31, Shape), "tensor_dtype_value": Field(32, "int"), "tensor_spec_value": Field(33, SpecMessage),
    "type_spec_value": Field(34, TypeSpecMessage), "list_value": Field(51, Structures), "tuple_value": Field(52, Structures),
    "dict_value": Field(53, Dictionary), "named_tuple_value": Field(54, NamedTuple),
}  # fmt: skip


# --- Objects ---


class Child(Message):
    fields = {"node_id": Field(1, "int"), "local_name": Field(2, "str")}


class UserObject(Message):
    fields = {"identifier": Field(1, "str"), "version": Field(2, Versions)}


class Asset(Message):
    fields = {"asset_file_def_index": Field(1, "int")}


class Spec(Message):
    fields = {"fullargspec": Field(1, Structure), "is_method": Field(2, "int"), "input_signature": Field(5, Structure)}


class SavedFunction(Message):
    fields = {"concrete_functions": Field(1, "str", repeated=True), "function_spec": Field(2, Spec)}


class SavedVariable(Message):
    fields = {"dtype": Field(1, "int"), "shape": Field(2, Shape), "trainable": Field(3, "int"), "name": Field(6, "str")}


class BareFunction(Message):
    fields = {"concrete_function_name": Field(1, "str"), "argument_keywords": Field(2, "str", repeated=True), "allowed_positional_arguments": Field(3, "int")}


class Constant(Message):
    fields = {"operation": Field(1, "str")}


class Resource(Message):
    fields = {"device": Field(1, "str")}


class CapturedTensor(Message):
    fields = {"name": Field(1, "str"), "concrete_function": Field(2, "str")}


class SavedObject(Message):
    fields = {
        "children": Field(1, Child, repeated=True), "user_object": Field(4, UserObject), "asset": Field(5, Asset), "function": Field(6, SavedFunction),
        "variable": Field(7, SavedVariable), "bare_concrete_function": Field(8, BareFunction), "constant": Field(9, Constant), "resource": Field(10, Resource),
        "captured_tensor": Field(12, CapturedTensor),
    }  # fmt: skip

    @property
    def kind(self):
        found = [name for name in self.fields if name != "children" and getattr(self, name) is not None]
        return found[0] if found else "nothing"


class ConcreteMessage(Message):
    fields = {"bound_inputs": Field(2, "int", repeated=True), "canonicalized_input_signature": Field(3, Structure), "output_signature": Field(4, Structure)}


class ObjectGraph(Message):
    fields = {"nodes": Field(1, SavedObject, repeated=True), "concrete_functions": Field(2, _map(ConcreteMessage), repeated=True)}


class TensorInfo(Message):
    fields = {"name": Field(1, "str"), "dtype": Field(2, "int"), "tensor_shape": Field(3, Shape)}


class SignatureMessage(Message):
    fields = {"inputs": Field(1, _map(TensorInfo), repeated=True), "outputs": Field(2, _map(TensorInfo), repeated=True), "method_name": Field(3, "str")}


class AssetFile(Message):
    fields = {"tensor_info": Field(1, TensorInfo), "filename": Field(2, "str")}


class MetaInfo(Message):
    fields = {"tags": Field(4, "str", repeated=True), "tensorflow_version": Field(5, "str")}


class MetaGraph(Message):
    fields = {
        "meta_info_def": Field(1, MetaInfo), "graph_def": Field(2, Graph), "signature_def": Field(5, _map(SignatureMessage), repeated=True), "asset_file_def": Field(6, AssetFile, repeated=True), "object_graph_def": Field(7, ObjectGraph),
    }  # fmt: skip


class SavedModel(Message):
    fields = {"saved_model_schema_version": Field(1, "int"), "meta_graphs": Field(2, MetaGraph, repeated=True)}
