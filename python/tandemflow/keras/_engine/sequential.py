"""A stack of layers."""
from ... import _deferred
from .call_context import named, open_sizes
from .functional import LayerGraph
from .input_layer import Input, InputLayer
from .keras_tensor import KerasTensor
from .layer import Layer
from .model import Model
from .naming import snake_case, unique_name


class Sequential(Model):
    """Layers one after another: Sequential([Dense(64, activation="relu"), Dense(10)])."""

    _keras_module = "keras"

    def __new__(cls, *args, **kwargs):
        return Layer.__new__(cls, *args, **kwargs)

    def __init__(self, layers=None, trainable=True, name=None):
        self._stack = []
        super().__init__(trainable=trainable, name=name)
        if layers is not None and not isinstance(layers, (list, tuple)):
            layers = [layers]
        for layer in layers or []:
            self._append(layer)
        self._rebuild()

    def add(self, layer, rebuild=True):
        """Puts a layer on top."""
        drawn = self._graph
        self._append(layer)
        if rebuild and drawn is not None:
            with named(self):
                self._graph = LayerGraph(drawn.inputs, self._stack[-1](drawn.outputs), any_sizes=True)
            self.built = True
        elif rebuild:
            self._rebuild()

    def pop(self, rebuild=True):
        """Takes the last layer off."""
        if not self._stack:
            raise ValueError(f"pop: model '{self.name}' has no layers")
        layer = self._stack.pop()
        layer._inbound_nodes = []
        self.built, self._graph = False, None
        self._forget_functions()
        if rebuild:
            self._rebuild()
        return layer

    def _append(self, layer):
        if isinstance(layer, KerasTensor) and layer._keras_history is not None:
            layer = layer._keras_history.operation
            if not isinstance(layer, InputLayer):
                raise ValueError(f"Only Input() may stand for a layer of a Sequential model, got the output of {layer}")
        if not isinstance(layer, Layer):
            if not callable(layer):
                raise ValueError(
                    f"Only instances of `keras.Layer` can be added to a Sequential model. Received: {layer} (of type "
                    f"{type(layer)})"
                )
            from ..layers import Lambda

            layer = Lambda(layer)
        if any(layer.name == other.name for other in self._stack):
            raise ValueError(
                f"All layers added to a Sequential model should have unique names. Name '{layer.name}' is already the name "
                f"of a layer in this model. Update the `name` argument to pass a unique name."
            )
        if isinstance(layer, InputLayer) and self._stack:
            raise ValueError(
                f"Sequential model '{self.name}' has already been configured to use input shape. You cannot add a "
                f"different Input layer to it."
            )
        shape = getattr(layer, "_input_shape_argument", None)
        if not self._stack and shape is not None:
            self._stack.append(InputLayer(batch_shape=shape, dtype=getattr(layer, "_input_dtype", None)))
        self._stack.append(layer)
        self.built, self._graph = False, None
        self._forget_functions()

    def _checkpoint_children(self):
        """Keras keeps the layers in a functional model inside."""
        found = dict(super()._checkpoint_children())
        operations = found.pop("_operations", None)
        return [*([("_functional", {"_operations": operations})] if operations else []), *found.items()]

    def _rebuild(self):
        """Draws the stack up as soon as the shape of its input is known."""
        if not self._stack or len(self._stack) == 1 and isinstance(self._stack[0], InputLayer):
            return
        first = self._stack[0]
        if isinstance(first, InputLayer):
            self._draw_up(first.output, self._stack[1:])
        elif isinstance(first, Model) and first._graph is not None and len(first._graph.input_tensors) == 1:
            tensor = first._graph.input_tensors[0]
            self._stack.insert(0, InputLayer(batch_shape=tensor.shape, dtype=tensor.dtype, name=self._input_name()))
            self._draw_up(self._stack[0].output, self._stack[1:])

    def _input_name(self):
        return unique_name(snake_case("InputLayer"))

    @property
    def input(self):
        """Of its first use in another model, as any layer's; its own where there is none."""
        return Layer.input.fget(self) if self._inbound_nodes else super().input

    @property
    def output(self):
        return Layer.output.fget(self) if self._inbound_nodes else super().output

    def _draw_up(self, tensor, layers):
        unique_name("functional")  # Keras makes a functional model here, and the next one has the next number
        start = tensor
        with named(self):
            for layer in layers:
                tensor = layer(tensor)
        self._graph = LayerGraph(start, tensor, any_sizes=True)
        self.built = True
        _deferred.variables_made()  # in checkpoints layers have their names from the graph

    def build(self, input_shape=None):
        if self._graph is not None or not self._stack or input_shape is None:
            return
        if isinstance(input_shape, list) and input_shape and isinstance(input_shape[0], (list, tuple)):
            raise ValueError(f"A Sequential model takes one input; build got the shapes {input_shape}")
        shape = (None, *tuple(input_shape)[1:])
        tensor = Input(batch_shape=shape, dtype=self._first_dtype())
        self._stack.insert(0, tensor._keras_history.operation)
        try:
            self._draw_up(tensor, self._stack[1:])
        except Exception:
            del self._stack[0]
            raise
        self._build_shapes = {"input_shape": shape}

    def _first_dtype(self):
        return getattr(self._stack[0], "_input_dtype", None) or "float32"

    def _maybe_build(self, args, kwargs):
        if self._graph is None and self._stack:
            value = self._signature.first_argument(args, kwargs)
            self._input_dtype_seen(value)
            self.build(open_sizes(tuple(value.shape)))
        self.built = True

    def _input_dtype_seen(self, value):
        dtype = getattr(value, "dtype", None)
        if dtype is not None and not self._stack[0].__dict__.get("_input_dtype"):
            self._stack[0]._input_dtype = getattr(dtype, "name", dtype)

    def call(self, inputs, training=None, mask=None):
        if self._graph is not None:
            return self._graph.run(inputs, training, mask)
        if not self._stack:
            return inputs
        raise ValueError(f"Sequential model '{self.name}' cannot be called: its input shape is not known")

    @property
    def layers(self):
        return [layer for layer in self._stack if not isinstance(layer, InputLayer)]

    def _own_layers(self):
        return self.layers

    def get_config(self):
        from .registry import serialize_keras_object

        config = {"name": self.name, "trainable": self._trainable, "dtype": serialize_keras_object(self.dtype_policy)}
        config["layers"] = [serialize_keras_object(layer) for layer in self._stack]
        if (self._build_shapes or {}).get("input_shape") is not None:
            config["build_input_shape"] = self._build_shapes["input_shape"]
        elif self._graph is not None:
            config["build_input_shape"] = self._graph.input_tensors[0].shape
        return config

    @classmethod
    def from_config(cls, config, custom_objects=None):
        from .registry import deserialize_keras_object

        model = cls(name=config.get("name"))
        for layer in config["layers"]:
            model.add(deserialize_keras_object(layer, custom_objects), rebuild=False)
        model._rebuild()
        shape = config.get("build_input_shape")
        if not model.built and shape:
            model.build(tuple(shape))
        if config.get("trainable") is False:
            model._trainable = False
        return model
