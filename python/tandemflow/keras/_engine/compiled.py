"""What compile() was told, ready for use: one loss over all outputs, the metrics of each."""
import weakref

from ... import _ops, _tandem
from ..._gradient import flatten
from ..._replica import in_sum, mean_of, part_of_batch
from .lifted import lifted


def _by_output(given, names, what, default=None):
    """One entry an output: from a list by place, from a dict by name, the same for all if it is single."""
    if isinstance(given, dict):
        unknown = [key for key in given if key not in names]
        if unknown:
            raise ValueError(
                f"In the dict argument `{what}`, key '{unknown[0]}' does not correspond to any model output. Received: "
                f"{what}={given}; the outputs are {names}"
            )
        return [given.get(name, default) for name in names]
    if isinstance(given, (list, tuple)):
        if len(given) != len(names):
            raise ValueError(
                f"For a model with {len(names)} outputs, `{what}` must have as many entries. Received {len(given)}: {given}"
            )
        return list(given)
    return [given] * len(names)


def output_names(model, y_pred):
    """How the outputs are called: dict keys, names of layers, or output_0, …"""
    if isinstance(y_pred, dict):
        return sorted(y_pred)
    count = len(flatten(y_pred))
    names = model.output_names
    if names and len(names) == count and len(set(names)) == count:
        return list(names)
    return [f"output_{i}" for i in range(count)] if count > 1 else [names[0] if names else "output"]


def leaves_for(y, y_pred, names):
    """Targets (or weights), one for each output."""
    if isinstance(y, dict):
        keyed = set(y)
        missing = [name for name in names if name not in keyed]
        if missing and isinstance(y_pred, dict):
            return [y.get(name) for name in names]
        if missing:
            raise ValueError(f"Missing target for output '{missing[0]}'; the targets given are {sorted(keyed)}")
        return [y[name] for name in names]
    leaves = flatten(y)
    if len(names) == 1 and len(leaves) > 1 and isinstance(y, (list, tuple)):
        return [y]
    return leaves


class CompiledLoss:
    """The weighted sum of the losses of all outputs."""

    def __init__(self, loss, loss_weights=None):
        self.loss, self.weights = loss, loss_weights
        self.parts = None  # [(output name, loss object, weight)]
        self.trackers = []

    def _build(self, model, y_pred):
        from .. import losses, metrics

        names = output_names(model, y_pred)
        given = _by_output(self.loss, names, "loss")
        weights = _by_output(self.weights, names, "loss_weights") if isinstance(self.weights, (dict, list, tuple)) else [self.weights] * len(names)
        self.names = names
        self.parts = [(name, as_loss(loss, losses), weight) for name, loss, weight in zip(names, given, weights)]
        with_loss = [name for name, loss, _ in self.parts if loss is not None]
        if len(with_loss) > 1:
            with lifted():
                self._tracker_of = {name: metrics.Mean(name=f"{name}_loss") for name in with_loss}
            by_loss = isinstance(y_pred, dict) and isinstance(self.loss, dict)  # then listed as the losses are
            self.trackers = [self._tracker_of[name] for name in (self.loss if by_loss else with_loss) if name in self._tracker_of]

    def __call__(self, model, y, y_pred, sample_weight):
        if self.parts is None:
            self._build(model, y_pred)
        predictions = flatten(y_pred)
        targets = self._one_an_output(leaves_for(y, y_pred, self.names), len(predictions))
        sample_weights = _weights_for(sample_weight, self.names)
        total = None
        for (name, loss, weight), target, prediction, samples in zip(self.parts, targets, predictions, sample_weights):
            if loss is None:
                continue
            _check_shapes(loss, target, prediction, name)
            value = loss(target, prediction, sample_weight=samples)
            if self.trackers:
                counts = _rows(prediction) if model.run_eagerly else part_of_batch()
                self._tracker_of[name].update_state(mean_of(value), sample_weight=counts)
            if weight is not None:
                value = value * weight
            total = value if total is None else total + value
        return total

    def _one_an_output(self, targets, count):
        """Targets may be given for all outputs, or for those with a loss."""
        with_loss = [loss is not None for _, loss, _ in self.parts]
        if len(targets) != count and len(targets) == sum(with_loss):
            left = iter(targets)
            targets = [next(left) if has_loss else None for has_loss in with_loss]
        if len(targets) != count:
            raise ValueError(f"The model has {count} outputs ({', '.join(self.names)}), but {len(targets)} targets were given")
        return targets


def _rows(tensor):
    """By which Keras weighs the loss of one output; in a traced step it does not know them, and all batches count alike."""
    return tensor.shape[0] if tensor.ndim else None


def _check_shapes(loss, target, prediction, name):
    rows = target.shape[0] if target is not None and target.ndim else None
    if rows is not None and prediction.ndim and rows != prediction.shape[0]:
        raise ValueError(
            f"The targets of output '{name}' have {rows} rows, the predictions {prediction.shape[0]}: "
            f"shapes {tuple(target.shape)} and {tuple(prediction.shape)}"
        )


