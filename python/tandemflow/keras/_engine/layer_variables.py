"""The variables of a layer: made by add_weight, found in its attributes and in the layers inside."""
from ... import _ops, _tandem
from ..._dtypes import as_dtype
from . import call_context
from .lifted import lifted
from .naming import unique_name
from .tracking import held, held_variables, unique


# What layers keep for themselves: its variables have other names too.
_NOT_SAVED = {"_made", "_losses_alone", "_init_arguments", "_inbound_nodes", "_build_shapes", "_metrics_of_layers", "_stack"}


class HasVariables:
    """The part of a Layer that knows its variables and the layers inside."""

    _checkpoint_names = {}  # Keras' names of attributes that have others here
    _checkpoint_empty = ()  # attributes of Keras that hold no variables: TensorFlow misses them in files without

    def add_weight(self, shape=None, initializer=None, dtype=None, trainable=True, autocast=True, regularizer=None,
                   constraint=None, aggregation="none", overwrite_with_gradient=False, name=None):  # fmt: skip
        """Makes a variable of this layer."""
        from .. import constraints, initializers, regularizers

        self._check_super_called()
        if isinstance(shape, str):  # Keras 2: add_weight("kernel", shape, …)
            raise ValueError(f"add_weight: shape must be a tuple of sizes, got {shape!r}; give the name as name=…")
        shape = () if shape is None else tuple([shape] if isinstance(shape, int) else shape)
        if any(size is None or int(size) < 0 for size in shape):
            raise ValueError(f"add_weight: layer '{self.name}' needs all sizes of variable '{name}', got shape {shape}")
        dtype = as_dtype(dtype or self.variable_dtype)
        if initializer is None:
            initializer = "glorot_uniform" if dtype.is_floating else "zeros"
        initializer = initializers.get(initializer)
        name = name or unique_name("variable")
        with lifted():
            initial = initializer(shape, dtype=dtype.name)
            variable = _tandem.Variable(initial, trainable=trainable, name=name)
        variable.path = call_context.path_of(self, name)
        variable.regularizer = regularizers.get(regularizer)
        variable.constraint = constraints.get(constraint)
        variable.overwrite_with_gradient = overwrite_with_gradient
        variable.autocast = autocast
        variable.made_trainable = bool(trainable)
        if not self._trainable:
            variable.trainable = False
        self._made.append(variable)
        return variable

    add_variable = add_weight

    def _own_variables(self):
        return unique(self._made + held_variables(self, skip=("_made", "_losses_alone", "_init_arguments")))

    def _ordered_variables(self):
        """Its own, those that were made to be trained first: freezing one does not move it in get_weights and files."""
        return sorted(self._own_variables(), key=lambda v: not getattr(v, "made_trainable", v.trainable))

    def _own_layers(self):
        return held(self, HasVariables, skip=("_init_arguments", "_metrics_of_layers"))

    def _checkpoint_children(self):
        """(name, part) for tf.train.Checkpoint: attributes as Keras has them."""
        from ..._object_graph import is_part

        held = [(name, value) for name, value in self.__dict__.items() if name not in _NOT_SAVED and is_part(value)]
        return [(self._checkpoint_names.get(name, name), value) for name, value in held] + [(name, []) for name in self._checkpoint_empty]

    def _flatten_layers(self, include_self=True, recursive=True):
        out = [self] if include_self else []
        for layer in self._own_layers():
            out += layer._flatten_layers() if recursive else [layer]
        return unique(out)

    @property
    def variables(self):
        """The weights, and the states of seeds that the layer and the layers inside hold."""
        from ..random import SeedGenerator

        own = self._ordered_variables() + [generator.state for generator in held(self, SeedGenerator, skip=("_init_arguments",))]
        return unique(own + [v for layer in self._own_layers() for v in layer.variables])

    @property
    def weights(self):
        return unique(self._ordered_variables() + [v for layer in self._own_layers() for v in layer.weights])

    @property
    def trainable_weights(self):
        if not self.trainable:
            return []
        own = [v for v in self._own_variables() if v.trainable]
        return unique(own + [v for layer in self._own_layers() for v in layer.trainable_weights])

    @property
    def non_trainable_weights(self):
        trained = {id(v) for v in self.trainable_weights}
        return [v for v in self.weights if id(v) not in trained]

    @property
    def trainable_variables(self):
        return self.trainable_weights

    @property
    def non_trainable_variables(self):
        trained = {id(v) for v in self.trainable_weights}
        return [v for v in self.variables if id(v) not in trained]

    @property
    def trainable(self):
        return self._trainable

    @trainable.setter
    def trainable(self, value):
        """Whether training changes the variables, those of layers inside included."""
        self._trainable = bool(value)
        for variable in self._made:
            if variable.made_trainable:
                variable.trainable = self._trainable
        for layer in self._own_layers():
            layer.trainable = value

    @property
    def path(self):
        """The name under which the variables' paths begin."""
        return self.name

    def get_weights(self):
        """The values as NumPy arrays."""
        return [v.numpy().copy() for v in self.weights]

    def set_weights(self, weights):
        variables = self.weights
        if len(weights) != len(variables):
            raise ValueError(
                f"You called `set_weights(weights)` on layer '{self.name}' with a weight list of length {len(weights)}, "
                f"but the layer was expecting {len(variables)} weights."
            )
        for variable, value in zip(variables, weights):
            shape = tuple(getattr(value, "shape", ()))
            if shape != tuple(variable.shape):
                raise ValueError(
                    f"Layer {self.name} weight shape {tuple(variable.shape)} is not compatible with provided weight "
                    f"shape {shape}."
                )
        for variable, value in zip(variables, weights):
            variable.assign(_ops.cast(_tandem.to_tensor(value), variable.dtype))

    def count_params(self):
        if not self.built and not self.weights:
            raise ValueError(
                f"You tried to call `count_params` on layer '{self.name}', but the layer isn't built. You can build it "
                f"manually via: `layer.build(input_shape)`."
            )
        return sum(v.shape.num_elements() for v in self.weights)
