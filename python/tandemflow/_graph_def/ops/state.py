"""Variables, and lists of tensors, which loops carry."""
import tandemflow as tf

from ..support import integer, ints, op


@op("ReadVariableOp", effects=True)
def read(node, variable):
    return variable.read_value() if isinstance(variable, tf.Variable) else variable


@op("AssignVariableOp", effects=True)
def assign(node, variable, value):
    variable.assign(value)
    return []


@op("AssignAddVariableOp", effects=True)
def assign_add(node, variable, value):
    variable.assign_add(value)
    return []


@op("AssignSubVariableOp", effects=True)
def assign_sub(node, variable, value):
    variable.assign_sub(value)
    return []


@op("VariableShape", effects=True)
def variable_shape(node, variable):
    return tf.shape(variable)


@op("VarIsInitializedOp", effects=True)
def is_initialized(node, variable):
    return tf.constant(True)


@op("NoOp", "Assert", effects=True)
def nothing(node, *inputs):
    return []


# --- Lists of tensors ---


def _element_shape(value, node):
    sizes = ints(value, node)
    return None if value.ndim == 0 else [None if size < 0 else size for size in sizes]


@op("TensorListReserve", effects=True)
def reserve(node, element_shape, count):
    return tf.TensorArray(node.dtype("element_dtype"), size=count, element_shape=_element_shape(element_shape, node))


@op("EmptyTensorList", effects=True)
def empty(node, element_shape, most):
    return tf.TensorArray(node.dtype("element_dtype"), size=0, dynamic_size=True, element_shape=_element_shape(element_shape, node))


@op("TensorListSetItem", effects=True)
def set_item(node, handle, index, item):
    return handle.write(index, item)


@op("TensorListGetItem", effects=True)
def get_item(node, handle, index, element_shape):
    return handle.read(index)


@op("TensorListStack", effects=True)
def stack(node, handle, element_shape):
    return handle.stack()


@op("TensorListFromTensor", effects=True)
def from_tensor(node, tensor, element_shape):
    return tf.TensorArray(tensor.dtype, size=tensor.shape[0], clear_after_read=False).unstack(tensor)


@op("TensorListLength", effects=True)
def length(node, handle):
    return handle.size()


@op("TensorListPushBack", effects=True)
def push_back(node, handle, item):
    return handle.write(handle.size(), item)
