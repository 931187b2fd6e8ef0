"""A training step on several devices: each replica has its rows of the batch, and the results are those of one device."""
import itertools
import sys
import time

from ... import _ops, _tandem
from ..._device import device
from ..._function import Function
from ..._gradient import GradientTape, dense, flatten, pack_like
from ..._replica import current as current_replica
from .data_sources import unpack_x_y_sample_weight
from .logits import logits_of, remember

_HOST = "/CPU:0"


def current_strategy():
    """The strategy whose scope this is, or None; strategies are not loaded for the question."""
    distribute = sys.modules.get("tandemflow.distribute")
    return distribute.get_strategy() if distribute is not None and distribute.has_strategy() else None


def _shards(structure, sizes_of):
    """How many rows each replica gets, and the structure once for each, with its rows of every tensor."""
    from ...distribute._values import map_replicas, select

    divided = []
    map_replicas(lambda values: divided.append(values) or values, structure)
    if divided:
        return [part.shape[0] for part in divided[0]], [select(structure, i) for i in range(len(divided[0]))]
    leaves = flatten(structure)
    sizes = sizes_of(leaves[0].shape[0])
    bounds = [0, *itertools.accumulate(sizes)]
    with device(_HOST):
        cut = [[leaf[a:b] for leaf in leaves] for a, b in zip(bounds, bounds[1:])]
    return sizes, [pack_like(structure, iter(part)) for part in cut]


def _devices(strategy, sizes):
    """Those that are left in the group; for what was divided before one has left, those of the replicas."""
    left = strategy.devices
    return left if len(sizes) == len(left) else strategy.replica_devices


def whole(structure):
    """The structure with the parts of divided tensors put together."""
    from ...distribute._values import map_replicas

    with device(_HOST):
        return map_replicas(lambda parts: _ops.concat([part for part in parts if part.shape[0]], 0), structure)


def _is_divided(structure):
    from ...distribute._values import map_replicas

    found = []
    map_replicas(lambda parts: found.append(parts), structure)
    return bool(found)


def _joined(parts):
    """Outputs of the replicas, one after another."""
    with device(_HOST):
        joined = [_joined_leaf(leaves) for leaves in zip(*(flatten(part) for part in parts))]
    return pack_like(parts[0], iter(joined))


def _joined_leaf(leaves):
    """One output, with the mask and the logits that losses and metrics look at."""
    joined = _ops.concat(leaves, 0)
    for kind in ("softmax", "sigmoid"):
        logits = [logits_of(leaf, kind) for leaf in leaves]
        if all(one is not None for one in logits):
            remember(joined, _ops.concat(logits, 0), kind)
    masks = [getattr(leaf, "_keras_mask", None) for leaf in leaves]
    if masks[0] is not None:
        joined._keras_mask = _ops.concat(masks, 0)
    return joined


def learn(model, data):
    """One step of the optimizer; returns x, y, y_pred and sample_weight of the whole batch."""
    strategy = model._distribute_strategy
    sizes, shards = _shards(data, strategy.sizes)
    rows = sum(sizes)
    variables = model.trainable_weights
    losses, outputs = {}, {}

    def replica(i):
        current_replica().in_step = current_replica().weighs_losses = True
        x, y, sample_weight = unpack_x_y_sample_weight(shards[i])
        with GradientTape() as tape:
            outputs[i] = model(x, training=True)
            share = model._loss_of(x, y, outputs[i], sample_weight, True)
            with device(_HOST):  # where it is added up: one kernel less for a GPU
                losses[i] = share * (sizes[i] / rows)
            scaled = model.optimizer.scale_loss(losses[i])
        if not variables:  # made by the first call of the model
            variables.extend(model.trainable_weights)
        if variables:
            model.optimizer.apply_gradients(zip(tape.gradient(scaled, variables), variables))
        return outputs[i]

    strategy.run_replicas(replica, sizes, _devices(strategy, sizes))
    with device(_HOST):
        loss = _ops.add_n([losses[i] for i in sorted(losses)])
        model._loss_tracker.update_state(loss, sample_weight=rows)
    x, y, sample_weight = unpack_x_y_sample_weight(whole(data))
    return x, y, _joined([outputs[i] for i in sorted(outputs)]), sample_weight


