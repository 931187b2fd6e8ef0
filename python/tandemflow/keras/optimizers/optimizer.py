"""The base of all optimizers: state, learning rate, and what happens to gradients before and after the step."""
import contextlib
import re
import warnings

from ... import _deferred, _ops, _tandem
from ..._device import device
from ..._function import Function
from ..._gradient import GradientTape, dense
from ..._ops import records
from ..._replica import current as current_replica
from ..._replica import update_device
from .._engine.call_context import building
from .._engine.naming import snake_case, unique_name
from .._engine.registry import deserialize_keras_object, serialize_keras_object
from .._engine.stateless import read, values_in
from . import rows
from .clipping import clip_factors
from .pace import Paced


_OF_KERAS_2 = ("jit_compile", "is_legacy_optimizer", "decay")  # what its files say of optimizers, without effect here


class Optimizer(Paced):
    """Subclasses write build(variables), which makes their state, and update_step(gradient, variable, learning_rate).

    class Descent(keras.optimizers.Optimizer):
        def update_step(self, gradient, variable, learning_rate):
            variable.assign_sub(gradient * learning_rate)
    """

    _keras_module = "keras.optimizers"
    _row_measure = None  # "square" or "abs": what the step makes of a gradient besides adding it up (rows.py)

    def __init__(
        self,
        learning_rate,
        weight_decay=None,
        clipnorm=None,
        clipvalue=None,
        global_clipnorm=None,
        use_ema=False,
        ema_momentum=0.99,
        ema_overwrite_frequency=None,
        loss_scale_factor=None,
        gradient_accumulation_steps=None,
        name=None,
        **kwargs,
    ):
        if kwargs.pop("decay", None) is not None:
            warnings.warn("Argument `decay` is no longer supported and will be ignored.", stacklevel=3)
        if kwargs:
            hint = "; the learning rate is called `learning_rate`" if "lr" in kwargs else ""
            raise ValueError(f"Argument(s) not recognized: {kwargs}{hint}")
        self.name = name or unique_name(snake_case(type(self).__name__))
        self.weight_decay = weight_decay
        self.clipnorm, self.clipvalue, self.global_clipnorm = clipnorm, clipvalue, global_clipnorm
        self.use_ema, self.ema_momentum = use_ema, ema_momentum
        self.ema_overwrite_frequency = ema_overwrite_frequency
        self.loss_scale_factor = loss_scale_factor
        self.gradient_accumulation_steps = gradient_accumulation_steps
        self._check_options()
        self.built = False
        self._excluded, self._excluded_pattern = set(), None
        self._scalars = {}  # numbers that all variables of one step share
        self._measured = {}  # by id of a variable whose gradient is made of rows: what rows.measured says of it
        super().__init__(learning_rate)

    def _check_options(self):
        clips = {name: getattr(self, name) for name in ("clipnorm", "clipvalue", "global_clipnorm")}
        if sum(value is not None for value in clips.values()) > 1:
            got = ", ".join(f"{name}={value}" for name, value in clips.items())
            raise ValueError(f"Only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set. Received: {got}")
        steps = self.gradient_accumulation_steps
        if steps and not steps >= 2:
            raise ValueError(
                "`gradient_accumulation_steps` must be an integer >= 2. "
                f"Received: gradient_accumulation_steps={steps}"
            )
        if self.use_ema and not 0 <= self.ema_momentum <= 1:
            raise ValueError(f"`ema_momentum` must be in the range [0, 1]. Received: ema_momentum={self.ema_momentum}")
        often = self.ema_overwrite_frequency
        if self.use_ema and often and (not isinstance(often, int) or often < 1):
            raise ValueError(
                f"`ema_overwrite_frequency` must be an integer >= 1 or None. Received: ema_overwrite_frequency={often}"
            )

    def __setattr__(self, name, value):
        if name[0] != "_" and name not in ("learning_rate", "lr"):
            self._forget_plans()  # they hold the old value
        super().__setattr__(name, value)

    def build(self, variables):
        """Makes the state for these variables, once."""
        if self.use_ema:
            self._model_variables_moving_average = self.add_optimizer_variables(variables, "average")
        self._indices = {_tandem.variable_id(variable): i for i, variable in enumerate(variables)}
        if self.gradient_accumulation_steps:
            self._accumulated_gradients = self.add_optimizer_variables(variables, "gradient_accumulator")
        self._trainable_variables = list(variables)
        self.built = True

    # --- One step ---

    def minimize(self, loss, var_list, tape=None):
        """One step down `loss`: a function of no arguments, or a tensor that `tape` recorded."""
        if callable(loss):
            with GradientTape() as tape:
                loss = loss()
        elif tape is None:
            raise ValueError("`tape` is required when a `Tensor` loss is passed.")
        variables = var_list() if callable(var_list) else var_list
        self.apply(tape.gradient(loss, variables), variables)

    def stateless_apply(self, optimizer_variables, grads, trainable_variables):
        """What the trained variables and the optimizer's own become by one step that begins with these values."""
        self._check_built("stateless_apply")
        own, trained = self.variables, self._trainable_variables
        with values_in(own, optimizer_variables, "optimizer_variables"), values_in(trained, trainable_variables, "trainable_variables"):
            self.apply(grads, trained)
            return read(trained), read(own)

    def _check_built(self, method):
        if not self.built:
            raise ValueError(f"To call `{method}`, {type(self).__name__} must be built (i.e. its variables must have been created). You can build it via `optimizer.build(trainable_variables)`.")

    def apply_gradients(self, grads_and_vars, name=None, **kwargs):
        """One step; takes pairs of a gradient and its variable."""
        grads, variables = zip(*grads_and_vars)
        self.apply(grads, variables)
        return self._iterations

    def apply(self, grads, trainable_variables=None):
        """One step with these gradients, of these variables or of those it was built for."""
        if not self.clipnorm and not self.global_clipnorm:
            grads = rows.clipped(grads, self.clipvalue)
        measures = rows.measured(grads, self._measures)
        grads = [dense(gradient) for gradient in grads]
        replica = current_replica()
        if replica is not None:  # one step for all replicas, with the sum of their gradients
            variables = self._known(grads, trainable_variables)
            replica.apply_together(self._apply_here, grads, variables, measures)
            return
        self._apply_here(grads, trainable_variables, measures)

    def _apply_here(self, grads, trainable_variables, measures):
        """`measures`: what rows.measured says of gradients that are made of rows."""
        if trainable_variables is not None and _tandem.executing_eagerly():
            plan = self._plans.get((*map(id, trainable_variables), *measures))
            if plan is not None and len(grads) == len(trainable_variables):
                plan(*grads, *measures.values())
                return
        if not grads:
            return
        variables = self._known(grads, trainable_variables)
        keys, places = list(measures), [(id(variables[i]), measure) for i, measure in measures]
        if not self._compiles():
            self._measured = dict(zip(places, measures.values()))
            self._apply_now(grads, variables)
            return

        def step(*tensors):
            self._measured = dict(zip(places, tensors[len(grads) :]))
            self._apply_now(tensors[: len(grads)], variables)

        plan = Function(step, name="apply_gradients")
        self._plans[(*map(id, variables), *keys)] = plan
        plan(*grads, *measures.values())

    def _compiles(self):
        """Whether a step may run as a plan: what others wrote may depend on more than a trace sees."""
        if not _tandem.executing_eagerly() or not type(self).__module__.startswith(__package__):
            return False
        return not callable(self._learning_rate) or type(self._learning_rate).__module__.startswith(__package__)

    def _known(self, grads, variables):
        if variables is None:
            if not self.built:
                raise ValueError(
                    "When passing `grads` without `variables`, the optimizer must already be built on a list of "
                    "variables. Call `optimizer.build(trainable_variables)` first. "
                )
            variables = self._trainable_variables
        else:
            with building:
                if not self.built:
                    self.build(list(variables))
                    _deferred.variables_made()
        variables = list(variables)
        if len(grads) != len(variables):
            raise ValueError(
                f"Received a list of {len(grads)} gradients, but there are {len(variables)} trainable variables; each "
                "needs its gradient, or None."
            )
        for variable in variables:
            if _tandem.variable_id(variable) not in self._indices:
                raise ValueError(
                    f"Unknown variable: {variable}. This optimizer can only be called for the variables it was "
                    "originally built with. When working with a new set of variables, you should recreate a new "
                    "optimizer instance."
                )
        return variables

    def _apply_now(self, grads, variables):
        self._scalars = {}
        grads, variables = _present(grads, variables)
        if self.loss_scale_factor is not None:
            grads = [gradient / self.loss_scale_factor for gradient in grads]
            self._measured = rows.scaled(self._measured, 1 / self.loss_scale_factor)
        if self.gradient_accumulation_steps:
            self._measured = {}
            self._accumulate(grads, variables)
        else:
            self._clip_and_update(grads, variables)
        if self.use_ema:
            self._update_averages()
        for variable in variables:
            constraint = getattr(variable, "constraint", None)
            if constraint is not None:
                variable.assign(constraint(variable))
        with device("/CPU:0"):  # a counter, needed on the host
            self._iterations.assign_add(1)
        self._scalars, self._measured = {}, {}

    @property
    def _measures(self):
        """What is asked about gradients made of rows: for the formula, and for the norm or the values that they are clipped by."""
        clips = self.clipnorm or self.global_clipnorm or self.clipvalue
        return tuple(dict.fromkeys(measure for measure in (self._row_measure, "square" if clips else None) if measure))

    def _square(self, gradient, variable):
        """The squares of the gradient; of one made of rows, the sum of the squares of the rows, as in Keras."""
        found = self._measured.get((id(variable), "square"))
        return _ops.square(gradient) if found is None else found

    def _clip_and_update(self, grads, variables):
        grads = self._clipped(grads, variables)
        rate = self._once("rate", lambda: _tandem.to_tensor(self.learning_rate))
        self._apply_weight_decay(variables, rate)
        self._update_all(grads, variables, rate)

    def _update_all(self, grads, variables, learning_rate):
        for gradient, variable in zip(grads, variables):
            where = update_device(variable)
            with device(where) if where is not None else contextlib.nullcontext():
                self.update_step(gradient, variable, learning_rate)

    def update_step(self, gradient, variable, learning_rate):
        raise NotImplementedError

    def assign(self, variable, value):
        variable.assign(value)

    def assign_add(self, variable, value):
        variable.assign_add(value)

    def assign_sub(self, variable, value):
        variable.assign_sub(value)

    def _once(self, key, make):
        """A number that all variables of this step share; computed on the host."""
        if key not in self._scalars:
            with device("/CPU:0"):
                self._scalars[key] = make()
        return self._scalars[key]

    def _rate(self, learning_rate, dtype):
        return self._once(("rate", dtype.name), lambda: _ops.cast(_tandem.to_tensor(learning_rate), dtype))

    def _step(self, dtype):
        """The number of this step, from 1."""
        return self._once(("step", dtype.name), lambda: _ops.cast(self.iterations, dtype) + 1.0)

    def _clipped(self, grads, variables):
        if self.clipvalue and not self.clipnorm and not self.global_clipnorm:
            limit = self.clipvalue  # rows were clipped before they were added up
            return [g if (id(v), "square") in self._measured else _ops.clip_by_value(g, -limit, limit) for g, v in zip(grads, variables)]
        if not self.clipnorm and not self.global_clipnorm:
            return grads
        squares = [_ops.reduce_sum(self._square(g, v)) for g, v in zip(grads, variables)]
        factors = clip_factors(squares, self.clipnorm, self.global_clipnorm)
        if self.global_clipnorm and not self.clipnorm:
            self._measured = {}  # Keras adds rows up where it multiplies them by the factor of all
        for factor, variable in zip(factors, variables):
            self._measured |= rows.scaled({key: value for key, value in self._measured.items() if key[0] == id(variable)}, factor)
        return [gradient * _ops.cast(factor, gradient.dtype) for gradient, factor in zip(grads, factors)]

    def _accumulate(self, grads, variables):
        """Every n-th time a step with the mean of the last n gradients; else they are added up."""
        steps = self.gradient_accumulation_steps
        sums = [self._accumulated_gradients[self._get_variable_index(v)] for v in variables]
        totals = [gradient + total for gradient, total in zip(grads, sums)]
        due = self._once("due", lambda: _ops.equal(records["floormod"](self._iterations + 1, steps), 0))
        apart = {id(v) for v in (self._iterations, self._learning_rate, *self._accumulated_gradients, *getattr(self, "_model_variables_moving_average", ()))}
        with only_if(due, [*variables, *(v for v in self.variables if id(v) not in apart)]):
            self._clip_and_update([total / float(steps) for total in totals], variables)
        for total, variable in zip(totals, sums):
            variable.assign(_ops.where(due, _ops.zeros_like(total), total))

    # --- Weight decay ---

    def exclude_from_weight_decay(self, var_list=None, var_names=None):
        """These variables, and those whose names contain one of `var_names`, do not decay."""
        if self.built:
            raise ValueError("`exclude_from_weight_decay()` can only be configured before the optimizer is built.")
        self._excluded = {_tandem.variable_id(variable) for variable in var_list or ()}
        self._excluded_pattern = re.compile("|".join(var_names)) if var_names else None

    def _use_weight_decay(self, variable):
        if _tandem.variable_id(variable) in self._excluded:
            return False
        return not (self._excluded_pattern and self._excluded_pattern.search(variable.name))

    def _apply_weight_decay(self, variables, learning_rate):
        if self.weight_decay is None:
            return
        for variable in variables:
            if self._use_weight_decay(variable):
                variable.assign(variable - variable * self._decay(learning_rate, variable.dtype))

    def _decay(self, learning_rate, dtype):
        rate = self._rate(learning_rate, dtype)
        return self._once(("decay", dtype.name), lambda: rate * float(self.weight_decay))

    # --- Averages of the weights ---

    def _update_averages(self):
        first = _ops.equal(self.iterations, 0)
        for variable, average in zip(self._trainable_variables, self._model_variables_moving_average):
            dtype = variable.dtype
            kept = self._once(
                ("kept", dtype.name), lambda: (1.0 - _ops.cast(first, dtype)) * float(self.ema_momentum)
            )
            average.assign(kept * average + (1.0 - kept) * variable)
        if self.ema_overwrite_frequency:
            due = _ops.equal(records["floormod"](self.iterations + 1, self.ema_overwrite_frequency), 0)
            for variable, average in zip(self._trainable_variables, self._model_variables_moving_average):
                variable.assign(_ops.where(due, average, variable))

    def finalize_variable_values(self, var_list):
        """With use_ema the variables become their averages."""
        if not self.use_ema:
            return
        if len(var_list) != len(self._model_variables_moving_average):
            raise ValueError(
                f"The length of model variables ({len(var_list)}) to override does not match the length of model "
                f"variables stored in the optimizer ({len(self._model_variables_moving_average)}). Please check if the optimizer was called on "
                "your model."
            )
        for variable, average in zip(var_list, self._model_variables_moving_average):
            variable.assign(average)

    def scale_loss(self, loss):
        return loss if self.loss_scale_factor is None else loss * self.loss_scale_factor

    # --- Configuration ---

    def get_config(self):
        rate = self._learning_rate
        return {
            "name": self.name,
            "learning_rate": float(rate.numpy()) if isinstance(rate, _tandem.Variable) else serialize_keras_object(rate),
            "weight_decay": self.weight_decay,
            "clipnorm": self.clipnorm,
            "global_clipnorm": self.global_clipnorm,
            "clipvalue": self.clipvalue,
            "use_ema": self.use_ema,
            "ema_momentum": self.ema_momentum,
            "ema_overwrite_frequency": self.ema_overwrite_frequency,
            "loss_scale_factor": self.loss_scale_factor,
            "gradient_accumulation_steps": self.gradient_accumulation_steps,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = {key: value for key, value in config.items() if key not in _OF_KERAS_2}
        if isinstance(config.get("learning_rate"), dict):
            config["learning_rate"] = deserialize_keras_object(config["learning_rate"], custom_objects)
        return cls(**config)


class only_if:
    """`with only_if(condition, variables):` what is assigned to them inside counts only if the condition holds."""

    def __init__(self, condition, variables):
        self._condition, self._variables = condition, variables

    def __enter__(self):
        self._before = [variable.value() for variable in self._variables]

    def __exit__(self, kind, *_):
        if kind is None:
            for variable, before in zip(self._variables, self._before):
                variable.assign(_ops.where(self._condition, variable.value(), before))


def _present(grads, variables):
    """The pairs that have a gradient."""
    pairs = [(gradient, variable) for gradient, variable in zip(grads, variables) if gradient is not None]
    if not pairs:
        raise ValueError("No gradients provided for any variable.")
    if len(pairs) < len(variables):
        missing = [getattr(v, "path", v.name) for g, v in zip(grads, variables) if g is None]
        warnings.warn(
            f"Gradients do not exist for variables {missing} when minimizing the loss. If using `model.compile()`, did "
            "you forget to provide a `loss` argument?",
            stacklevel=2,
        )
    fitting = [g if g.dtype == v.dtype else _ops.cast(_tandem.to_tensor(g), v.dtype) for g, v in pairs]
    return fitting, [variable for _, variable in pairs]
