"""keras.quantizers: numbers as int8 with a scale."""
from .. import _names, _ops, _tandem
from ._engine import small_numbers
from ._engine.registry import Family, deserialize_keras_object, serialize_keras_object


def abs_max_quantize(inputs, axis, value_range=(-127, 127), dtype="int8", epsilon=1e-7, to_numpy=False):
    """(whole numbers, scale): the largest absolute value along the axes becomes the end of the range."""
    inputs = _tandem.to_tensor(inputs)
    largest = _ops.reduce_max(_ops.abs(inputs), axis, True)
    scale = value_range[1] / (largest + epsilon)
    return _ops.cast(_ops.clip_by_value(_ops.round(inputs * scale), value_range[0], value_range[1]), dtype), scale


class Quantizer:
    """Makes (values, scale) of a tensor when it is called."""

    _keras_module = "keras.quantizers"

    def __init__(self, output_dtype="int8"):
        self.output_dtype = output_dtype

    def __call__(self, x):
        return x

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def get_config(self):
        raise NotImplementedError(f"{self} does not implement get_config()")


class AbsMaxQuantizer(Quantizer):
    """abs_max_quantize along an axis."""

    def __init__(self, axis=None, value_range=(-127, 127), epsilon=1e-7, output_dtype="int8"):
        super().__init__(output_dtype)
        self.axis = None if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
        self.value_range, self.epsilon = tuple(value_range), epsilon
        if output_dtype == "int8" and (value_range[0] < -128 or value_range[1] > 127):
            raise ValueError(f"Quantizer with output_dtype='int8' requires value_range to be within the interval [-128, 127]. Received: value_range={value_range}")

    def __call__(self, x, axis=None, to_numpy=False):
        axis = axis if axis is not None else self.axis if self.axis is not None else -1
        return abs_max_quantize(x, axis, self.value_range, self.output_dtype, self.epsilon)

    def get_config(self):
        axis = {} if self.axis is None else {"axis": self.axis}
        return {**axis, "value_range": self.value_range, "epsilon": self.epsilon, "output_dtype": self.output_dtype}


class QuantizationConfig:
    """How model.quantize(config=…) treats weights and activations."""

    _keras_module = "keras.quantizers"
    mode = None

    def __init__(self, weight_quantizer=None, activation_quantizer=None):
        self.weight_quantizer, self.activation_quantizer = weight_quantizer, activation_quantizer

    def get_config(self):
        return {name: serialize_keras_object(value) for name, value in self.__dict__.items()}

    @classmethod
    def from_config(cls, config):
        return cls(**{name: deserialize_keras_object(value) for name, value in config.items()})


class Int8QuantizationConfig(QuantizationConfig):
    """int8: AbsMaxQuantizer for both, unless other ones are given; activation_quantizer=None leaves activations as they are."""

    mode = "int8"

    def __init__(self, weight_quantizer=None, activation_quantizer="default"):
        default = isinstance(activation_quantizer, str) and activation_quantizer == "default"
        super().__init__(weight_quantizer, AbsMaxQuantizer() if default else activation_quantizer)


def weight_quantizer(config, axis):
    """What makes whole numbers of a weight whose axes share a scale."""
    chosen = None if config is None else config.weight_quantizer
    return chosen or AbsMaxQuantizer(axis=axis)


def activation_quantizer(config):
    """What makes whole numbers of inputs; None: they stay as they are."""
    return AbsMaxQuantizer() if config is None else config.activation_quantizer


abs_max_quantize_grouped_with_zero_point = small_numbers.abs_max_quantize_grouped_with_zero_point
compute_float8_amax_history, compute_float8_scale = small_numbers.compute_float8_amax_history, small_numbers.compute_float8_scale
fake_quant_with_min_max_vars = small_numbers.fake_quant_with_min_max_vars
pack_int4, unpack_int4 = small_numbers.pack_int4, small_numbers.unpack_int4
family = Family("quantizer", "keras.quantizers", [Quantizer, AbsMaxQuantizer, QuantizationConfig, Int8QuantizationConfig, abs_max_quantize])
get, serialize, deserialize = family.get, family.serialize, family.deserialize


__getattr__, __dir__ = _names.lazy(__name__)
