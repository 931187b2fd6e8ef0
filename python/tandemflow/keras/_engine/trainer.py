"""compile, fit, evaluate and predict: what makes a model of layers."""
import contextlib
import inspect
import warnings

from ... import _tandem
from ..._function import Function
from ..._gradient import GradientTape, flatten, pack_like
from ..._replica import current as current_replica
from ..._replica import mean_of, share_of
from ..._specs import TensorSpec
from ..config import limited
from . import mirrored
from .compiled import CompiledLoss, CompiledMetrics, total_of
from .converted import converted
from .data_sources import make_source, pack_x_y_sample_weight, split, to_arrays, unpack_x_y_sample_weight
from .keras_tensor import map_leaves
from .mirrored import current_strategy
from .steps import Collector, Loop, StepFunction
from .tracking import held, unique


class Trainer:
    """The part of a model that learns."""

    def __init__(self):
        self.optimizer = None
        self.loss = None
        self.compiled = False
        self.stop_training = False
        self.run_eagerly = False
        self.steps_per_execution = 1
        self.jit_compile = False
        self.history = None
        self._compiled_loss = self._compiled_metrics = self._loss_tracker = None
        self._compile_arguments = None
        self._distribute_strategy = current_strategy()
        self._forget_functions()

    # --- compile ---

    def compile(self, optimizer="rmsprop", loss=None, loss_weights=None, metrics=None, weighted_metrics=None,
                run_eagerly=False, steps_per_execution=1, jit_compile="auto", auto_scale_loss=True, **kwargs):  # fmt: skip
        """Says how to train: strings, configurations or objects, as in Keras."""
        from .. import losses, optimizers
        from ..metrics import Mean

        if kwargs:
            raise TypeError(f"compile() got unexpected keyword arguments: {', '.join(kwargs)}")
        self._check_super_called()
        self.optimizer = self._scaled(optimizers.get(optimizer), auto_scale_loss)
        for entry in flatten(loss) if loss is not None else []:
            losses.get(entry)  # unknown names are told here, not at the first step
        if loss is not None:  # else that of the compile before stays, as in Keras; so do the metrics
            self.loss, self._compiled_loss = loss, CompiledLoss(loss, loss_weights)
        self._check_metric_names(metrics, weighted_metrics)
        if metrics is not None or weighted_metrics is not None:
            self._compiled_metrics = CompiledMetrics(self, metrics, weighted_metrics)
        self._loss_tracker = Mean(name="loss")
        self.run_eagerly, self.steps_per_execution = run_eagerly, steps_per_execution
        self.jit_compile = jit_compile is True and not run_eagerly  # a step is compiled without being told
        self._compile_arguments = {
            "optimizer": self.optimizer, "loss": loss, "loss_weights": loss_weights, "metrics": metrics,
            "weighted_metrics": weighted_metrics, "run_eagerly": run_eagerly, "steps_per_execution": steps_per_execution,
            "jit_compile": False,
        }  # fmt: skip
        self.stop_training = False
        self.compiled = True
        self._distribute_strategy = self._checked_strategy(current_strategy())
        self._forget_functions()

    def _checked_strategy(self, strategy):
        """The strategy of the scope; a model with variables must have been made in it, as TensorFlow wants it."""
        if strategy is None or strategy is self._distribute_strategy:
            return self._distribute_strategy
        if self.built and self.variables:
            raise ValueError(
                f"Variable ({self.variables[0].name}) was not created in the distribution strategy scope of ({strategy}). It is "
                "most likely because some layers, model, or optimizer was being created outside the distribution strategy "
                "scope. Try to make sure your code looks similar to the following.\nwith strategy.scope():\n  "
                "model=_create_model()\n  model.compile(...)"
            )
        return strategy

    def _scaled(self, optimizer, auto_scale_loss):
        if auto_scale_loss and self.dtype_policy.name == "mixed_float16" and optimizer is not None:
            from ..optimizers import LossScaleOptimizer

            if not isinstance(optimizer, LossScaleOptimizer):
                optimizer = LossScaleOptimizer(optimizer, name="loss_scale_optimizer")
        return optimizer

    def _check_metric_names(self, *given):
        from .. import metrics

        for entry in flatten([g for g in given if g is not None]):
            if isinstance(entry, str) and entry not in ("accuracy", "acc", "crossentropy", "ce"):
                metrics.family.find(entry)

    def _forget_functions(self):
        self.train_function = self.test_function = self.predict_function = None

    def _assert_compiled(self, method):
        if not self.compiled:
            raise ValueError(
                f"You must call `compile()` before using the model. `{method}()` needs it: model.compile(optimizer='adam', loss='mse')."
            )

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The loss of a batch: that of compile, and what layers added."""
        parts = []
        if self._compiled_loss is not None and y is not None:
            parts.append(self._compiled_loss(self, y, y_pred, sample_weight))
        parts += [share_of(loss) for loss in self.losses]
        parts = [part for part in parts if part is not None]
        if not parts:
            raise ValueError(
                "No loss to compute. Provide a `loss` argument in `compile()`, or call `add_loss` in a layer"
                + (", and give targets y." if self._compiled_loss is not None else ".")
            )
        return parts[0] if len(parts) == 1 and not _tandem.to_tensor(parts[0]).ndim else total_of(parts)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """Updates the metrics and returns all results by name."""
        self._update_metrics(y, y_pred, sample_weight)
        return self.get_metrics_result()

    def _update_metrics(self, y, y_pred, sample_weight):
        if self._compiled_metrics is not None and y is not None:
            self._compiled_metrics.update_state(y, y_pred, sample_weight)

    # --- Metrics ---

    @property
    def metrics(self):
        """The loss, the metrics of compile, the losses of outputs, and what the model and its layers hold, as Keras orders them."""
        out = [self._loss_tracker] if self._loss_tracker is not None else []
        if self._compiled_metrics is not None:
            out.append(self._compiled_metrics)
        if self._compiled_loss is not None:
            out += self._compiled_loss.trackers
        return unique(out + self._own_metrics())

    def _own_metrics(self):
        """What the model and its layers hold; a model within has a training of its own, and keeps its metrics."""
        from ..metrics import Metric

        owners = [self] + [layer for layer in self._flatten_layers() if not isinstance(layer, Trainer)]
        return [m for owner in owners for m in held(owner, Metric, skip=("_loss_tracker", "_init_arguments", "_compile_arguments"))]

    @property
    def metrics_names(self):
        return [metric.name for metric in self.metrics]

    def reset_metrics(self):
        for metric in self.metrics:
            metric.reset_state()

    def get_metrics_result(self):
        """All metrics by name: tensors."""
        strategy = self._distribute_strategy
        with strategy.at_home() if strategy is not None else contextlib.nullcontext():
            return _by_name({metric.name: metric.result() for metric in self.metrics})

    # --- Steps; users may override them ---

    def train_step(self, data):
        """One step of training; returns what is logged."""
        x, y, y_pred, sample_weight = self._learn(data)
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def _learn(self, data):
        if self._replicas() > 1:
            return mirrored.learn(self, data)
        x, y, sample_weight = unpack_x_y_sample_weight(self._undivided(data))
        with GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self._observed_loss(x, y, y_pred, sample_weight, True)
            scaled = self.optimizer.scale_loss(loss) if self.optimizer is not None else loss
        variables = self.trainable_weights
        if variables:
            self.optimizer.apply_gradients(zip(tape.gradient(scaled, variables), variables))
        else:
            warnings.warn("The model does not have any trainable weights.", stacklevel=2)
        return x, y, y_pred, sample_weight

    def _loss_of(self, x, y, y_pred, sample_weight, training):
        """compute_loss, which users write with and without an argument `training`."""
        takes = inspect.signature(self.compute_loss).parameters
        told = "training" in takes or any(p.kind is p.VAR_KEYWORD for p in takes.values())
        return self.compute_loss(x, y, y_pred, sample_weight, **({"training": training} if told else {}))

    def _observed_loss(self, x, y, y_pred, sample_weight, training):
        loss = self._loss_of(x, y, y_pred, sample_weight, training)
        self._loss_tracker.update_state(mean_of(loss), sample_weight=flatten(x)[0].shape[0])
        return loss

    def test_step(self, data):
        y_pred = self._infer(unpack_x_y_sample_weight(data)[0])
        x, y, sample_weight = unpack_x_y_sample_weight(self._undivided(data))
        self._observed_loss(x, y, y_pred, sample_weight, False)
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def predict_step(self, data):
        x, _, _ = unpack_x_y_sample_weight(data)
        return self._infer(x)

    def _infer(self, x):
        return mirrored.infer(self, x) if self._replicas() > 1 else self(self._undivided(x), training=False)

    def _replicas(self):
        """How many devices a batch is for; inside of a replica it is for that one."""
        strategy = self._distribute_strategy
        return 1 if strategy is None or current_replica() is not None else len(strategy.devices)

    def _undivided(self, data):
        """The whole batch, also where a distributed dataset has divided it."""
        return mirrored.whole(data) if self._own_replicas() > 1 else data

    def _own_replicas(self):
        """In how many replicas a step that users have written runs: as many as ever, also when a device has left."""
        strategy = self._distribute_strategy
        return 1 if strategy is None or current_replica() is not None else strategy.num_replicas_in_sync

    def _division(self, source, measures=True):
        return mirrored.Division(self, source, measures) if self._replicas() > 1 else None

    @property
    def distribute_strategy(self):
        """The strategy in whose scope the model was made or compiled."""
        from ...distribute import get_strategy

        return self._distribute_strategy or get_strategy()

    def _overrides(self, *names):
        return any(getattr(type(self), name) is not getattr(Trainer, name) for name in names)

    def _train_body(self, data):
        """Where nobody has changed the step, results are read from the metrics when they are shown, not at every step."""
        if self._overrides("train_step", "compute_metrics", "get_metrics_result"):
            return self._own_step(self.train_step, data)
        x, y, y_pred, sample_weight = self._learn(data)
        self._update_metrics(y, y_pred, sample_weight)
        return None

    def _test_body(self, data):
        if self._overrides("test_step", "compute_metrics", "get_metrics_result"):
            return self._own_step(self.test_step, data)
        y_pred = self._infer(unpack_x_y_sample_weight(data)[0])
        x, y, sample_weight = unpack_x_y_sample_weight(self._undivided(data))
        if self._compiled_loss is not None or self.losses or self._overrides("compute_loss"):
            self._observed_loss(x, y, y_pred, sample_weight, False)
        self._update_metrics(y, y_pred, sample_weight)
        return None

    def _predict_body(self, data):
        step = converted(self.predict_step)
        if self._overrides("predict_step") and self._own_replicas() > 1:
            return mirrored.predict(self, step, data)
        return step(data)

    def _own_step(self, step, data):
        """A step that users may have written: once, or once in each replica. None where it gives what the metrics say."""
        if self._own_replicas() == 1:
            return converted(step)(data)
        return mirrored.own_step(self, converted(step), data)

    def _on_device(self, body):
        """The body on the device of a strategy that has one only."""

        def on_device(data):
            strategy = self._distribute_strategy
            if strategy is None or len(strategy.devices) > 1:
                return body(data)
            with strategy.on_device():
                return body(data)

        return on_device

    def _retrace(self):
        """Steps are traced anew: the replicas are other ones."""
        for function in (self.train_function, self.test_function, self.predict_function):
            if function is not None:
                function.forget()

    def make_train_function(self, force=False):
        if self.train_function is None or force:
            self.train_function = StepFunction(self._on_device(self._train_body), f"{self.name} train step", self.run_eagerly)
        return self.train_function

    def make_test_function(self, force=False):
        if self.test_function is None or force:
            self.test_function = StepFunction(self._on_device(self._test_body), f"{self.name} test step", self.run_eagerly)
        return self.test_function

    def make_predict_function(self, force=False):
        if self.predict_function is None or force:
            self.predict_function = StepFunction(self._on_device(self._predict_body), f"{self.name} predict step", self.run_eagerly)
        return self.predict_function

    def _step_to_explain(self):
        """For tf.explain(model): the step that fit ran last, or a call; with arguments or specs of them."""
        if self.train_function is not None and self.train_function.last is not None:
            return self.train_function.last
        if not self.inputs:
            raise ValueError(f"explain: model '{self.name}' has neither been fitted nor does it know its input shape; pass an input: tf.explain(model, x)")
        specs = [TensorSpec([32 if size is None else size for size in t.shape], t.dtype) for t in self.inputs]
        structure = self.input
        return Function(lambda *leaves: self(pack_like(structure, iter(leaves))), name=self.name), specs

    def _logs(self, results):
        """Python numbers by name: of what a step returned, or of the metrics. Dicts in it stay, as callbacks order by them."""
        values = self.get_metrics_result() if results is None else results
        if not isinstance(values, dict):
            raise ValueError(f"train_step and test_step must return a dict of what is logged, got {values!r}")
        return {name: _numbers(value) for name, value in sorted(values.items())}

    # --- fit, evaluate, predict ---

    def fit(self, x=None, y=None, batch_size=None, epochs=1, verbose="auto", callbacks=None, validation_split=0.0,
            validation_data=None, shuffle=True, class_weight=None, sample_weight=None, initial_epoch=0,
            steps_per_epoch=None, validation_steps=None, validation_batch_size=None, validation_freq=1):  # fmt: skip
        """Trains on arrays, a dataset, a generator or a PyDataset; returns the History."""
        self._assert_compiled("fit")
        epochs, steps_per_epoch = limited("max_epochs", epochs), limited("max_steps_per_epoch", steps_per_epoch)
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = split(x, y, sample_weight, validation_split)
        source = self._source(x, y, sample_weight, batch_size, steps_per_epoch, shuffle, class_weight, "fit")
        validation = self._validation_source(validation_data, validation_batch_size or batch_size, validation_steps)
        self.stop_training = False
        self.make_train_function()
        division = self._division(source)
        total = steps_per_epoch or source.steps
        callbacks = self._callback_list(callbacks, verbose, epochs, total, history=True)
        self._initial_epoch = initial_epoch
        callbacks.on_train_begin()  # BackupAndRestore may set where to begin
        logs = {}
        for epoch in range(self._initial_epoch, epochs):
            self.reset_metrics()
            callbacks.on_epoch_begin(epoch)
            loop = Loop(self.train_function, source, callbacks, "train", self._logs, lambda: self.stop_training, steps_per_epoch,
                        division=division, at_once=self._at_once())  # fmt: skip
            done = loop.run()
            if done == 0:
                self._no_batches(epoch)
                break
            source.end_epoch()
            logs = self._logs(loop.results)
            if validation is not None and _is_due(epoch + 1, validation_freq):
                validated = _by_name(self._evaluate(validation, callbacks, validation_steps))
                logs.update({f"val_{name}": value for name, value in validated.items()})
            callbacks.on_epoch_end(epoch, dict(logs))
            if self.stop_training:
                break
            if steps_per_epoch and done < steps_per_epoch:
                warnings.warn("Your input ran out of data; interrupting training. Make sure that your dataset or generator "
                              "can generate at least `steps_per_epoch * epochs` batches. You may need to use the "
                              "`.repeat()` function when building your dataset.", stacklevel=2)  # fmt: skip
                if not source.restarts:
                    break
        if self.optimizer is not None and epochs > 0:
            self.optimizer.finalize_variable_values(self.trainable_weights)
        callbacks.on_train_end(dict(logs))
        return self.history

    def _at_once(self):
        """How many steps callbacks are told of together."""
        return self.steps_per_execution if isinstance(self.steps_per_execution, int) else 1

    def _source(self, x, y, sample_weight, batch_size, steps, shuffle, class_weight, who):
        if self._distribute_strategy is not None:
            self._distribute_strategy.check_scope()
        return make_source(x, y, sample_weight, batch_size, steps, shuffle, class_weight, who)

    def _validation_source(self, data, batch_size, steps):
        if data is None:
            return None
        x, y, sample_weight = unpack_x_y_sample_weight(data) if isinstance(data, (tuple, list)) else (data, None, None)
        return self._source(x, y, sample_weight, batch_size, steps, False, None, "validation_data")

    def _no_batches(self, epoch):
        raise ValueError(
            "fit: the data gave no batches" + ("" if epoch == 0 else f" in epoch {epoch + 1}; a generator gives one pass only")
        )

    def _callback_list(self, callbacks, verbose, epochs, steps, history=False):
        from ..callbacks import CallbackList

        if isinstance(callbacks, CallbackList):
            return callbacks
        verbose = 1 if verbose == "auto" else int(verbose)
        return CallbackList(callbacks, add_history=history, add_progbar=verbose != 0, verbose=verbose, epochs=epochs,
                            steps=steps, model=self)  # fmt: skip

    def _evaluate(self, source, callbacks, steps):
        """The metrics over the source; callbacks see the batches of testing."""
        steps = limited("max_steps_per_epoch", steps)
        self.make_test_function()
        callbacks.on_test_begin()
        self.reset_metrics()
        loop = Loop(self.test_function, source, callbacks, "test", self._logs, lambda: self.stop_evaluating, steps,
                    division=self._division(source, measures=False), at_once=self._at_once())  # fmt: skip
        self.stop_evaluating = False
        done = loop.run()
        if done == 0:
            raise ValueError("evaluate: the data gave no batches")
        source.end_epoch()
        logs = self._logs(loop.results)
        callbacks.on_test_end(logs)
        return logs

    def evaluate(self, x=None, y=None, batch_size=None, verbose="auto", sample_weight=None, steps=None, callbacks=None,
                 return_dict=False, **kwargs):  # fmt: skip
        """The loss and the metrics over data: a number, a list, or a dict."""
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        self._assert_compiled("evaluate")
        source = self._source(x, y, sample_weight, batch_size, steps, False, None, "evaluate")
        callbacks = self._callback_list(callbacks, verbose, 1, steps or source.steps)
        logs = _by_name(self._evaluate(source, callbacks, steps))
        if return_dict:
            return logs
        return _flat(self._in_metric_order(logs))

    def _in_metric_order(self, logs):
        """As Keras lists them: by the names of the metrics, then the others by name; those of one output among several are others."""
        if len(logs) == 1:
            return list(logs.values())
        names = [name for metric in self.metrics for name in getattr(metric, "listed_names", [metric.name]) if name in logs]
        return [logs[name] for name in names + sorted(name for name in logs if name not in names)]

    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        """The outputs of the model for all of x, as NumPy arrays."""
        steps = limited("max_steps_per_epoch", steps)
        source = self._source(x, None, None, batch_size, steps, False, None, "predict")
        self.make_predict_function()
        callbacks = self._callback_list(callbacks, verbose, 1, steps or source.steps)
        callbacks.on_predict_begin()
        collector = Collector()
        self.stop_predicting = False
        loop = Loop(self.predict_function, source, callbacks, "predict", lambda results: {"outputs": results},
                    lambda: self.stop_predicting, steps, collector, self._division(source, measures=False), self._at_once())  # fmt: skip
        loop.run()
        source.end_epoch()
        callbacks.on_predict_end()
        return collector.result()

    # --- One batch ---

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, return_dict=False):
        self._assert_compiled("train_on_batch")
        if class_weight is not None:
            from .data_sources import class_weights

            sample_weight = class_weights(class_weight, y, sample_weight)
        return self._on_batch(self.make_train_function(), x, y, sample_weight, return_dict)

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        self._assert_compiled("test_on_batch")
        return self._on_batch(self.make_test_function(), x, y, sample_weight, return_dict)

    def _on_batch(self, function, x, y, sample_weight, return_dict):
        arrays = (to_arrays(x, "x"), to_arrays(y, "y"), to_arrays(sample_weight, "sample_weight"))
        data = pack_x_y_sample_weight(*arrays)
        leaves = flatten(data)
        self.reset_metrics()
        logs = _by_name(self._logs(function.for_structure(data, leaves)(*leaves)))
        return logs if return_dict else _flat(self._in_metric_order(logs))

    def predict_on_batch(self, x):
        data = to_arrays(x, "x")
        leaves = flatten(data)
        outputs = self.make_predict_function().for_structure((data,), leaves)(*leaves)
        return map_leaves(lambda leaf: leaf.numpy().copy(), outputs)

    # --- Configuration ---

    def get_compile_config(self):
        """What was told to compile, as files hold it."""
        from .registry import serialize_keras_object

        if self.compiled and self._compile_arguments is not None:
            return serialize_keras_object(self._compile_arguments)
        return None

    def compile_from_config(self, config):
        from .registry import deserialize_keras_object

        config = dict(config)
        known = ("optimizer", "loss", "loss_weights", "metrics", "weighted_metrics", "run_eagerly", "steps_per_execution",
                 "jit_compile", "auto_scale_loss")  # fmt: skip
        arguments = {key: deserialize_keras_object(config[key]) for key in known if config.get(key) is not None}
        self.compile(**arguments)
        if self.optimizer is not None and self.built:
            self.optimizer.build(self.trainable_variables)


def _is_due(epoch, frequency):
    return epoch % frequency == 0 if isinstance(frequency, int) else epoch in frequency


def _by_name(results):
    """Results of metrics; a metric whose result is a dict stands for its entries."""
    out = {}
    for name, value in results.items():
        out.update(dict(sorted(value.items())) if isinstance(value, dict) else {name: value})
    return out


def _numbers(value):
    return {name: _numbers(item) for name, item in value.items()} if isinstance(value, dict) else _number(value)


def _number(value):
    if hasattr(value, "numpy"):
        value = value.numpy()
    if hasattr(value, "ndim"):
        return float(value) if value.ndim == 0 else value
    return float(value)


def _flat(values):
    return values[0] if len(values) == 1 else values