def infer(model, x):
    """The outputs of the model without training."""
    strategy = model._distribute_strategy
    sizes, shards = _shards(x, strategy.sizes)
    outputs, added = {}, {}

    def replica(i):
        outputs[i] = model(shards[i], training=False)
        added[i] = [list(layer._losses) for layer in model._flatten_layers()]
        return outputs[i], added[i]

    strategy.run_replicas(replica, sizes, _devices(strategy, sizes))
    _join_losses(model, [added[i] for i in sorted(added)], [sizes[i] for i in sorted(added)])
    return _joined([outputs[i] for i in sorted(outputs)])


def _join_losses(model, added, sizes):
    """What layers have added in each replica becomes what they would have added for the whole batch: a mean over its rows."""
    rows = sum(sizes)
    with device(_HOST):
        for layer, *of_all in zip(model._flatten_layers(), *added):
            layer._losses = [_ops.add_n([part * (size / rows) for part, size in zip(parts, sizes)]) for parts in zip(*of_all)]


def own_step(model, step, data):
    """`step`, written by a user, in each replica with its rows, and what is logged of all; None: what the metrics say.

    Gradients are added up when the replicas apply them; a loss of Keras is its replica's share of that of the whole batch.
    """
    sizes, results = _in_replicas(model, step, data)
    leaves_of_all = list(zip(*(flatten(result) for result in results)))
    names = results[0].keys() if isinstance(results[0], dict) else None
    if names is not None and names == model.get_metrics_result().keys() and len(results) > 1 and all(map(_in_common, leaves_of_all)):
        return None
    rows = sum(sizes)
    with device(_HOST):
        averages = [_average(leaves, sizes, rows) for leaves in leaves_of_all]
    return pack_like(results[0], iter(averages))


def predict(model, step, data):
    """The outputs of a step of prediction that a user has written."""
    return _joined(_in_replicas(model, step, data)[1])


def _in_replicas(model, step, data):
    """The rows of each replica that has any, and what `step` gives there."""
    strategy = model._distribute_strategy
    sizes, shards = _shards(data, strategy.even_sizes)
    results = {}

    def replica(i):
        current_replica().in_step = True
        results[i] = step(shards[i])
        return results[i]

    strategy.run_replicas(replica, sizes, strategy.replica_devices)
    return [sizes[i] for i in sorted(results)], [results[i] for i in sorted(results)]


def _in_common(values):
    """Whether all replicas give the same object: the result of a metric, for which they meet."""
    return all(value is values[0] for value in values)


def _average(values, sizes, rows):
    """By rows, of what the replicas log; whole numbers stay whole, as in Keras; what is no number, and what all have in common, is as it is."""
    if _in_common(values) or isinstance(values[0], str):
        return values[0]
    numbers = [_tandem.to_tensor(value) for value in values]
    if not numbers[0].dtype.is_floating:
        return _ops.floordiv(_ops.add_n(numbers), len(numbers)) if numbers[0].dtype.is_integer else numbers[0]
    return _ops.add_n([number * (size / rows) for number, size in zip(numbers, sizes)])


