"""keras.callbacks: what fit, evaluate and predict call while they run."""
import importlib

from ... import _names
from .callback import Callback
from .callback_list import CallbackList
from .history import History
from .progbar_logger import ProgbarLogger

_WHERE = {
    "BackupAndRestore": "backup_and_restore",
    "CSVLogger": "csv_logger",
    "EarlyStopping": "early_stopping",
    "LambdaCallback": "lambda_callback",
    "LearningRateScheduler": "learning_rate",
    "ModelCheckpoint": "model_checkpoint",
    "ReduceLROnPlateau": "learning_rate",
    "RemoteMonitor": "remote_monitor",
    "SwapEMAWeights": "swap_ema_weights",
    "TensorBoard": "tensorboard",
    "TerminateOnNaN": "terminate_on_nan",
}
__all__ = ["Callback", "CallbackList", "History", "ProgbarLogger", *_WHERE]


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError(_names.complaint(__name__, name, __all__))
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)


def __dir__():
    return __all__
