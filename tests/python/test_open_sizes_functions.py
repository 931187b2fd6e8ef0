"""The functions of the package, found by their names and called in a few ways, with an open batch size and without a graph."""
import types

import numpy as np
import pytest

import tandemflow as tf

SIZES = [3, 1, 2, 5]
NOT_FOR_GRAPHS = ("py_function", "numpy_function", "function", "print", "set_seed")
WAYS = {
    "x": lambda f, x: f(x),
    "x, x": lambda f, x: f(x, x),
    "x, axis=0": lambda f, x: f(x, axis=0),
    "x, 2": lambda f, x: f(x, 2),
    "[x, x]": lambda f, x: f([x, x]),
    "shape": lambda f, x: f(tf.shape(x)),
    "x, shape": lambda f, x: f(x, tf.shape(x)),
    "rows": lambda f, x: f(tf.shape(x)[0]),
    "x, numbers of rows": lambda f, x: f(x, tf.range(tf.shape(x)[0])),
}
MODULES = {"tf": tf, "math": tf.math, "nn": tf.nn, "linalg": tf.linalg, "signal": tf.signal, "ops": tf.keras.ops, "activations": tf.keras.activations}


def functions_of(module):
    for name in sorted(dir(module)):
        function = getattr(module, name)
        if not name.startswith("_") and name not in NOT_FOR_GRAPHS and callable(function) and not isinstance(function, (type, types.ModuleType)):
            yield name, function


def leaves(value):
    return [leaf for leaf in tf.nest.flatten(value) if isinstance(leaf, tf.Tensor) and leaf.dtype != tf.string]


def outcome(call, *arguments):
    """What comes out, or None where the arguments are refused."""
    tf.random.set_seed(3)
    try:
        return leaves(call(*arguments))
    except Exception:
        return None


def agree(found, expected):
    if (found is None) != (expected is None):
        return False
    if found is None:
        return True
    return len(found) == len(expected) and all(map(same, found, expected))


def same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and np.allclose(a.numpy(), b.numpy(), rtol=2e-3, atol=1e-4, equal_nan=True)


def differences(call, shape):
    """The sizes for which a function with an open first axis gives something else than one that is traced for the size. Also
    whether one trace served all; None for what takes no such arguments."""
    arguments = [tf.constant(np.random.default_rng(len(shape)).normal(size=(size, *shape)).astype(np.float32)) for size in SIZES]
    by_size = tf.function(lambda x: leaves(call(x)), autograph=False)
    expected = [outcome(by_size, argument) for argument in arguments]
    if not any(expected):
        return [], None
    f = tf.function(lambda x: leaves(call(x)), input_signature=[tf.TensorSpec([None, *shape])], autograph=False)
    wrong = [argument.shape[0] for argument, want in zip(arguments, expected) if not agree(outcome(f, argument), want)]
    return wrong, f.experimental_get_tracing_count() == 1


def check(calls):
    wrong, served, count = {}, 0, 0
    for name, call, shape in calls:
        sizes, once = differences(call, shape)
        served, count = served + (once is True), count + (once is not None)
        if sizes:
            wrong[name] = sizes
    assert not wrong
    return served, count


@pytest.mark.parametrize("module", MODULES)
def test_functions_give_for_open_sizes_what_they_give_for_each(module):
    calls = [(f"{name}({way})", lambda x, f=f, form=form: form(f, x), (3,)) for name, f in functions_of(MODULES[module]) for way, form in WAYS.items()]
    served, count = check(calls)
    print(f"{module}: {served} of {count} calls were served by one trace")
    assert served > count / 2


def test_functions_of_images_give_for_open_sizes_what_they_give_for_each():
    ways = {"x": lambda f, x: f(x), "x, size": lambda f, x: f(x, (4, 4)), "x, share": lambda f, x: f(x, 0.5)}
    check([(f"{name}({way})", lambda x, f=f, form=form: form(f, x), (8, 8, 3)) for name, f in functions_of(tf.image) for way, form in ways.items()])


def made_layers():
    for name in sorted(dir(tf.keras.layers)):
        kind = getattr(tf.keras.layers, name)
        for shape in [(6,), (6, 4), (8, 8, 3)]:
            for arguments in [(), (2,), (3, 2), ((2,),), ((3, 2),)]:
                try:
                    layer = kind(*arguments)
                    layer(np.ones((2, *shape), np.float32))
                except Exception:
                    continue  # it takes other arguments, or tensors of another rank
                yield f"{name}{arguments} of {shape}", lambda x, layer=layer: layer(x), shape


def test_layers_give_for_open_sizes_what_they_give_for_each():
    served, count = check(made_layers())
    print(f"layers: {served} of {count} were served by one trace")
    assert served > count / 2
