"""Methods that users write, with `if` and `while` over tensors as parts of the graph while a step is traced."""
from ... import _tandem


def converted(method):
    """The method; while a function is traced, converted as tf.function converts the function itself."""
    if _tandem.executing_eagerly():
        return method
    from ...autograph.convert import convert

    return convert(method)
