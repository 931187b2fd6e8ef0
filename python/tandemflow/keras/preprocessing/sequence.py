"""keras.preprocessing.sequence"""
from ..utils.numeric import pad_sequences

__all__ = ["pad_sequences"]