class Division:
    """How one fit divides its batches: by the speed of the devices at first, then by how long steps take.

    While a model is tested or predicts nothing is measured. When a device has left the group, those that are left divide what it
    had; until then one of them stands in for it.
    """

    STRETCH = _tandem.Tuner.STRETCH

    def __init__(self, model, source, measures=True):
        self._model, self._source, self._strategy = model, source, model._distribute_strategy
        # A step of one's own may average over a replica's rows: its shards are even, as in TensorFlow, and are not searched for.
        self._own = model._overrides("train_step")
        self._sizes = self._strategy.even_sizes if self._own else self._strategy.sizes
        self._tuner = None
        self._begun = not measures
        self._devices = None  # those that it has begun with
        self._divided = False  # somebody else has: nothing becomes of other shards

    def begin(self):
        """Before an epoch. At the first one its order has been drawn, as without a strategy; later a device may have left."""
        if self._begun:
            self._notice_departure()
            return
        self._begun = True
        if self._source.loop is not None:
            self._find_tuner(self._source.data, self._source.batch(0))
        self._divide()
        self._devices = self._strategy.devices

    def begin_with(self, structure, leaves):
        """Before the first batch of a pass over a dataset: what it looks like is only known now."""
        if self._devices is not None and self._tuner is None:
            self._divided = _is_divided(structure)
            self._find_tuner(structure, leaves)
            self._devices = self._strategy.devices  # one may have left while it was timed

    def _divide(self):
        """Arrays are cut before the steps; what comes from datasets is divided inside of them. One that is left needs no division."""
        if self._source.loop is not None:
            self._source.divide(self._sizes if self._own or len(self._strategy.devices) > 1 else None)

    def _find_tuner(self, structure, leaves):
        """The one of the last fit, if that was of the same kind; what it has found still holds. Else the devices are timed with this batch."""
        if not self._strategy.adapts() or self._own:
            return
        kind = (self._source.batch_size if self._source.loop is not None else None, tuple(self._strategy.devices))
        known = getattr(self._model, "_mirrored_tuner", None)
        if known is None or known[0] != kind:
            # What is computed to be timed must leave no traces: a loss of one's own may update metrics.
            measured = not self._model._overrides("compute_loss") and all(_has_rows(leaf) for leaf in leaves)
            single = self._measure(structure, leaves) if measured else None
            known = self._model._mirrored_tuner = (kind, self._strategy.tuner(self.STRETCH))
            if single is not None and known[1] is not None:
                known[1].set_single(*single)
        self._tuner = known[1]

    def _measure(self, structure, leaves):
        """Divides by how fast each device takes rows through the model; gives the seconds of the fastest one, and its name. One that
        fails leaves the group."""
        data = whole(pack_like(structure, iter(leaves)))
        leaves = flatten(data)
        data = unpack_x_y_sample_weight(data)

        def timed(_):
            return {name: _seconds(_gradients(self._model, *data), leaves, name) for name in self._strategy.devices}

        before = self._strategy.devices
        seconds = self._strategy.attempts(timed, [])
        if self._strategy.devices != before:
            self._model._retrace()
        self._strategy.take_seconds(list(seconds.values()), leaves[0].shape[0])
        return min((s, name) for name, s in seconds.items())

    def note(self, steps, seconds):
        """Takes how long some steps were; True when batches are divided in another way from now on."""
        if self._notice_departure():
            return True
        if self._tuner is None:
            return False
        if self._tuner.note(steps, seconds):
            self._divide()
            if self._source.loop is None and not self._divided:
                self._model._retrace()
            return True
        self._strategy.tell_slower(self._tuner.slower_together())
        return False

    @property
    def searches(self):
        """Whether single steps are being timed: then each is waited for."""
        return self._tuner is not None and not self._tuner.settled

    def _notice_departure(self):
        """Whether a device has left since this was last asked: then batches are divided among the others."""
        if self._devices in (None, self._strategy.devices):
            return False
        self._devices = self._strategy.devices
        self._tuner = self._model._mirrored_tuner = None  # the next fit measures again
        if self._own:
            return False  # as many replicas as ever
        self._model._retrace()
        self._divide()
        return True


def _has_rows(leaf):
    return isinstance(leaf, _tandem.Tensor) and leaf.ndim > 0 and leaf.dtype.name != "string"


def _gradients(model, x, y, sample_weight):
    """A function of the leaves of a batch that computes what a replica computes, and keeps nothing of it."""
    structure = (x, y, sample_weight)

    def compute(*leaves):
        given = iter(leaves)
        x, y, weights = (None if part is None else pack_like(part, given) for part in structure)
        with GradientTape() as tape:
            loss = model._loss_of(x, y, model(x, training=False), weights, False)
        variables = model.trainable_weights
        return [dense(g) for g in tape.gradient(loss, variables) if g is not None] or [loss]

    return Function(compute, name=f"{model.name} speed")


def _seconds(function, leaves, name, rounds=4):
    """The best of some runs; the first traces and copies variables."""
    best = float("inf")
    with device(name):
        for i in range(rounds):
            begin = time.perf_counter()
            function(*leaves)
            _tandem.sync_devices()
            if i:
                best = min(best, time.perf_counter() - begin)
    return best
