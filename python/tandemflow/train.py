"""tf.train.Example and SequenceExample, and their lists: named values, as records of data files hold them."""
from . import _message_text, _names, _tandem


class _List:
    """Values of one kind."""

    def __init__(self, value=()):
        self.value = [self._checked(v) for v in value]

    def __eq__(self, other):
        return self.value == other.value if type(other) is type(self) else NotImplemented

    def __repr__(self):
        return "".join(f"value: {self._text(v)}\n" for v in self.value)

    _text = staticmethod(str)


class BytesList(_List):
    _text = staticmethod(_message_text.quoted)

    @staticmethod
    def _checked(value):
        value = value.numpy() if hasattr(value, "numpy") else value
        if not isinstance(value, bytes):
            raise TypeError(f"{value!r} has type {type(value).__name__}, but expected one of: bytes")
        return value


class FloatList(_List):
    _text = staticmethod(_message_text.number)

    @staticmethod
    def _checked(value):
        if isinstance(value, (str, bytes)):
            raise TypeError(f"must be real number, not {type(value).__name__}")
        return float(value)


class Int64List(_List):
    @staticmethod
    def _checked(value):
        value = value.numpy() if hasattr(value, "numpy") else value
        if not hasattr(value, "__index__") and type(value).__name__ not in ("bool", "bool_"):  # NumPy's bool is no index
            raise TypeError(f"{value!r} has type {type(value).__name__}, but expected one of: int")
        return int(value)


_KINDS = {"bytes_list": BytesList, "float_list": FloatList, "int64_list": Int64List}


class Feature:
    """One list: bytes_list, float_list or int64_list."""

    def __init__(self, bytes_list=None, float_list=None, int64_list=None):
        given = {"bytes_list": bytes_list, "float_list": float_list, "int64_list": int64_list}
        chosen = [kind for kind, values in given.items() if values is not None]
        if len(chosen) > 1:
            raise ValueError(f"a Feature holds one list, got {' and '.join(chosen)}")
        self._kind = chosen[0] if chosen else None
        for kind, cls in _KINDS.items():
            setattr(self, kind, given[kind] if given[kind] is not None else cls())

    def WhichOneof(self, name):  # noqa: N802  protobuf's name
        return self._kind

    def SerializeToString(self):  # noqa: N802  protobuf's name
        """The bytes of the message."""
        from . import _sequence_message

        return _sequence_message.feature_bytes(self)

    def __repr__(self):
        return _message_text.block(self._kind, repr(getattr(self, self._kind))) if self._kind else ""


class Features:
    """Features by name."""

    def __init__(self, feature=None):
        self.feature = dict(feature or {})

    def __repr__(self):
        return _message_text.entries("feature", self.feature)


class _Message:
    """What can be made of its bytes."""

    @classmethod
    def FromString(cls, data):  # noqa: N802  protobuf's name
        example = cls()
        example.ParseFromString(data)
        return example


class Example(_Message):
    """What one record of a data file holds."""

    def __init__(self, features=None):
        self.features = features if features is not None else Features()

    def SerializeToString(self):  # noqa: N802  protobuf's name
        """The bytes of the message, keys in order."""
        kinds = {name: feature.WhichOneof("kind") for name, feature in self.features.feature.items()}
        if None in kinds.values():
            from . import _sequence_message

            return _sequence_message.example_bytes(self)
        return _tandem.serialize_example({name: (kind, getattr(self.features.feature[name], kind).value) for name, kind in kinds.items()})

    def ParseFromString(self, data):  # noqa: N802  protobuf's name
        self.features = Features()
        for name, (kind, values) in _tandem.read_example(bytes(data)).items():
            self.features.feature[name] = Feature(**{kind: _KINDS[kind](values)})
        return len(data)

    def __repr__(self):
        return _message_text.block("features", repr(self.features))


class FeatureList:
    """The steps of a sequence, a Feature each."""

    def __init__(self, feature=()):
        self.feature = list(feature)

    def __repr__(self):
        return "".join(_message_text.block("feature", repr(step)) for step in self.feature)


class FeatureLists:
    """Sequences by name."""

    def __init__(self, feature_list=None):
        self.feature_list = dict(feature_list or {})

    def __repr__(self):
        return _message_text.entries("feature_list", self.feature_list)


class SequenceExample(_Message):
    """What one record of a data file holds: features of the whole, and sequences of features."""

    def __init__(self, context=None, feature_lists=None):
        self.context = context if context is not None else Features()
        self.feature_lists = feature_lists if feature_lists is not None else FeatureLists()

    def SerializeToString(self):  # noqa: N802  protobuf's name
        """The bytes of the message, keys in order."""
        from . import _sequence_message

        return _sequence_message.write(self)

    def ParseFromString(self, data):  # noqa: N802  protobuf's name
        from . import _sequence_message

        self.context, self.feature_lists = _sequence_message.read(bytes(data))
        return len(data)

    def __repr__(self):
        return _message_text.block("context", repr(self.context)) + _message_text.block("feature_lists", repr(self.feature_lists))


__getattr__, __dir__ = _names.lazy(
    __name__,
    _names.places_of(
        _coordinator="Coordinator LooperThread",
        _moving_average="ExponentialMovingAverage",
        _checkpoint="Checkpoint",
        _event_files="summary_iterator",
        _checkpoint_manager="CheckpointManager checkpoints_iterator get_checkpoint_state latest_checkpoint list_variables load_checkpoint load_variable "
        "update_checkpoint_state",
    ),
)
