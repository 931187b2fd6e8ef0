"""A graph of layers between input and output KerasTensors."""
from ... import _ops, _tandem
from ..._gradient import flatten, pack_like
from ..._sparse import SparseTensor, to_dense
from .keras_tensor import KerasTensor
from .tracking import unique


class LayerGraph:
    """The uses of layers that lead from `inputs` to `outputs`, in an order in which they can run."""

    def __init__(self, inputs, outputs, any_sizes=False, owner="functional"):
        self.inputs, self.outputs, self.owner = inputs, outputs, owner  # `owner` is the name of the model
        self._any_sizes = any_sizes  # only the number of axes must fit; the layers see to the rest
        self.input_tensors, self.output_tensors = flatten(inputs), flatten(outputs)
        for kind, tensors in (("inputs", self.input_tensors), ("outputs", self.output_tensors)):
            for tensor in tensors:
                if not isinstance(tensor, KerasTensor):
                    raise ValueError(
                        f"All `{kind}` values must be KerasTensors. Received: {kind}={tensor!r} of type {type(tensor)}"
                    )
        if len({id(t) for t in self.input_tensors}) != len(self.input_tensors):
            raise ValueError(f"The list of inputs to the model is redundant. All inputs should only appear once: {inputs}")
        self._ends = {id(t) for t in self.input_tensors}
        self.nodes, self._indices = self._sorted()
        self._check_connected()
        # A layer whose output serves as an input of this model is no part of it.
        self.nodes = [node for node in self.nodes if not node.inputs or not self._is_input(node)]
        self.layers = self._layers_by_depth()

    def _sorted(self):
        """Depth first from the outputs, each use after what it reads; as Keras counts layers."""
        done, on_path, nodes, indices = set(), set(), [], {}

        def visit(tensor):
            stack = [(tensor, None)]
            while stack:
                tensor, pending = stack.pop()
                history = tensor._keras_history
                if history is None:
                    raise ValueError(f"{tensor} does not come from an Input or a layer")
                node = history.node
                if pending is None:
                    if id(node) in done:
                        continue
                    if id(node) in on_path:
                        raise ValueError(f"Tensor {tensor} from operation '{node.operation.name}' is part of a cycle.")
                    indices.setdefault(id(node.operation), len(indices))
                    on_path.add(id(node))
                    pending = [] if id(tensor) in self._ends else list(node.inputs)
                if pending:
                    stack.append((tensor, pending[1:]))
                    stack.append((pending[0], None))
                else:
                    done.add(id(node))
                    on_path.discard(id(node))
                    nodes.append(node)

        for tensor in self.output_tensors:
            visit(tensor)
        for tensor in self.input_tensors:  # those that lead nowhere
            visit(tensor)
        return nodes, indices

    def _check_connected(self):
        for node in self.nodes:
            if not node.inputs and not self._is_input(node):
                raise ValueError(
                    f"Graph disconnected: cannot obtain value for tensor {node.outputs[0]} at operation "
                    f"'{node.operation.name}'. It is no input of this model."
                )

    def _layers_by_depth(self):
        depths, of_layer = {}, {}
        for node in reversed(self.nodes):
            depth = max(depths.get(id(node), 0), of_layer.get(id(node.operation), 0))
            depths[id(node)] = of_layer[id(node.operation)] = depth
            for parent in self.parents_of(node):
                depths[id(parent)] = max(depth + 1, depths.get(id(parent), 0))
        layers = unique(node.operation for node in self.nodes)
        deepest = max(of_layer.values(), default=0)
        inputs = {id(t._keras_history.operation) for t in self.input_tensors}
        # Inputs that lead nowhere stand at the beginning as well.
        depth = {id(l): max(of_layer[id(l)], deepest if id(l) in inputs and not self._consumers(l) else 0) for l in layers}
        return sorted(layers, key=lambda layer: (-depth[id(layer)], self._indices[id(layer)]))

    def parents_of(self, node):
        """The uses of layers, within this graph, whose outputs this one reads."""
        return [] if self._is_input(node) else node.parents

    def _is_input(self, node):
        return all(id(t) in self._ends for t in node.outputs)

    def _consumers(self, layer):
        made = {id(t) for node in self.nodes if node.operation is layer for t in node.outputs}
        return any(id(t) in made for node in self.nodes for t in node.inputs)

    # --- Running ---

    def run(self, inputs, training=None, mask=None):
        """The outputs for these inputs, nested as the outputs of the model are."""
        values = {id(t): v for t, v in zip(self.input_tensors, self._conform(inputs))}
        if mask is not None:
            for tensor, m in zip(self.input_tensors, flatten(mask)):
                if m is not None:
                    values[id(tensor)]._keras_mask = m
        for node in self.nodes:
            if self._is_input(node):
                continue
            args, kwargs = node.arguments(values)
            signature = getattr(node.operation, "_signature", None)
            if training is not None and signature is not None and signature.takes_training:
                kwargs["training"] = training  # files of Keras hold what it was when the model was drawn
            outputs = node.operation(*args, **kwargs)
            for tensor, value in zip(node.outputs, flatten(outputs)):
                values[id(tensor)] = value
        if isinstance(self.outputs, (list, tuple)) and len(self.output_tensors) == 1:
            return values[id(self.output_tensors[0])]  # a list of one output gives the output, as in Keras
        return pack_like(self.outputs, iter([values[id(t)] for t in self.output_tensors]))

    def _conform(self, inputs):
        """One tensor for each input of the model: by name from a dict, by order else, with the rank and dtype asked for."""
        if isinstance(inputs, dict) and not isinstance(self.inputs, dict):
            by_name = {t._keras_history.operation.name: t for t in self.input_tensors}
            missing = [name for name in by_name if name not in inputs]
            if missing:
                raise ValueError(f"Missing data for input \"{missing[0]}\". You passed a data dictionary with keys "
                                 f"{list(inputs)}. Expected the following keys: {list(by_name)}")  # fmt: skip
            leaves = [inputs[name] for name in by_name]
        elif isinstance(inputs, dict):
            missing = [key for key in self.inputs if key not in inputs]
            if missing:
                raise ValueError(f"Missing data for input \"{missing[0]}\". You passed a data dictionary with keys "
                                 f"{list(inputs)}. Expected the following keys: {list(self.inputs)}")  # fmt: skip
            leaves = flatten({key: inputs[key] for key in self.inputs})
        else:
            leaves = flatten(inputs)
        if len(leaves) != len(self.input_tensors):
            raise ValueError(
                f"Functional model expects {len(self.input_tensors)} input(s), but it received {len(leaves)} instead, of "
                f"shapes {[tuple(getattr(leaf, 'shape', ())) for leaf in leaves]}"
            )
        return [self._fit(i, leaf) for i, leaf in enumerate(leaves)]

    def _fit(self, index, value):
        """The value with the rank and the dtype of an input."""
        tensor = self.input_tensors[index]
        if isinstance(value, KerasTensor):
            return value
        value = _tandem.to_tensor(to_dense(value) if isinstance(value, SparseTensor) else value)
        mask = getattr(value, "_keras_mask", None)
        rank = len(tensor.shape)
        if value.ndim == rank - 1 and tensor.shape[-1] == 1:
            value = _ops.expand_dims(value, -1)
        elif value.ndim == rank + 1 and value.shape[-1] == 1:
            value = _ops.squeeze(value, -1)
        self._check_shape(index, tensor, tuple(value.shape))
        if value.dtype.name != tensor.dtype and value.dtype.name != "string":
            value = _ops.cast(value, tensor.dtype)
        if mask is not None and getattr(value, "_keras_mask", None) is None:
            value._keras_mask = mask
        return value

    def _check_shape(self, index, tensor, got):
        wanted = tuple(tensor.shape)
        name = tensor._keras_history.operation.name if tensor._keras_history else tensor.name
        if len(got) != len(wanted):
            raise ValueError(f"Invalid input shape for input {index} with name '{name}'. Expected shape {wanted}, but input has incompatible shape {got}")
        if not self._any_sizes and any(want not in (None, size) for want, size in zip(wanted, got)):
            raise ValueError(f"Input {index} with name '{name}' of layer '{self.owner}' is incompatible with the layer: expected shape={wanted}, found shape={got}")
