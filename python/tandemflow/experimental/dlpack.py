"""Tensors handed to and taken from other libraries without a copy."""
from .. import _tandem


def to_dlpack(tf_tensor):
    """A DLPack capsule over the tensor's values; whoever takes it must not write to them."""
    return _tandem.to_tensor(tf_tensor).__dlpack__()


def from_dlpack(dlcapsule):
    """A tensor over the memory of a DLPack capsule, or of any object with __dlpack__, on the host; it must not change."""
    return _tandem.from_dlpack(dlcapsule)
