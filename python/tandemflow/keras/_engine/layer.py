"""What every layer is: variables made when shapes are known, a call, a configuration."""
import abc
import functools
import inspect
import warnings

import numpy as np

from ... import _deferred, _ops, _tandem
from ..._gradient import flatten
from ..._replica import current as current_replica
from .. import dtype_policies
from . import autocast, call_context, input_spec
from .arguments import CallSignature, check_positional, shape_of, shapes_of
from .call_context import CallContext
from .converted import converted
from .keras_tensor import KerasTensor, Node, keras_tensors
from .lifted import lifted
from .layer_config import Configured
from .layer_variables import HasVariables
from .naming import snake_case, unique_name
from .shape_trees import map_leaves_shapes, tensors_for
from .shapes import infer_outputs
from .stateless import read, values_in
from .tracking import held, unique

_LEGACY = ("input_shape", "batch_input_shape", "input_dim", "batch_size", "input_length", "weights")


def _plain(value):
    """Numbers of NumPy as Python's own, so that sizes may come out of computations."""
    if isinstance(value, np.generic):
        return value.item()
    if type(value) in (list, tuple):
        return type(value)(_plain(item) for item in value)
    return value


class _LayerType(abc.ABCMeta):
    """Of abc's kind, so that users may mix abstract classes in."""

    def __call__(cls, *args, **kwargs):
        return super().__call__(*map(_plain, args), **{name: _plain(value) for name, value in kwargs.items()})


