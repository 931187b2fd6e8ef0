"""The steps of training, testing and predicting as traced functions, and the loops that run them."""
import time
from contextlib import nullcontext

from ... import _tandem
from ..._function import Function, needs_values, untraced, why_op_by_op
from ..._gradient import flatten, pack_like
from ..._logging import get_logger
from ..._specs import TensorSpec
from ...errors import OpError
from .call_context import building
from .logits import remembered

SHOW_EVERY = 0.05  # seconds between looks at the progress bar, at callbacks' wishes and at Ctrl-C


class StepFunction:
    """One kind of step of a model: traced once for each structure and shape of batch."""

    def __init__(self, body, name, eager=False):
        self._body, self._name, self._eager = body, name, eager
        self._functions = {}  # by structure
        self.last = None  # the function that ran last and its arguments: their specs, where it is traced

    def for_structure(self, structure, leaves=()):
        """A function of the leaves of a batch. Layers of strings compute in Python, so steps over them are not traced."""
        eager = self._eager or any(leaf.dtype.name == "string" for leaf in leaves)
        key = (_key(structure), eager)
        function = self._functions.get(key)
        if function is None:

            def step(*leaves):
                traced = nullcontext() if _tandem.executing_eagerly() else building  # one at a time: layers keep losses and masks
                with traced, remembered():
                    return self._body(pack_like(structure, iter(leaves)))

            function = self._functions[key] = step if eager else Function(step, name=self._name)
        return function

    def give_up_tracing(self, error):
        """Its steps run op by op from now on."""
        self.forget()
        self._eager = True
        get_logger().warning("%s runs op by op: %s", self._name, why_op_by_op(error))

    def forget(self):
        """What was traced holds no longer."""
        self._functions.clear()

    def note(self, function, leaves):
        """For tf.explain(model)."""
        if isinstance(function, Function) and not self.eager:
            self.last = function, [TensorSpec.from_tensor(leaf) for leaf in leaves]
        else:
            self.last = untraced(function, self._name), leaves

    @property
    def eager(self):
        return self._eager or _tandem.functions_run_eagerly()


def _key(structure):
    if isinstance(structure, dict):
        return ("dict", *((key, _key(structure[key])) for key in sorted(structure)))
    if isinstance(structure, (list, tuple)):
        return (type(structure).__name__, *(_key(item) for item in structure))
    return "."