def _weights_for(sample_weight, names):
    if isinstance(sample_weight, dict):
        return [sample_weight.get(name) for name in names]
    if isinstance(sample_weight, (list, tuple)):
        return list(sample_weight)
    return [sample_weight] * len(names)


def as_loss(loss, losses):
    """A Loss object for a string, a function, a class or an object."""
    if loss is None or isinstance(loss, losses.Loss):
        return loss
    loss = losses.get(loss)
    if isinstance(loss, losses.Loss):
        return loss
    return losses.LossFunctionWrapper(loss, name=getattr(loss, "__name__", type(loss).__name__))


class CompiledMetrics:
    """The metrics of all outputs, as one metric; strings become objects when the shapes are known."""

    name = "compile_metrics"

    def __init__(self, model, metrics, weighted_metrics):
        self._model = weakref.ref(model)
        for name, given in (("metrics", metrics), ("weighted_metrics", weighted_metrics)):
            if given and not isinstance(given, (list, tuple, dict)):
                raise ValueError(f"Expected `{name}` argument to be a list, tuple, or dict. Received instead: {name}={given} of type {type(given)}")
        self.given, self.weighted_given = metrics, weighted_metrics
        self.parts = None  # [(output name, shown name, metric, is weighted)]

    @property
    def metrics(self):
        return [metric for _, _, metric, _ in self.parts or []]

    @property
    def listed_names(self):
        """By which evaluate orders its list; the names of several outputs' metrics are found without the output's."""
        return [shown if len(self.names) == 1 else metric.name for _, shown, metric, _ in self.parts or []]

    @property
    def variables(self):
        return [variable for metric in self.metrics for variable in metric.variables]

    def reset_state(self):
        for metric in self.metrics:
            metric.reset_state()

    def __repr__(self):
        return f"<CompileMetrics name={self.name}>"

    def _build(self, y, y_pred):
        self.names = output_names(self._model(), y_pred)
        targets, predictions = leaves_for(y, y_pred, self.names), flatten(y_pred)
        self.parts = []
        with lifted():
            for given, weighted in ((self.given, False), (self.weighted_given, True)):
                for name, entries, target, prediction in zip(self.names, self._lists(given), targets, predictions):
                    for entry in entries:
                        self._add(name, entry, target, prediction, weighted)

    def _lists(self, given):
        """A list of metrics for each output."""
        if given is None:
            return [[] for _ in self.names]
        if len(self.names) == 1:  # whatever holds them, all are for the one output
            return [[entry for entry in flatten(given) if entry is not None]]
        if isinstance(given, dict):
            entries = _by_output(given, self.names, "metrics", [])
        elif isinstance(given, (list, tuple)) and len(given) == len(self.names) and any(isinstance(e, (list, tuple)) for e in given):
            entries = given
        elif isinstance(given, (list, tuple)) and len(given) == len(self.names):
            entries = given
        else:
            raise ValueError(
                f"For a model with {len(self.names)} outputs, `metrics` must be a list with an entry for each of them, or a "
                f"dict by output name ({', '.join(self.names)}). Received: {given}"
            )
        return [list(e) if isinstance(e, (list, tuple)) else [] if e is None else [e] for e in entries]

    def _add(self, output, entry, target, prediction, weighted):
        from .. import metrics

        metric = metrics.resolve(entry, target, prediction)
        if metric is None:
            return
        shown = entry if isinstance(entry, str) and entry in ("accuracy", "acc", "crossentropy", "ce") else metric.name
        if len(self.names) > 1:
            shown = f"{output}_{shown}"
        self.parts.append((output, shown, metric, weighted))

    def update_state(self, y, y_pred, sample_weight=None):
        if self.parts is None:
            self._build(y, y_pred)
        targets = dict(zip(self.names, leaves_for(y, y_pred, self.names)))
        predictions = dict(zip(self.names, flatten(y_pred)))
        weights = dict(zip(self.names, _weights_for(sample_weight, self.names)))
        for output, _, metric, weighted in self.parts:
            if targets.get(output) is None:
                continue
            metric.update_state(targets[output], predictions[output], sample_weight=weights[output] if weighted else None)

    def result(self):
        """Values by shown name; a second metric of the same name is "weighted_…" if it is, or has a number."""
        out = {}
        for output, shown, metric, weighted in self.parts or []:
            value = metric.result()
            if isinstance(value, dict):
                out.update(value)
                continue
            if weighted and shown in out:
                prefix = f"{output}_" if len(self.names) > 1 else ""
                shown = f"{prefix}weighted_{shown.removeprefix(prefix)}"
            name, number = shown, 0
            while name in out:
                number += 1
                name = f"{shown}_{number}"
            out[name] = value
        return out


def total_of(losses):
    """The sum of scalars; what is no scalar is summed first."""
    total = None
    for loss in losses:
        loss = _tandem.to_tensor(loss)
        loss = in_sum(_ops.reduce_sum(loss)) if loss.ndim else loss
        total = loss if total is None else total + _ops.cast(loss, total.dtype)
    return total