class Layer(HasVariables, Configured, metaclass=_LayerType):
    """The base of all layers; subclass it with build (make the variables) and call (compute)."""

    _keras_module = "keras.layers"

    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls)
        try:  # what the default get_config gives back
            self._init_arguments = inspect.signature(cls.__init__).bind(self, *args, **kwargs).arguments
        except TypeError:
            self._init_arguments = {}  # __init__ itself will complain
        return self

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "build" in cls.__dict__:
            cls.build = _building(cls.__dict__["build"])

    def __init__(self, *, activity_regularizer=None, trainable=True, dtype=None, autocast=True, name=None, **kwargs):
        if name is not None and not isinstance(name, str):
            raise ValueError(f"All `name`s must be strings; {type(self).__name__} got name={name!r}.")
        self._legacy_arguments(kwargs)
        self.name = name or unique_name(snake_case(type(self).__name__))
        self.dtype_policy = dtype_policies.get(dtype)
        self.autocast = autocast
        self.built = False
        self.input_spec = None
        self.supports_masking = self._makes_masks = type(self).compute_mask is not Layer.compute_mask
        if activity_regularizer is not None:
            from .. import regularizers

            activity_regularizer = regularizers.get(activity_regularizer)
        self.activity_regularizer = activity_regularizer
        self._trainable = trainable
        self._made = []  # variables of add_weight, in order
        self._inbound_nodes = []
        self._losses_alone = []
        self._build_shapes = None
        self._signature = CallSignature.of(type(self))

    def _legacy_arguments(self, kwargs):
        """input_shape=(…) and its relatives: what Sequential takes as the shape of its input."""
        unknown = [key for key in kwargs if key not in _LEGACY]
        if unknown:
            raise ValueError(f"Unrecognized keyword arguments passed to {type(self).__name__}: {kwargs}")
        shape = kwargs.get("batch_input_shape")
        if shape is None and "input_shape" in kwargs:
            given = kwargs["input_shape"]
            shape = (kwargs.get("batch_size"), *((given,) if isinstance(given, int) else given))
        if shape is None and kwargs.get("input_dim") is not None:
            shape = (kwargs.get("batch_size"), kwargs["input_dim"])
        if shape is not None:
            self._input_shape_argument = tuple(shape)

    # --- Dtypes ---

    @property
    def compute_dtype(self):
        return self.dtype_policy.compute_dtype

    @property
    def variable_dtype(self):
        return self.dtype_policy.variable_dtype

    @property
    def dtype(self):
        return self.variable_dtype

    @property
    def quantization_mode(self):
        """ "int8" where the weights are kept so."""
        return self.dtype_policy.quantization_mode

    def quantize(self, mode=None, type_check=True, config=None):
        raise NotImplementedError(f"Layer {type(self).__name__} does not have a `quantize` method implemented.")

    _computes_in_floats = False  # whole numbers that come in become floats too

    def _casts(self, dtype):
        return dtype.is_floating or self._computes_in_floats and dtype.is_integer  # masks stay

    def _cast_in(self, value):
        """A leaf of the first argument: arrays become tensors, floats take the dtype of the layer."""
        if value is None or isinstance(value, (KerasTensor, bool, int, str)):
            return value
        if isinstance(value, (list, float)) or _tandem.is_numpy(value):
            value = _tandem.to_tensor(value)
        dtype = getattr(value, "dtype", None)
        if self.autocast and dtype is not None and self._casts(dtype) and dtype.name != self.compute_dtype:
            mask = getattr(value, "_keras_mask", None)
            value = _ops.cast(value, self.compute_dtype)
            if mask is not None:
                value._keras_mask = mask
        return value

    # --- Calls ---

    _takes_values = False  # strings and numbers beside tensors, as those of preprocessing and models do

    def build(self, input_shape):
        """Makes the variables; layers whose variables depend on shapes override it."""
        self._check_super_called()
        self.built = True

    def call(self, *args, **kwargs):
        raise NotImplementedError(f"Layer {type(self).__name__} does not have a `call()` method implemented.")

    def __call__(self, *args, **kwargs):
        self._check_super_called()
        if not self._takes_values:
            check_positional(args)
        args, kwargs = self._signature.cast(self._cast_in, args, kwargs)
        if keras_tensors(args) or keras_tensors(kwargs):
            return self._draw(args, kwargs)
        outer = call_context.current()
        training = self._training(outer, kwargs)
        call_context.set_current(CallContext(outer.entry_layer if outer else self, training))
        try:
            if outer is None and not call_context.is_probing():
                self._clear_losses()
            if self._signature.takes_training:
                kwargs["training"] = training
            else:
                kwargs.pop("training", None)
            self._signature.add_masks(args, kwargs)
            with call_context.named(self):
                self._ensure_built(args, kwargs)
                self._check_inputs(args, kwargs)
                outputs = self._run(args, kwargs)
            if self.activity_regularizer is not None:
                for output in flatten(outputs):
                    penalty = self.activity_regularizer(output)
                    # A share of the batch, so that larger batches do not cost more.
                    self.add_loss(penalty / max(output.shape[0], 1) if output.ndim else penalty)
        finally:
            call_context.set_current(outer)
        if self.supports_masking:
            self._note_masks(args, kwargs, outputs)
        elif outer is None and not self._warned_of_mask:
            self._warn_of_mask(args, kwargs)
        return outputs

    def stateless_call(self, trainable_variables, non_trainable_variables, *args, return_losses=False, **kwargs):
        """The outputs for these values of the variables, what the untrained ones become, and with return_losses the losses."""
        trained, others = self.trainable_variables, self.non_trainable_variables
        with values_in(trained, trainable_variables, "trainable_variables"), values_in(others, non_trainable_variables, "non_trainable_variables"):
            outputs = self(*args, **kwargs)
            results = outputs, read(others)
            return (*results, self.losses) if return_losses else results

    def _run(self, args, kwargs):
        mixed = self.autocast and self.compute_dtype != self.variable_dtype
        call = converted(self.call)
        if not mixed and not autocast.is_active():
            return call(*args, **kwargs)
        with autocast.autocast(self.compute_dtype if mixed else None):
            return call(*args, **kwargs)

    def _training(self, outer, kwargs):
        """What is said here, else what is said around, else no."""
        training = kwargs.get("training")
        if training is None and outer is not None:
            training = outer.training
        if training is None:
            training = self._signature.default_training
        return training

    def _note_masks(self, args, kwargs, outputs):
        first = self._signature.first_argument(args, kwargs)
        masks = [getattr(leaf, "_keras_mask", None) for leaf in flatten(first)]
        if not any(mask is not None for mask in masks) and kwargs.get("mask") is None and not self._makes_masks:
            return
        previous = masks[0] if not isinstance(first, (list, tuple, dict)) else masks
        if kwargs.get("mask") is not None:
            previous = kwargs["mask"]
        computed = self.compute_mask(first, previous)
        leaves, masks = flatten(outputs), flatten(computed)
        for leaf, mask in zip(leaves, masks if len(masks) == len(leaves) else masks[:1] * len(leaves)):
            if mask is not None and getattr(leaf, "_keras_mask", None) is None:
                leaf._keras_mask = mask

    _warned_of_mask = False

    def _warn_of_mask(self, args, kwargs):
        """Once: what the next layers get has no mask any more."""
        first = self._signature.first_argument(args, kwargs)
        if any(getattr(leaf, "_keras_mask", None) is not None for leaf in flatten(first)):
            self._warned_of_mask = True
            warnings.warn(
                f"Layer '{self.name}' (of type {type(self).__name__}) was passed an input with a mask attached to it. However, this "
                "layer does not support masking and will therefore destroy the mask information. Downstream layers will not see "
                "the mask.", stacklevel=3)  # fmt: skip

    def compute_mask(self, inputs, previous_mask):
        return previous_mask

    def _ensure_built(self, args, kwargs):
        with call_context.building, lifted():  # a step that is traced may be the first to call a layer
            self._maybe_build(args, kwargs)

    def _maybe_build(self, args, kwargs):
        if self.built:
            return
        self._signature.check(args, kwargs)
        self._check_inputs(args, kwargs)  # build would complain of what no layer of this kind takes
        self._build_for(shapes_of(self._signature, args, kwargs))
        self.built = True
        _deferred.variables_made()

    def _build_for(self, shapes):
        """`shapes` are those of the call's tensor arguments by name."""
        names = _build_parameters(type(self))
        if len(names) <= 1:
            self.build(next(iter(shapes.values())) if shapes else None)
        else:
            given = {f"{name}_shape": shape for name, shape in shapes.items()}
            self.build(**{name: given[name] for name in names if name in given})

    def _check_inputs(self, args, kwargs):
        if self.input_spec is None:
            return
        specs = flatten(self.input_spec)
        first = self._signature.first_argument(args, kwargs)
        input_spec.check(specs, [shape_of(leaf) for leaf in flatten(first)], self.name)

    # --- Models drawn up with KerasTensors ---

    def _draw(self, args, kwargs):
        """A use of the layer in a functional model; masks are part of it, as in Keras."""
        if isinstance(self._signature.first_argument(args, kwargs), KerasTensor):  # those of several are found when the model runs
            self._signature.add_masks(args, kwargs, ("mask",))
        self._ensure_built(args, kwargs)
        self._check_inputs(args, kwargs)
        outputs = self.compute_output_spec(*args, **kwargs)
        Node(self, args, kwargs, outputs)
        if self.supports_masking:
            self._draw_masks(args, kwargs, outputs)
        return outputs

    def _draw_masks(self, args, kwargs, outputs):
        try:
            self._note_masks(args, kwargs, outputs)
        except (TypeError, ValueError, AttributeError):
            pass  # a mask that is computed with more than keras.ops is found when the model runs

    symbolic_call = _draw

    def compute_output_spec(self, *args, **kwargs):
        """KerasTensors for what a call with such arguments returns."""
        if type(self).compute_output_shape is not Layer.compute_output_shape and len(args) == 1 and not kwargs:
            shape = self.compute_output_shape(map_leaves_shapes(args[0]))
            return tensors_for(shape, self._output_dtype())
        try:
            return infer_outputs(self.__call__, args, kwargs)
        except NotImplementedError:
            raise
        except Exception as error:
            raise _located(error, self, args) from error

    def _output_dtype(self):
        """Of layers that know their output's shape from that of the input."""
        return self.compute_dtype

    def compute_output_shape(self, *args, **kwargs):
        """The shapes that come out for those that go in: one, or one an argument (query_shape=…, value_shape=…)."""
        args = [tensors_for(shape, self.compute_dtype) for shape in args]
        named = {name.removesuffix("_shape"): tensors_for(shape, self.compute_dtype) for name, shape in kwargs.items() if shape is not None}
        if not args and len(named) == 1:  # whatever it is called
            args, named = list(named.values()), {}
        self._ensure_built(tuple(args), named)
        return map_leaves_shapes(infer_outputs(self.__call__, tuple(args), named))

    @property
    def input(self):
        """The KerasTensors of the layer's first use."""
        node = self._first_node("input")
        return node.args[0] if node.args else node.outputs[0]

    @property
    def output(self):
        node = self._first_node("output")
        return node.outputs[0] if len(node.outputs) == 1 else node.outputs

    def _first_node(self, what):
        if not self._inbound_nodes:
            raise AttributeError(f"The layer {self.name} has never been called and thus has no defined {what}.")
        return self._inbound_nodes[0]

    # --- Losses that layers add ---

    def add_loss(self, loss):
        """Adds to what training makes small: a scalar, or a list of them."""
        if call_context.is_probing():
            return
        for value in loss if isinstance(loss, (list, tuple)) else [loss]:
            self._losses.append(value() if callable(value) else _tandem.to_tensor(value))

    @property
    def _losses(self):
        """What was added in the last call. Replicas take turns in the middle of a call: each has its own."""
        replica = current_replica()
        return self._losses_alone if replica is None or replica.is_alone else replica.added_losses.setdefault(id(self), [])

    @_losses.setter
    def _losses(self, values):
        replica = current_replica()
        if replica is None or replica.is_alone:
            self._losses_alone = values
        else:
            replica.added_losses[id(self)] = values

    def _clear_losses(self):
        self._losses = []
        for layer in self._own_layers():
            layer._clear_losses()

    @property
    def losses(self):
        """What was added in the last call, and what the regularizers of the variables say."""
        added = [loss for layer in self._flatten_layers() for loss in layer._losses]
        penalties = [v.regularizer(v) for v in self.trainable_weights if getattr(v, "regularizer", None) is not None]
        return added + penalties

    @property
    def metrics(self):
        """The metrics that the layer and the layers inside hold."""
        from ..metrics import Metric

        return unique([metric for layer in self._flatten_layers() for metric in held(layer, Metric, skip=("_init_arguments",))])

    @property
    def metrics_variables(self):
        """The variables of all metrics."""
        return [variable for metric in self.metrics for variable in metric.variables]

    def __reduce__(self):
        """Pickled, or copied deeply: as a .keras file holds it."""
        from ..saving.keras_files import from_bytes, model_bytes

        return from_bytes, (bytes(model_bytes(self)),)

    def _check_super_called(self):
        if "_made" not in self.__dict__:
            raise RuntimeError(
                f"In layer '{type(self).__name__}', you forgot to call `super().__init__()` as the first statement in the "
                "`__init__()` method. Go add it!"
            )

    def __repr__(self):
        return f"<{type(self).__name__} name={self.__dict__.get('name')}, built={self.__dict__.get('built', False)}>"


