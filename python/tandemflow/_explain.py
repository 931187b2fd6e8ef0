"""Why a tensor was computed where it was, and where the ops of a function run."""
import html
import json
import os
import sys
from dataclasses import dataclass, fields
from os import PathLike

from . import _html, _tandem
from ._arguments import specs_in
from ._concrete import ConcreteFunction
from ._function import Function, needs_values
from ._ops import zeros
from ._specs import TensorSpec
from .errors import OpError
from .nest import map_structure


@dataclass(frozen=True)
class Explanation:
    """A decision: what ran where, with which kernel, why, and what else was considered.

    ops, crossings and to_json are as those of a function that has this op alone. It has run already, so nothing of it is predicted.
    """

    op: str
    signature: str
    requested: str
    device: str
    kernel: str
    reason: str
    candidates: list
    text: str
    remedy: str
    dtype: str = ""  # of the tensor that was asked about
    shape: str = ""

    @property
    def ops(self):
        candidates = [
            {"device": c["device"], "us": None} if c["accepted"] else {"device": c["device"], "refusal": f"{c['kernel']}: {c['refusal']}"}
            for c in self.candidates
        ]
        return [{
            "op": self.op, "dtype": self.dtype, "shape": self.shape, "requested": self.requested, "chosen": self.device, "kernel": self.kernel,
            "reason": self.reason, "text": self.text, "predicted_us": {"compute": None, "transfer": None, "launch": None},
            "candidates": candidates, "bytes_moved": None, "remedy": self.remedy,
        }]  # fmt: skip

    @property
    def crossings(self):
        return []

    def to_json(self):
        return json.dumps({"crossings": self.crossings, "ops": self.ops}, indent=2)

    def __str__(self):
        return self.text

    def __getitem__(self, name):
        return getattr(self, name)

    def keys(self):
        return [field.name for field in fields(self)]

    def _repr_html_(self):
        return _html.of_decision(self)


class FunctionExplanation:
    """Where every op of a traced function runs, why, and what that is predicted to take.

    ops        a list of dicts: op, dtype, shape, requested, chosen, kernel, reason, text, predicted_us (compute, transfer,
               launch), candidates (device and us, or refusal), bytes_moved, remedy
    crossings  what is copied between devices: value, from, to, bytes, us
    op_by_op   whether it cannot be traced: then these are the ops of a run that was made to explain it
    """

    def __init__(self, as_json, text, dot, lock=None):
        self._json, self._text, self._dot, self._lock = as_json, text, dot, lock
        content = json.loads(as_json)
        self.ops = content["ops"]
        self.crossings = content["crossings"]
        self.op_by_op = content.get("op_by_op", False)
        self.predicted_us = content["makespan_us"]
        self.predicted_here_us = content.get("here_us", self.predicted_us)

    def __str__(self):
        return self._text

    __repr__ = __str__

    def to_json(self):
        return self._json

    def to_dot(self):
        """For Graphviz: a cluster for each device, crossings in red."""
        return self._dot

    def write_lock(self, path):
        """Writes the plan to a placement lock (tf.config.set_placement_lock); other functions in the file stay."""
        if self._lock is None:
            raise ValueError("write_lock: the function runs op by op, so there is no plan that a lock could keep; tf.device says where its ops run")
        _tandem.add_to_lock(self._lock, os.fspath(path))

    def _repr_html_(self):
        totals = self._text.split("dearest\n")[0]
        columns = ["op", "dtype", "shape", "chosen", "kernel", "reason"]
        rows = [
            [op[name] for name in columns]
            + [f"{sum(op['predicted_us'].values()):.4g} us", op["text"] + ("; " + op["remedy"] if op["remedy"] else "")]
            for op in self.ops
        ]
        return f"<pre>{html.escape(totals)}</pre>" + _html.table([*columns, "predicted", "why"], rows)


def _machine_json(machine):
    """A machine file, or its content as a dict, as text."""
    if machine is None:
        return None, ""
    if isinstance(machine, dict):
        return json.dumps(machine), "machine"
    if isinstance(machine, (str, PathLike)):
        with open(machine, encoding="utf-8") as file:
            return file.read(), str(machine)
    raise TypeError(f"machine must be the name of a machine file or a dict with its content, got {type(machine).__name__}")


def _explain_concrete(concrete, tensors, machine):
    return FunctionExplanation(*concrete.explain(tensors, *_machine_json(machine)))


def _explain_run(body, machine):
    return FunctionExplanation(*_tandem.explain_run(body, *_machine_json(machine)))


def _with_values(value):
    """What stands for a tf.TensorSpec in a run."""
    return zeros(value.shape, value.dtype) if isinstance(value, TensorSpec) else value


def _explain_function(function, args, kwargs, machine):
    """Of the plan for such arguments; where there is none, because it runs op by op, of a run."""

    specs = specs_in((args, kwargs))
    if not all(spec.shape.is_fully_defined() for spec in specs):
        raise ValueError(f"explain: {function._name}: a tf.TensorSpec with open sizes cannot be placed; give every size, or a tensor")

    def of_plan():
        if specs:
            return _explain_concrete(function.get_concrete_function(*args, **kwargs)._concrete, [], machine)
        prepared = function._arguments.flatten(args, kwargs)
        return _explain_concrete(function._with_tape(lambda: function._concrete(*prepared)), prepared[0], machine)

    def of_run():
        given = map_structure(_with_values, (args, kwargs)) if specs else (args, kwargs)
        return _explain_run(lambda: function._python_function(*given[0], **given[1]), machine)

    if _tandem.functions_run_eagerly() or function._not_traced(args, kwargs):
        return of_run()
    try:
        return of_plan()
    except OpError as error:
        if not _tandem.executing_eagerly() or not needs_values(error):
            raise
        function._give_up_tracing(error)
    run = of_run()
    return run if function._untraceable else of_plan()  # the variables that it made are there now


def explain(what, *args, machine=None, verbose=True, **kwargs):
    """How things came to be, or will: printed, unless verbose is False, and returned; notebooks show it as a table.

    explain(tensor) says why a tensor was computed where it was. explain(function, *args) says for every op of a
    function where it runs with such arguments, why, and what that is predicted to take; nothing runs. A function that cannot
    be traced is run once, op by op, and its variables get back what they held. With machine="FILE",
    such as machines/rtx3080.json, it says so for hardware that is not here. explain(model) does it for the training step
    that fit ran last, or for a call with 32 samples where there was none.
    """
    explanation = _explained(what, args, kwargs, machine)
    if verbose and not _shows_html():
        print(explanation)
    return explanation


def _shows_html():
    """Whether a notebook shows what its cells return."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None


def _explained(what, args, kwargs, machine):
    if hasattr(what, "_step_to_explain") and not args and not kwargs:
        what, args = what._step_to_explain()
    if isinstance(what, ConcreteFunction):
        return _explain_concrete(what._concrete, [], machine)
    if what is None:
        raise TypeError("explain needs a tensor, a function or a model, got None")
    if isinstance(what, (_tandem.Tensor, _tandem.Variable)) or not callable(what):
        if args or kwargs or machine is not None:
            raise TypeError("explain(tensor) takes nothing else; arguments and a machine go with a function")
        return Explanation(**_tandem.explain(what))
    return _explain_function(what if isinstance(what, Function) else Function(what), args, kwargs, machine)


def last_decisions(most=16):
    """The most recent decisions of this thread, oldest first."""
    return [Explanation(**decision) for decision in _tandem.last_decisions(most)]
