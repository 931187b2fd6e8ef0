"""Models: layers that train."""
import inspect

from ..._specs import TensorSpec
from ...nest import map_structure
from . import state_tree
from .arguments import shapes_of
from .functional import LayerGraph
from .keras_tensor import KerasTensor, keras_tensors
from .layer import Layer
from .shape_trees import as_shape, is_shape, map_leaves_of_shapes, tensors_for
from .trainer import Trainer


class Model(Trainer, Layer):
    """Layers with compile, fit, evaluate and predict: Model(inputs, outputs), or a subclass with a call."""

    _keras_module = "keras"
    _takes_values = True
    _first_call = None  # of a subclass: what it was called with, for those who export it

    def __new__(cls, *args, **kwargs):
        if cls is Model and _is_functional(args, kwargs):
            return Layer.__new__(Functional, *args, **kwargs)
        return Layer.__new__(cls, *args, **kwargs)

    def __init__(self, *args, **kwargs):
        self._graph = None
        if _is_functional(args, kwargs):
            self._init_graph(*args, **kwargs)
        else:
            if args:
                raise TypeError(f"{type(self).__name__}() takes inputs and outputs made of KerasTensors, got {args!r}")
            Layer.__init__(self, **kwargs)
        Trainer.__init__(self)

    def _init_graph(self, inputs, outputs, name=None, **kwargs):
        Layer.__init__(self, name=name, **kwargs)
        self._graph = LayerGraph(inputs, outputs, owner=self.name)
        self.built = True

    # --- Structure ---

    @property
    def layers(self):
        """The layers, without the ops that a functional model holds between them."""
        from .operation import Operation

        return [layer for layer in self._graph.layers if not isinstance(layer, Operation)] if self._graph else self._own_layers()

    @property
    def operations(self):
        """The layers and ops of a functional model, in the order in which they run."""
        return list(self._graph.layers) if self._graph else self._own_layers()

    def _own_layers(self):
        if self._graph is None:
            return super()._own_layers()
        in_graph = self._graph.layers
        known = {id(layer) for layer in in_graph}
        return in_graph + [layer for layer in super()._own_layers() if id(layer) not in known]

    get_state_tree, set_state_tree = state_tree.get_state_tree, state_tree.set_state_tree

    def _checkpoint_children(self):
        if self._graph is None:
            return super()._checkpoint_children()
        from .operation import Operation

        operations = {str(i): layer for i, layer in enumerate(self.operations) if not isinstance(layer, Operation)}
        return [("_operations", operations), *super()._checkpoint_children()]

    def get_layer(self, name=None, index=None):
        if index is not None and name is not None:
            raise ValueError("Provide only a layer name or a layer index.")
        layers = self.layers
        if index is not None:
            if len(layers) <= index:
                raise ValueError(f"Was asked to retrieve layer at index {index} but model only has {len(layers)} layers.")
            return layers[index]
        for layer in layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}. Existing layers are: {[layer.name for layer in layers]}.")

    @property
    def inputs(self):
        return self._graph.input_tensors if self._graph else None

    @property
    def outputs(self):
        return self._graph.output_tensors if self._graph else None

    @property
    def input(self):
        return self._graph.inputs if self._graph else Layer.input.fget(self)

    @property
    def output(self):
        return self._graph.outputs if self._graph else Layer.output.fget(self)

    @property
    def input_shape(self):
        shapes = [t.shape for t in self._graph.input_tensors] if self._graph else [self.input.shape]
        return shapes[0] if len(shapes) == 1 else shapes

    @property
    def output_shape(self):
        shapes = [t.shape for t in self._graph.output_tensors] if self._graph else [self.output.shape]
        return shapes[0] if len(shapes) == 1 else shapes

    @property
    def input_names(self):
        return [t._keras_history.operation.name for t in self.inputs or []]

    @property
    def output_names(self):
        return [t._keras_history.operation.name for t in self.outputs or []]

    # --- Calls ---

    def call(self, inputs, training=None, mask=None):
        if self._graph is None:
            raise NotImplementedError(f"Model {type(self).__name__} does not have a `call()` method implemented.")
        return self._graph.run(inputs, training, mask)

    def build(self, input_shape=None):
        """Makes the variables for inputs of this shape, batch axis included."""
        if self._graph is not None or self.built and not self._own_layers():
            return
        if input_shape is None:
            raise ValueError(f"build: model '{self.name}' needs the shape of its input, batch axis included")
        tensors = map_leaves_of_shapes(lambda shape: KerasTensor(shape, self.compute_dtype), input_shape)
        if type(self).call is not Model.call:
            self.built = True  # the variables of its layers are made by drawing it up
            try:
                self.compute_output_spec(tensors)
            except Exception:
                self.built = False
                raise

    def _maybe_build(self, args, kwargs):
        if self._graph is None and self._first_call is None:
            object.__setattr__(self, "_first_call", (map_structure(_of_any_batch, self._signature.first_argument(args, kwargs)),))
        # Layers inside are built when they are called; only a user's own build is called here.
        if not self.built and type(self).build not in (Model.build, Layer.build):
            super()._maybe_build(args, kwargs)
        elif not self.built:
            shapes = shapes_of(self._signature, args, kwargs)  # files hold them: a model is drawn up again with them
            several = {f"{name}_shape": shape for name, shape in shapes.items()}
            self._build_shapes = several if len(shapes) > 1 else {"input_shape": shape for shape in shapes.values()} or None
        self.built = True

    def build_from_config(self, config):
        if "shapes_dict" not in config or type(self).build is not Model.build:
            super().build_from_config(config)
            return
        self._build_shapes = {name: as_shape(shape) for name, shape in config["shapes_dict"].items()}
        self.built = True
        self.compute_output_spec(**{name.removesuffix("_shape"): tensors_for(shape, self.compute_dtype) for name, shape in self._build_shapes.items()})

    def _cast_in(self, value):
        return super()._cast_in(value) if self._graph is None else value

    # --- Showing ---

    def summary(self, line_length=None, positions=None, print_fn=None, expand_nested=False, show_trainable=False,
                layer_range=None):  # fmt: skip
        """Prints the layers, their shapes and how many parameters they have."""
        from .summary import print_summary

        print_summary(self, line_length, positions, print_fn, expand_nested, show_trainable, layer_range)

    def _repr_html_(self):
        from .summary import html_summary

        return html_summary(self)

    # --- Configuration and files ---

    def get_config(self):
        if self._graph is not None and self._is_made_of_its_graph():
            from .functional_config import graph_config

            return graph_config(self)
        config = Layer.get_config(self)
        return config if type(self).get_config is not Model.get_config else {**config, **self._auto_config()}

    def _is_made_of_its_graph(self):
        """Whether inputs and outputs are all its class needs; a subclass may take other arguments and draw the graph itself."""
        parameters = list(inspect.signature(type(self).__init__).parameters)
        return type(self) in (Functional, Model) or parameters[1:3] == ["inputs", "outputs"]

    @classmethod
    def from_config(cls, config, custom_objects=None):
        from .functional_config import is_graph_config, model_from_graph_config

        if is_graph_config(config):
            return model_from_graph_config(cls, config, custom_objects)
        return super().from_config(config)

    def to_json(self, **kwargs):
        import json

        from .registry import serialize_keras_object

        return json.dumps(serialize_keras_object(self), **kwargs)

    def get_build_config(self):
        return None if self._graph is not None else super().get_build_config()

    def save(self, filepath, overwrite=True, zipped=None, **kwargs):
        """Writes the whole model: .keras, or .h5 for older programs."""
        from ..saving import save_model

        save_model(self, filepath, overwrite=overwrite, **kwargs)

    def save_weights(self, filepath, overwrite=True, **kwargs):
        from ..saving import save_weights

        save_weights(self, filepath, overwrite=overwrite, **kwargs)

    def load_weights(self, filepath, skip_mismatch=False, **kwargs):
        from ..saving import load_weights

        return load_weights(self, filepath, skip_mismatch=skip_mismatch, **kwargs)

    def quantize(self, mode=None, config=None, filters=None, type_check=True):
        """Keeps the weights of Dense, EinsumDense and Embedding layers in int8; `filters` say which (regular expressions or a function)."""
        from .quantizing import quantize

        quantize(self, mode, config, filters, type_check)

    def export(self, filepath, format="tf_saved_model", verbose=None, input_signature=None, **kwargs):
        """Writes the call of the model, traced, with its variables: tf.saved_model.load(filepath).serve(x) runs it."""
        from ..saving import export_model

        return export_model(self, filepath, format=format, verbose=verbose, input_signature=input_signature, **kwargs)

    def _to_save(self):
        """For tf.saved_model.save."""
        from ..saving.exporting import Exported

        return Exported(self)


class Functional(Model):
    """A model drawn up with KerasTensors."""

    _keras_module = "keras.src.models.functional"

    def __init__(self, inputs, outputs, name=None, **kwargs):
        super().__init__(inputs, outputs, name=name, **kwargs)


def _of_any_batch(tensor):
    return TensorSpec([None, *tensor.shape[1:]] if len(tensor.shape) else [], tensor.dtype)


def _is_functional(args, kwargs):
    if len(args) >= 2 or len(args) == 1 and "outputs" in kwargs or "inputs" in kwargs and "outputs" in kwargs:
        first = args[0] if args else kwargs["inputs"]
        return bool(keras_tensors(first)) or not is_shape(first)
    return False
