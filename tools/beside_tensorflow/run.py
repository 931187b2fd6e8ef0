"""Answers the calls with one library and writes what it said, call by call, so that a crash is an answer too.

    python -m beside_tensorflow.run tensorflow|tandemflow FILE --calls N [--seed S] [--special] [--only NAME…]
                                    [--traced] [--twice] [--device NAME]

run from tools/, with a Python that has the library. --traced: inside a tf.function; --twice: second gradients too;
--device: the answers of two devices of one library are compared as those of two libraries are.
"""
import argparse
import importlib
import os
import pickle
import subprocess
import sys
import time
import zlib

import numpy as np

from . import calls
from .draw import Draw, Operand


def drawn(name, turn, seed, special):
    """The arguments and options of a function's call number `turn`; they do not depend on what else is called."""
    random = np.random.default_rng([seed, turn, zlib.crc32(name.encode())])
    return calls.CALLS[name](Draw(random, special))


def function_of(tf, name):
    """By its dotted name; a word behind a colon tells variants of one function apart."""
    for part in name.split(":")[0].split("."):
        tf = getattr(tf, part)
    return tf


def _mapped(value, change):
    if isinstance(value, Operand):
        return change(value)
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_mapped(one, change) for one in value)
    return value


def _tensor(tf, operand):
    if operand.dtype == "bfloat16":
        return tf.cast(tf.constant(operand.array.astype("float32")), tf.bfloat16)
    return tf.constant(operand.array)


def _array(tf, value):
    """A result as NumPy has it, with the name of its dtype."""
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return value
    if isinstance(value, (list, tuple)):
        return [_array(tf, one) for one in value]
    if isinstance(value, dict):
        return {key: _array(tf, one) for key, one in value.items()}
    if type(value).__name__.endswith("RaggedTensor"):
        return [_array(tf, value.values), _array(tf, value.row_splits)]
    if hasattr(value, "indices") or hasattr(value, "dtype"):
        value = tf.convert_to_tensor(value)
        name = value.dtype.name
        return name, np.array((tf.cast(value, tf.float32) if name == "bfloat16" else value).numpy())
    return repr(type(value).__name__)


def _floating(tf, results):
    if isinstance(results, (list, tuple)):
        return [one for part in results for one in _floating(tf, part)]
    return [results] if hasattr(results, "dtype") and getattr(results.dtype, "is_floating", False) and hasattr(results, "shape") else []


def _weights(tf, result):
    count = int(np.prod(result.shape.as_list()))
    return tf.cast(tf.constant((1 + np.arange(count) % 7 / 8).reshape(result.shape.as_list()).astype("float32")), result.dtype)


def _gradients(tf, tape, results, sources):
    """Of the weighted sum of all floating results by each source; None without such a result."""
    targets = _floating(tf, results)
    return tape.gradient(targets, sources, output_gradients=[_weights(tf, one) for one in targets]) if targets else None


def _noted(tf, name, compute):
    """{name: what was computed, or the error it ended with}."""
    try:
        found = compute()
    except Exception as error:  # noqa: BLE001 - an answer, whatever it is
        return {name: {"error": type(error).__name__, "text": str(error)[:300]}}
    return {} if found is None else {name: [_array(tf, one) for one in found]}


def answer(tf, name, arguments, options, traced=False, twice=False):
    """{"value": …, "grads": …, "seconds": …}, or {"error": class of the exception, "text": …}."""
    sources = []

    def tensor(operand):
        made = _tensor(tf, operand)
        if operand.floating:
            sources.append(made)
        return made

    try:
        given = _mapped(list(arguments), tensor)
        named = {key: _mapped(value, tensor) for key, value in options.items()}
        function = calls.BODIES.get(name) or function_of(tf, name)
        given = ([tf] if name in calls.BODIES else []) + given
        called = tf.function(lambda: function(*given, **named)) if traced else lambda: function(*given, **named)
        with tf.GradientTape() as tape:
            tape.watch(sources)
            results = called()
        said = {"value": _array(tf, results)}
    except Exception as error:  # noqa: BLE001 - an answer, whatever it is
        return {"error": type(error).__name__, "text": str(error)[:300]}
    if name in calls.SHAPES_ONLY:
        return {"value": _mapped_shapes(said["value"])}
    if not sources or name in calls.WITHOUT_GRADIENT:
        return said
    said.update(_noted(tf, "grads", lambda: _gradients(tf, tape, results, sources)))
    if twice and isinstance(said.get("grads"), list):
        said.update(_noted(tf, "seconds", lambda: _second(tf, called, sources)))
    return said


def _second(tf, called, sources):
    with tf.GradientTape() as outer:
        outer.watch(sources)
        with tf.GradientTape() as tape:
            tape.watch(sources)
            results = called()
        first = [tf.convert_to_tensor(one) for one in _gradients(tf, tape, results, sources) if one is not None]
    return _gradients(tf, outer, first, sources)


def _mapped_shapes(value):
    if isinstance(value, list):
        return [_mapped_shapes(one) for one in value]
    return (value[0], np.array(value[1].shape)) if isinstance(value, tuple) else value


def work(options):
    if options.library == "tensorflow":
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tf = importlib.import_module(options.library)
    names = calls.chosen(options.only)
    with open(options.file, "ab") as out:
        for number in range(options.first, options.calls):
            name, turn = called(names, number)
            with tf.device(options.device):
                said = answer(tf, name, *drawn(name, turn, options.seed, options.special), options.traced, options.twice)
            pickle.dump(((name, turn), said), out)
            out.flush()


def called(names, number):
    """(name, turn) of call `number` of a run: every function once, every function again, …"""
    return names[number % len(names)], number // len(names)


def answers(path):
    """{(name, turn): answer} of a file; what was cut off by a crash is left out."""
    found = {}
    with open(path, "rb") as file:
        while True:
            try:
                call, said = pickle.load(file)
            except (EOFError, pickle.UnpicklingError):
                return found
            found[call] = said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("file")
    parser.add_argument("--calls", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--special", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--traced", action="store_true")
    parser.add_argument("--twice", action="store_true")
    parser.add_argument("--device")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--worker", action="store_true")
    options = parser.parse_args()
    if options.worker:
        return work(options)
    open(options.file, "wb").close()
    first, begin, names = 0, time.time(), calls.chosen(options.only)
    while first < options.calls:
        done = subprocess.run([sys.executable, "-m", "beside_tensorflow.run", *sys.argv[1:], "--first", str(first), "--worker"])
        first = len(answers(options.file))
        if first >= options.calls:
            break
        if done.returncode > 0:
            sys.exit(f"{options.library} could not be asked; what it said is above")
        with open(options.file, "ab") as out:
            pickle.dump((called(names, first), {"error": "crash", "text": f"ended with {done.returncode}"}), out)
        print(f"{called(names, first)} ended the process ({done.returncode})")
        first += 1
    print(f"{options.calls} calls in {time.time() - begin:.0f} s")


if __name__ == "__main__":
    main()
