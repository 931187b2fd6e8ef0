"""Layers with one large weight, which may stand still under a sum of low rank (LoRA), or be kept in int8."""
from ... import _ops, _tandem
from .._engine.registry import deserialize_keras_object, serialize_keras_object
from ._configured import ConfiguredLayer

_MODES = ("int8", "float8", "int4", "gptq", "awq")


def _weight_property(name):
    def read(self):
        if f"_{name}" not in self.__dict__:
            raise AttributeError(f"You must build the layer before accessing `{name}`.")
        return self._whole_weight()

    def write(self, value):
        self.__dict__[f"_{name}"] = value

    return property(read, write, doc="The weight as a call uses it: the variable, or with LoRA the sum.")


class AdaptedLayer(ConfiguredLayer):
    """The weight is the attribute `_weight_name`; the variable itself has an underscore before its name."""

    _weight_name = None
    lora_enabled = False

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if cls.__dict__.get("_weight_name"):
            setattr(cls, cls._weight_name, _weight_property(cls._weight_name))

    def _adapt(self, lora_rank, lora_alpha, quantization_config):
        self.lora_rank, self.lora_alpha = lora_rank, lora_rank if lora_alpha is None else lora_alpha
        self.quantization_config = deserialize_keras_object(quantization_config)

    def _part(self, pattern):
        return getattr(self, pattern.format(self._weight_name))

    @property
    def _plain_weight(self):
        return self._part("_{}")

    # --- Building: the weight in the form that the dtype policy asks for. ---

    def _add_weight_of_layer(self, shape, initializer):
        name = self._weight_name
        if self.quantization_mode == "int8":
            self._add_int8(shape)
            return
        weight = self.add_weight(shape, initializer, name=name, regularizer=self._part("{}_regularizer"), constraint=self._part("{}_constraint"))
        setattr(self, f"_{name}", weight)

    def _add_int8(self, shape):
        name = self._weight_name
        setattr(self, f"_{name}", self.add_weight(shape, "zeros", "int8", False, name=name))
        setattr(self, f"{name}_scale", self.add_weight(self._scale_shape(shape), "ones", trainable=False, name=f"{name}_scale"))

    def _finish_build(self):
        """Last in build()."""
        self.built = True
        if self.lora_rank:
            self.enable_lora(self.lora_rank, self.lora_alpha)

    # --- LoRA. ---

    def enable_lora(self, rank, lora_alpha=None, a_initializer="he_uniform", b_initializer="zeros"):
        """From now on training changes two matrices of this rank, whose product is added to the weight, and not the weight."""
        name = self._weight_name
        if self._part("{}_constraint"):
            raise ValueError(
                f"Lora is incompatible with {name} constraints. In order to enable lora on this layer, remove the `{name}_constraint` argument."
            )
        if not self.built:
            raise ValueError("Cannot enable lora on a layer that isn't yet built.")
        if self.lora_enabled:
            raise ValueError("lora is already enabled. This can only be done once per layer.")
        shape = tuple(self._plain_weight.shape)
        regularizer = self._part("{}_regularizer")
        for letter, size, initializer in (("a", (*shape[:-1], rank), a_initializer), ("b", (rank, shape[-1]), b_initializer)):
            matrix = self.add_weight(size, initializer, "float32", regularizer=regularizer, name=f"lora_{name}_{letter}")
            setattr(self, f"lora_{name}_{letter}", matrix)
        self._plain_weight.trainable = False
        self.lora_enabled, self.lora_rank = True, rank
        self.lora_alpha = rank if lora_alpha is None else lora_alpha

    def _lora_matrices(self):
        """The two, the first with the factor alpha / rank."""
        a, b = self._part("lora_{}_a"), self._part("lora_{}_b")
        return _ops.cast(_tandem.to_tensor(a) * (self.lora_alpha / self.lora_rank), self.compute_dtype), _ops.cast(b, self.compute_dtype)

    def _lora_sum(self):
        a, b = self._lora_matrices()
        return _ops.reshape(_ops.matmul(_ops.reshape(a, [-1, a.shape[-1]]), b), [int(n) for n in self._plain_weight.shape])

    def _whole_weight(self):
        weight = self._plain_weight
        if self.quantization_mode == "int8" and self.lora_enabled:
            weight = self._float_weight()
        return _ops.cast(weight, self.compute_dtype) + self._lora_sum() if self.lora_enabled else weight

    # --- int8. ---

    def quantize(self, mode=None, type_check=True, config=None):
        """Keeps the weight in int8, with a scale for each output; inputs are rounded so as well."""
        from .. import dtype_policies
        from ..quantizers import Int8QuantizationConfig, weight_quantizer

        mode = getattr(config, "mode", None) if mode is None else mode
        if mode not in _MODES:
            raise ValueError(f"Invalid quantization mode. Expected one of {_MODES}. Received: mode={mode}")
        if mode != "int8":
            raise NotImplementedError(f"{type(self).__name__}.quantize: mode '{mode}' is not supported here; 'int8' is")
        if type_check and not type(self).__module__.startswith(__name__.rpartition(".")[0]):
            raise NotImplementedError(f"Layer {type(self).__name__} does not have a `quantize` method implemented.")
        if not self.built:
            raise ValueError(f"Cannot quantize a layer that isn't yet built. Layer '{self.name}' isn't built.")
        if self.quantization_mode is not None:
            raise ValueError(f"Layer '{self.name}' is already quantized with dtype_policy='{self.dtype_policy.name}'. Received: mode={mode}")
        self.quantization_config = config = config or Int8QuantizationConfig()
        old = self._plain_weight
        values, scale = weight_quantizer(config, self._reduced_axes())(old)
        self._made = [v for v in self._made if v is not old]
        self.dtype_policy = dtype_policies.get(f"int8_from_{self.dtype_policy.name}")
        self._add_int8(tuple(old.shape))
        self._plain_weight.assign(values)
        stored = self._part("{}_scale")
        self._plain_weight.path, stored.path = old.path, f"{old.path}_scale"
        stored.assign(_ops.reshape(self._stored_scale(scale), [int(n) for n in stored.shape]))

    def _reduced_axes(self):
        """The axes of the weight that share a scale."""
        return (0,)

    def _scale_shape(self, shape):
        return tuple(n for axis, n in enumerate(shape) if axis not in self._reduced_axes())

    def _stored_scale(self, scale):
        return scale

    def _scale_for_weight(self):
        """The scale in a shape that fits the weight."""
        reduced = self._reduced_axes()
        return _ops.reshape(self._part("{}_scale"), [1 if axis in reduced else int(n) for axis, n in enumerate(self._plain_weight.shape)])

    def _float_weight(self):
        return _ops.cast(self._plain_weight, self.compute_dtype) / _ops.cast(self._scale_for_weight(), self.compute_dtype)

    def _rounded(self, inputs, axes):
        """Inputs as int8 would hold them; the gradient passes as if nothing had been rounded."""
        from ..quantizers import activation_quantizer

        quantizer = activation_quantizer(self.quantization_config)
        if quantizer is None:
            return inputs
        values, scale = quantizer(inputs, axis=axes)
        return inputs + _ops.stop_gradient(_ops.cast(values, inputs.dtype) / scale - inputs)

    def _product(self, inputs, multiply, axes):
        """multiply(inputs, weight), for the weight in the form it has; `axes` of the inputs share a scale in int8."""
        if self.quantization_mode != "int8":
            return multiply(inputs, self._whole_weight())
        out = multiply(self._rounded(inputs, axes), self._float_weight())
        return out + multiply(inputs, self._lora_sum()) if self.lora_enabled else out

    # --- Files: LoRA is added to the weight; the order is Keras'. ---

    def _variables_in_files(self):
        name = self._weight_name
        listed = [self._plain_weight, getattr(self, "bias", None), getattr(self, f"{name}_scale", None)]
        return [variable for variable in listed if variable is not None]

    def _is_usual(self):
        return not self.built or not self.lora_enabled and self.quantization_mode is None

    def save_own_variables(self, store):
        if self._is_usual():
            super().save_own_variables(store)
            return
        values = [variable.numpy() for variable in self._variables_in_files()]
        if self.lora_enabled:
            values = self._merged(values)
        store.update({f"{i}": value for i, value in enumerate(values)})

    def _merged(self, values):
        """The values of a file with the sum of low rank inside the weight."""
        from ..quantizers import weight_quantizer

        whole = self._whole_weight()
        if self.quantization_mode != "int8":
            return [whole.numpy(), *values[1:]]
        weight, scale = weight_quantizer(self.quantization_config, self._reduced_axes())(whole)
        return [weight.numpy(), *values[1:-1], self._stored_scale(scale).numpy().reshape(values[-1].shape)]

    def load_own_variables(self, store):
        if self._is_usual():
            super().load_own_variables(store)
            return
        variables = self._variables_in_files()
        if len(store) != len(variables):
            raise ValueError(f"Layer '{self.name}' expected {len(variables)} variables, but received {len(store)} variables during loading.")
        for i, variable in enumerate(variables):
            variable.assign(_ops.cast(_tandem.to_tensor(store[f"{i}"]), variable.dtype))
        if self.lora_enabled:
            for matrix in (self._part("lora_{}_a"), self._part("lora_{}_b")):
                matrix.assign(_ops.zeros_like(matrix))

    def get_config(self):
        config = super().get_config()
        config["quantization_config"] = serialize_keras_object(self.quantization_config)
        if self.lora_rank:
            config.update(lora_rank=self.lora_rank, lora_alpha=self.lora_alpha)
        return config
