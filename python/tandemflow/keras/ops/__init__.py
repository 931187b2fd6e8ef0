"""keras.ops: functions of tensors and, when models are drawn up, of KerasTensors."""
import types as _types

from ... import _names
from . import control, creation, ctc, elementwise, image, neural, numbers, products, rearranging, reductions, search, seldom, shapes, spectra, windows

for _module in (control, creation, ctc, elementwise, neural, numbers, products, rearranging, reductions, search, seldom, shapes, spectra, windows):
    for _name, _value in list(vars(_module).items()):
        _ours = getattr(_value, "__module__", "").startswith(__name__) and not _name.startswith("_")
        if isinstance(_value, _types.FunctionType) and _ours and not _value.__module__.endswith("._convert"):
            globals()[_name] = _value

from . import linalg, nn, numpy  # noqa: E402, F401  the names of Keras' groups


__getattr__, __dir__ = _names.lazy(__name__)
