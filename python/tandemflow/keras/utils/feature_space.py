"""keras.utils.FeatureSpace: the columns of a table, each made ready for a model in its own way."""
from ... import _ops, _tandem
from ..._dataset import Dataset
from .. import layers


class Feature:
    """A column: its dtype, the layer that reads it, and how the result is encoded."""

    def __init__(self, dtype, preprocessor, output_mode):
        if output_mode not in ("int", "one_hot", "float"):
            raise ValueError(
                "Invalid value for argument `output_mode`. Expected one of {'int', 'one_hot', 'float'}. " f"Received: output_mode={output_mode}"
            )
        self.dtype, self.preprocessor, self.output_mode = dtype, preprocessor, output_mode


class Cross:
    """Columns whose combinations are counted as one."""

    def __init__(self, feature_names, crossing_dim, output_mode="one_hot"):
        if output_mode not in ("int", "one_hot"):
            raise ValueError(f"Invalid value for argument `output_mode`. Expected one of {{'int', 'one_hot'}}. Received: output_mode={output_mode}")
        self.feature_names, self.crossing_dim, self.output_mode = tuple(feature_names), crossing_dim, output_mode

    @property
    def name(self):
        return "_X_".join(self.feature_names)


def _needs_data(layer):
    if isinstance(layer, layers.Normalization):
        return layer.input_mean is None
    if isinstance(layer, layers.Discretization):
        return layer.bin_boundaries is None
    if isinstance(layer, (layers.TextVectorization, layers.StringLookup, layers.IntegerLookup)):
        return layer.vocabulary_size() <= 2 if isinstance(layer, layers.TextVectorization) else not layer.get_vocabulary(include_special_tokens=False)
    return hasattr(layer, "adapt")


def _cardinality(name, layer):
    """How many whole numbers the layer gives."""
    if isinstance(layer, (layers.IntegerLookup, layers.StringLookup)):
        return layer.vocabulary_size()
    if isinstance(layer, layers.CategoryEncoding):
        return layer.num_tokens
    if isinstance(layer, layers.Discretization):
        return layer.num_bins if layer.num_bins is not None else len(layer.bin_boundaries) + 1
    if isinstance(layer, (layers.HashedCrossing, layers.Hashing)):
        return layer.num_bins
    raise ValueError(
        f"Feature '{name}' has `output_mode='one_hot'`. However it isn't a standard feature and the dimensionality of its output space "
        "is not known, thus it cannot be one-hot encoded. Try using `output_mode='int'`."
    )


