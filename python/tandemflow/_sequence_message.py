"""The bytes of a tf.train.SequenceExample. Its features are written and read as those of an Example, which C++ knows."""
from ._protobuf import Field, Message
from .errors import DataLossError
from .train import Example, FeatureList, FeatureLists, Features


class _Sequence(Message):
    fields = {"context": Field(1, "bytes"), "lists": Field(2, "bytes")}


class _Parts(Message):
    """FeatureLists, FeatureList, Features: all hold messages under the number 1."""

    fields = {"parts": Field(1, "bytes", repeated=True)}


class _Entry(Message):
    fields = {"key": Field(1, "str"), "value": Field(2, "bytes")}


def feature_bytes(feature):
    """The bytes of a Feature alone."""
    features = _Parts.parse(Example(Features({"f": feature})).SerializeToString()).parts[0]
    return _Entry.parse(_Parts.parse(features).parts[0]).value


def example_bytes(example):
    """The bytes of an Example of which some features hold no list, which C++ does not write."""
    entries = [
        _Entry(key=name, value=b"" if feature.WhichOneof("kind") is None else feature_bytes(feature)).to_bytes()
        for name, feature in sorted(example.features.feature.items())
    ]
    return _Parts(parts=[_Parts(parts=entries).to_bytes()]).to_bytes()


def _feature(data):
    entry = _Entry(key="f", value=data).to_bytes()
    return Example.FromString(_Parts(parts=[_Parts(parts=[entry]).to_bytes()]).to_bytes()).features.feature["f"]


def write(example):
    entries = [
        _Entry(key=name, value=_Parts(parts=[feature_bytes(step) for step in steps.feature]).to_bytes()).to_bytes()
        for name, steps in sorted(example.feature_lists.feature_list.items())
    ]
    context = _Parts.parse(Example(example.context).SerializeToString()).parts
    return _Sequence(context=context[0] if context else b"", lists=_Parts(parts=entries).to_bytes()).to_bytes()


def read(data):
    """(context, feature_lists)"""
    try:
        message = _Sequence.parse(data)
        context = Example.FromString(_Parts(parts=[message.context]).to_bytes()).features
        entries = [_Entry.parse(entry) for entry in _Parts.parse(message.lists).parts]
        steps = {entry.key: [_feature(step) for step in _Parts.parse(entry.value).parts] for entry in entries}
    except ValueError as error:
        raise DataLossError(f"Could not parse example input: the bytes are not a serialised tf.train.SequenceExample ({error})") from None
    return context, FeatureLists({name: FeatureList(features) for name, features in steps.items()})