class Loop:
    """Runs the steps of one epoch, telling callbacks as often as they want to know."""

    def __init__(self, step, source, callbacks, mode, logs, stopped=lambda: False, limit=None, collect=None, division=None, at_once=1):
        """`logs(results)` makes logs of what a step returned; `collect(results)` takes every step's results; `division`
        divides batches among the replicas of a strategy; callbacks are told of `at_once` steps together."""
        self.division, self.at_once = division, at_once
        self.step, self.source, self.callbacks, self.mode = step, source, callbacks, mode
        self.logs, self.stopped, self.limit, self.collect = logs, stopped, limit, collect
        self.hooked = callbacks.batch_hooks(mode)
        self.begin = getattr(callbacks, f"on_{mode}_batch_begin")
        self.end = getattr(callbacks, f"on_{mode}_batch_end")

    def run(self):
        """All steps; says how many there were."""
        self.source.begin_epoch(goes_on=self.mode == "train" and self.limit is not None)
        if self.division is not None:
            self.division.begin()
        if self.source.loop is not None and not self.step.eager and not self.hooked:
            try:
                return self._run_stretches()
            except OpError as error:
                if not needs_values(error):
                    raise
                self.step.give_up_tracing(error)
        return self._run_one_by_one()

    def _run_stretches(self):
        """Without Python between the steps, but for a look now and then."""
        source, loop = self.source, self.source.loop
        first = done = source.first
        last = source.steps if self.limit is None else min(first + self.limit, source.steps)
        full, rest = self._concrete(last)
        if self.collect is not None:
            if any(shape.rank == 0 for shape, _ in full.outputs()):
                return self._run_one_by_one()  # one value for a whole batch is no row of an array
            loop.collect()
        begin = time.perf_counter()
        while done < last and not self.stopped():
            before = done
            done = loop.run(full, rest, done, last, SHOW_EVERY)
            changed = self.division is not None and self.division.note(done - before, time.perf_counter() - begin)
            if done < last:
                self.callbacks.show(done - first, self.logs(loop.results(full)))
                begin = time.perf_counter()  # what is traced for another division is a part of what it takes
                if changed:
                    full, rest = self._concrete(last)
        self.results = loop.results(rest if rest is not None and done == last else full)
        if self.collect is not None:
            self.collect.take(loop.collected(full), min(done * source.batch_size, source.rows))
        source.end_at(done)
        return done - first

    def _concrete(self, last):
        """The traced step for whole batches, and for the last one where it is smaller."""
        source = self.source
        function = self.step.for_structure(source.structure)
        has_rest = source.loop.remainder and last == source.steps and source.steps > 1

        def traced_for(step):
            leaves = source.batch(step)
            if self.mode == "train" and step == 0:
                self.step.note(function, leaves)
            return function.get_concrete_function(*leaves)._concrete

        full = source.traced(function, 0, traced_for)
        return full, source.traced(function, source.steps - 1, traced_for) if has_rest else None

    def _run_one_by_one(self):
        done, shown, self.results = 0, time.monotonic(), None
        batches = self.source.batches() if self.limit is None or self.source.loop is not None else self.source.batches(self.limit)
        for structure, leaves in batches:
            if self.limit is not None and done >= self.limit:
                break
            if self.hooked and done % self.at_once == 0:
                self.begin(done)
            if self.division is not None and done == 0 and self.source.loop is None:
                self.division.begin_with(structure, leaves)
            begin = time.perf_counter()
            self.results = self._run_step(done, structure, leaves)  # what several replicas do may still be under way
            if self.division is not None:
                if self.division.searches:
                    _tandem.await_runs()
                self.division.note(1, time.perf_counter() - begin)
            if self.collect is not None:
                self.collect(self.results)
            done += 1
            now = time.monotonic()
            if self.hooked and done % self.at_once == 0:
                self.end(done - 1, self.logs(self.results))
            if now - shown >= SHOW_EVERY:
                self.callbacks.show(done, self.logs(self.results))
                shown = now
            if self.stopped():
                break
        _tandem.await_runs()  # a step that fails says so here, not in what follows
        if self.hooked and done % self.at_once:  # the last ones were fewer
            self.end(done + self.at_once - done % self.at_once - 1, self.logs(self.results))
        if self.source.loop is not None:
            self.source.end_at(self.source.first + done)
        self.callbacks.note_steps(done)
        return done

    def _run_step(self, done, structure, leaves):
        function = self.step.for_structure(structure, leaves)
        if done == 0 and self.mode == "train":
            self.step.note(function, leaves)
        return function(*leaves)


class Collector:
    """Puts the predictions of all batches together, nested as the model's outputs are."""

    def __init__(self):
        self._parts, self._structure = [], None

    def __call__(self, outputs):
        """One batch."""
        self._structure = outputs
        self._parts.append([leaf.numpy() for leaf in flatten(outputs)])

    def take(self, outputs, rows):
        """All batches at once; only the first `rows` rows are filled."""
        self._structure = outputs
        self._parts = [[leaf.numpy()[:rows] if leaf.ndim else leaf.numpy() for leaf in flatten(outputs)]]

    def result(self):
        import numpy as np

        if not self._parts:
            return None
        # Of one part too a copy, which may be written to; one value for a whole batch has no rows that could be put together.
        arrays = [np.concatenate(leaves) if len(leaves) > 1 or leaves[0].ndim else np.array(leaves[0]) for leaves in zip(*self._parts)]
        return pack_like(self._structure, iter(arrays))