class FeatureSpace:
    """FeatureSpace({"age": "float_normalized", "town": "string_categorical"}): adapt(dataset), then call it with dicts of columns."""

    def __init__(self, features, output_mode="concat", crosses=None, crossing_dim=32, hashing_dim=32, num_discretization_bins=32, name=None):
        if not features:
            raise ValueError("The `features` argument cannot be None or empty.")
        if output_mode not in ("concat", "dict"):
            raise ValueError(f"output_mode must be 'concat' or 'dict', got {output_mode!r}")
        self.crossing_dim, self.hashing_dim, self.num_discretization_bins = crossing_dim, hashing_dim, num_discretization_bins
        self.output_mode, self.name = output_mode, name or "feature_space"
        self.features = {key: self._feature(key, value) for key, value in features.items()}
        self.crosses = [self._cross(value) for value in crosses or []]
        self.preprocessors = {key: feature.preprocessor for key, feature in self.features.items()}
        self.crossers = {cross.name: layers.HashedCrossing(cross.crossing_dim, name=cross.name) for cross in self.crosses}
        self.inputs = {key: layers.Input((1,), dtype=feature.dtype, name=key) for key, feature in self.features.items()}
        self._encoders, self._encoded = {}, None
        self._adapted = not any(map(_needs_data, self.preprocessors.values()))

    # --- Kinds of columns. ---

    def _feature(self, name, kind):
        if isinstance(kind, Feature):
            return kind
        sized = {"float_discretized": (self.num_discretization_bins,), "integer_hashed": (self.hashing_dim,), "string_hashed": (self.hashing_dim,)}
        kinds = ("float", "float_normalized", "float_rescaled", "float_discretized", "integer_categorical", "string_categorical",
                 "integer_hashed", "string_hashed")  # fmt: skip
        if kind not in kinds:
            raise ValueError(f"Invalid feature type: {kind}; known are {', '.join(kinds)}")
        return getattr(self, kind)(*sized.get(kind, ()), name=name)

    def _cross(self, value):
        cross = value if isinstance(value, Cross) else Cross(value, self.crossing_dim)
        for name in cross.feature_names:
            if name not in self.features:
                raise ValueError(f"All features referenced in the `crosses` argument should be present in the `features` dict. Received unknown: {name}")
        return cross

    @classmethod
    def cross(cls, feature_names, crossing_dim, output_mode="one_hot"):
        """Columns together, hashed into crossing_dim bins."""
        return Cross(feature_names, crossing_dim, output_mode)

    @classmethod
    def feature(cls, dtype, preprocessor, output_mode):
        """A column read by any layer."""
        return Feature(dtype, preprocessor, output_mode)

    @classmethod
    def float(cls, name=None):
        return Feature("float32", layers.Identity(dtype="float32", name=_named(name, "float")), "float")

    @classmethod
    def float_rescaled(cls, scale=1.0, offset=0.0, name=None):
        return Feature("float32", layers.Rescaling(scale, offset, name=_named(name, "float_rescaled")), "float")

    @classmethod
    def float_normalized(cls, name=None):
        return Feature("float32", layers.Normalization(axis=-1, name=_named(name, "float_normalized")), "float")

    @classmethod
    def float_discretized(cls, num_bins, bin_boundaries=None, output_mode="one_hot", name=None):
        layer = layers.Discretization(num_bins=None if bin_boundaries is not None else num_bins, bin_boundaries=bin_boundaries,
                                      name=_named(name, "float_discretized"))  # fmt: skip
        return Feature("float32", layer, output_mode)

    @classmethod
    def integer_categorical(cls, max_tokens=None, num_oov_indices=1, output_mode="one_hot", name=None):
        layer = layers.IntegerLookup(max_tokens=max_tokens, num_oov_indices=num_oov_indices, name=_named(name, "integer_categorical"))
        return Feature("int32", layer, output_mode)

    @classmethod
    def string_categorical(cls, max_tokens=None, num_oov_indices=1, output_mode="one_hot", name=None):
        layer = layers.StringLookup(max_tokens=max_tokens, num_oov_indices=num_oov_indices, name=_named(name, "string_categorical"))
        return Feature("string", layer, output_mode)

    @classmethod
    def string_hashed(cls, num_bins, output_mode="one_hot", name=None):
        return Feature("string", layers.Hashing(num_bins, name=_named(name, "string_hashed")), output_mode)

    @classmethod
    def integer_hashed(cls, num_bins, output_mode="one_hot", name=None):
        return Feature("int32", layers.Hashing(num_bins, name=_named(name, "integer_hashed")), output_mode)

    # --- Use. ---

    def adapt(self, dataset):
        """Learns means, vocabularies and bins from a dataset of dicts, or a dict of columns."""
        if isinstance(dataset, dict):
            dataset = Dataset.from_tensor_slices(dataset)
        if not isinstance(dataset, Dataset):
            raise ValueError(f"`adapt()` can only be called on a tf.data.Dataset or a dict of arrays/lists. Received instead: {dataset}")
        for name, layer in self.preprocessors.items():
            if not _needs_data(layer):
                continue
            column = dataset.map(lambda row, name=name: row[name])
            rank = len(next(iter(column)).shape)
            column = column.batch(32) if rank == 0 else column
            layer.adapt(column.map(lambda x: _ops.expand_dims(x, -1)) if rank < 2 else column)
        self._adapted = True

    def get_inputs(self):
        """A KerasTensor for each column."""
        return self.inputs

    def get_encoded_features(self):
        """What the space makes of get_inputs(), for a model that takes the columns themselves."""
        if self._encoded is None:
            self._encoded = self._encode(self.inputs)
        return self._encoded

    def __call__(self, data):
        if not isinstance(data, dict):
            raise ValueError(f"A FeatureSpace can only be called with a dict. Received: data={data} (of type {type(data)})")
        columns = {key: _tandem.to_tensor(value) for key, value in data.items()}
        single = any(column.ndim == 0 for column in columns.values())
        encoded = self._encode({key: _column(column) for key, column in columns.items()})
        if not single:
            return encoded
        if self.output_mode == "concat":
            return _ops.squeeze(encoded, 0)
        return {key: _ops.squeeze(value, 0) for key, value in encoded.items()}

    def _encode(self, columns):
        if not self._adapted:
            raise ValueError("You need to call `.adapt(dataset)` on the FeatureSpace before you can start using it.")
        read = {name: self.preprocessors[name](columns[name]) for name in self.features}
        crossed = {cross.name: self.crossers[cross.name]([read[name] for name in cross.feature_names]) for cross in self.crosses}
        out = {}
        for name in [*sorted(read), *sorted(crossed)]:
            spec = self.features[name] if name in self.features else next(c for c in self.crosses if c.name == name)
            value = read[name] if name in self.features else crossed[name]
            out[name] = self._one_hot(name, value) if spec.output_mode == "one_hot" else value
        return out if self.output_mode == "dict" else self._joined(out)

    def _one_hot(self, name, value):
        if name not in self._encoders:
            layer = self.preprocessors.get(name) or self.crossers[name]
            self._encoders[name] = layers.CategoryEncoding(num_tokens=_cardinality(name, layer), output_mode="multi_hot")
        return self._encoders[name](value)

    def _joined(self, encoded):
        for name, value in encoded.items():
            dtype = getattr(value.dtype, "name", value.dtype)
            if dtype == "string" or dtype.startswith("int"):
                raise ValueError(
                    f"Cannot concatenate features because feature '{name}' has not been encoded (it has dtype {dtype}). "
                    "Consider using `output_mode='dict'`."
                )
        return layers.concatenate(list(encoded.values())) if len(encoded) > 1 else next(iter(encoded.values()))


def _named(name, kind):
    return f"{name}_preprocessor" if name else None


def _column(tensor):
    return _ops.reshape(tensor, [1, 1]) if tensor.ndim == 0 else _ops.expand_dims(tensor, -1) if tensor.ndim == 1 else tensor
