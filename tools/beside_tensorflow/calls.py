"""The functions that are called, by TensorFlow's names, and how their arguments are drawn: {name: function of a Draw}."""
from . import array_calls, image_calls, network_calls, number_calls, seldom_calls, string_calls

CALLS = {}
#: functions of the library itself for what is no single function of it: an index, an operator
BODIES = {}
#: drawn numbers, of which only dtype and shape are alike
SHAPES_ONLY = set()
#: whose gradients are a matter of taste: factors of matrices are not unique
WITHOUT_GRADIENT = set()

for module in (number_calls, array_calls, network_calls, image_calls, string_calls, seldom_calls):
    CALLS.update(module.calls())
    BODIES.update(getattr(module, "BODIES", {}))
    SHAPES_ONLY.update(getattr(module, "SHAPES_ONLY", ()))
    WITHOUT_GRADIENT.update(getattr(module, "WITHOUT_GRADIENT", ()))


def chosen(parts):
    """The names that contain one of `parts`; all without any."""
    return [name for name in CALLS if not parts or any(part in name for part in parts)]
