"""keras.utils.FeatureSpace: the columns of a table, each made ready for a model in its own way."""
from ... import _ops, _tandem
from ..._dataset import Dataset
from .. import layers
from .._engine.naming import unique_name
from .._engine.registry import Family, deserialize_keras_object, serialize_keras_object

_PLACE = "keras.src.layers.preprocessing.feature_space"  # what files call the module of the parts


class _Part:
    """What a FeatureSpace is made of: its configuration is its attributes."""

    _keras_module = _PLACE

    def get_config(self):
        return dict(self.__dict__)

    @classmethod
    def from_config(cls, config):
        return cls(**{name: deserialize_keras_object(value) for name, value in config.items()})


class Feature(_Part):
    """A column: its dtype, the layer that reads it, and how the result is encoded."""

    def __init__(self, dtype, preprocessor, output_mode):
        if output_mode not in ("int", "one_hot", "float"):
            raise ValueError(
                "Invalid value for argument `output_mode`. Expected one of {'int', 'one_hot', 'float'}. " f"Received: output_mode={output_mode}"
            )
        self.dtype, self.preprocessor, self.output_mode = dtype, preprocessor, output_mode


class Cross(_Part):
    """Columns whose combinations are counted as one."""

    def __init__(self, feature_names, crossing_dim, output_mode="one_hot"):
        if output_mode not in ("int", "one_hot"):
            raise ValueError(f"Invalid value for argument `output_mode`. Expected one of {{'int', 'one_hot'}}. Received: output_mode={output_mode}")
        self.feature_names, self.crossing_dim, self.output_mode = tuple(feature_names), crossing_dim, output_mode

    @property
    def name(self):
        return "_X_".join(self.feature_names)


class TFDIdentity(layers.Identity):
    """A column as it is; named as in files."""

    _keras_module = _PLACE


class TFDConcat(layers.Concatenate):
    """The columns side by side; named as in files."""

    _keras_module = _PLACE


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


class FeatureSpace(layers.Layer):
    """FeatureSpace({"age": "float_normalized", "town": "string_categorical"}): adapt(dataset), then call it with dicts of columns."""

    _keras_module = "keras.utils"

    def __init__(self, features, output_mode="concat", crosses=None, crossing_dim=32, hashing_dim=32, num_discretization_bins=32, name=None):
        super().__init__(name=name)
        if not features:
            raise ValueError("The `features` argument cannot be None or empty.")
        if output_mode not in ("concat", "dict"):
            raise ValueError(f"output_mode must be 'concat' or 'dict', got {output_mode!r}")
        self.crossing_dim, self.hashing_dim, self.num_discretization_bins = crossing_dim, hashing_dim, num_discretization_bins
        self.output_mode = output_mode
        self.features = {key: self._feature(key, value) for key, value in features.items()}
        self.crosses = [self._cross(value) for value in crosses or []]
        self.preprocessors = {key: feature.preprocessor for key, feature in self.features.items()}
        self.crossers = {cross.name: layers.HashedCrossing(cross.crossing_dim, name=cross.name) for cross in self.crosses}
        self.inputs = {key: layers.Input((1,), dtype=feature.dtype, name=key) for key, feature in self.features.items()}
        self.one_hot_encoders, self.concat, self._encoded = {}, None, None
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
        return Feature("float32", TFDIdentity(dtype="float32", name=_named(name, "float")), "float")

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
        self._adapted = self.built = True
        self.get_encoded_features()  # makes the encoders, which files mention

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
        if name not in self.one_hot_encoders:
            layer = self.preprocessors.get(name) or self.crossers[name]
            self.one_hot_encoders[name] = layers.CategoryEncoding(num_tokens=_cardinality(name, layer), output_mode="multi_hot")
        return self.one_hot_encoders[name](value)

    def _joined(self, encoded):
        for name, value in encoded.items():
            dtype = getattr(value.dtype, "name", value.dtype)
            if dtype == "string" or dtype.startswith("int"):
                raise ValueError(
                    f"Cannot concatenate features because feature '{name}' has not been encoded (it has dtype {dtype}). "
                    "Consider using `output_mode='dict'`."
                )
        if len(encoded) == 1:
            return next(iter(encoded.values()))
        self.concat = self.concat or TFDConcat(axis=-1)
        return self.concat(list(encoded.values()))

    # --- Files. ---

    def get_config(self):
        names = ("output_mode", "crossing_dim", "hashing_dim", "num_discretization_bins")
        parts = {"features": serialize_keras_object(self.features), "crosses": serialize_keras_object(self.crosses)}
        return {**parts, **{name: getattr(self, name) for name in names}}

    @classmethod
    def from_config(cls, config):
        parts = {name: deserialize_keras_object(config[name]) for name in ("features", "crosses")}
        return cls(**{**config, **parts})

    def get_build_config(self):
        return {name: layer.get_build_config() or {} for name, layer in self.preprocessors.items()}

    def build_from_config(self, config):
        for name, layer in self.preprocessors.items():
            if config.get(name) and not layer.built:
                layer.build_from_config(config[name])
        self._adapted = True  # what was learned comes from the file

    def save(self, filepath):
        """Writes a .keras file, which keras.models.load_model reads."""
        from ..saving import save_model

        save_model(self, filepath)


def _named(name, kind):
    return f"{name or unique_name(kind)}_preprocessor"


def _column(tensor):
    return _ops.reshape(tensor, [1, 1]) if tensor.ndim == 0 else _ops.expand_dims(tensor, -1) if tensor.ndim == 1 else tensor


family = Family("part of a FeatureSpace", "keras.utils", [FeatureSpace, Feature, Cross, TFDIdentity, TFDConcat])