def _building(build):
    """build as the user wrote it; afterwards the layer is built, and its shapes are known for files."""

    @functools.wraps(build)
    def wrapped(self, *args, **kwargs):
        with call_context.named(self):
            result = build(self, *args, **kwargs)
        if getattr(type(self).build, "__wrapped__", None) is build:  # not when a subclass calls super().build
            bound = inspect.signature(build).bind(self, *args, **kwargs).arguments
            bound = {name: value for name, value in bound.items() if name != "self"}
            self._build_shapes = {"input_shape": next(iter(bound.values()))} if len(bound) == 1 else dict(bound)
        self.built = True
        return result

    return wrapped


@functools.lru_cache(maxsize=None)
def _build_parameters(cls):
    return [name for name in inspect.signature(cls.build).parameters if name not in ("self", "kwargs", "args")]


def _located(error, layer, args):
    """The error with the name of the layer and what it got, as Keras tells it."""
    if getattr(error, "_names_layer", False):
        return error
    shapes = ", ".join(str(t) for t in keras_tensors(args))
    text = (
        f"Exception encountered when calling {type(layer).__name__}.call().\n\n{error}\n\n"
        f"Arguments received by {type(layer).__name__}.call() of layer '{layer.name}':\n  • {shapes}"
    )
    kind = ValueError if isinstance(error, ValueError) else type(error)
    try:
        out = kind(text)
    except Exception:
        out = ValueError(text)
    out._names_layer = True
    return out
