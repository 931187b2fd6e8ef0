"""keras.layers.SimpleRNN, LSTM and GRU: RNN with a cell of their own."""
from .._engine.input_spec import InputSpec
from .._engine.layer import Layer
from .._engine.naming import snake_case
from ._configured import ConfiguredLayer
from .cells import GRUCell, LSTMCell, SimpleRNNCell
from .rnn import RNN


def _of_cell(name):
    return property(lambda self: getattr(self.cell, name))


class _Recurrent(RNN):
    _writes_activity_regularizer = True

    def get_config(self):
        config = ConfiguredLayer.get_config(self)
        config.pop("use_cudnn", None)
        basic = {name: config.pop(name) for name in ("name", "trainable", "dtype")}
        return {**basic, **{name: getattr(self, name) for name in _OF_LOOP}, **{name: value for name, value in config.items() if name not in _OF_LOOP}}

    @classmethod
    def from_config(cls, config):
        return Layer.from_config.__func__(cls, config)


_OF_LOOP = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "zero_output_for_mask")  # which Keras writes first

for _name in ("units", "activation", "recurrent_activation", "use_bias", "unit_forget_bias", "reset_after", "dropout",
              "recurrent_dropout", "seed", "kernel_initializer", "recurrent_initializer", "bias_initializer",
              "kernel_regularizer", "recurrent_regularizer", "bias_regularizer", "kernel_constraint",
              "recurrent_constraint", "bias_constraint"):  # fmt: skip
    setattr(_Recurrent, _name, _of_cell(_name))


class SimpleRNN(_Recurrent):
    """A fully connected recurrent layer."""

    def __init__(self, units, activation="tanh", use_bias=True, kernel_initializer="glorot_uniform",
                 recurrent_initializer="orthogonal", bias_initializer="zeros", kernel_regularizer=None,
                 recurrent_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
                 recurrent_constraint=None, bias_constraint=None, dropout=0.0, recurrent_dropout=0.0,
                 return_sequences=False, return_state=False, go_backwards=False, stateful=False, unroll=False, seed=None,
                 **kwargs):  # fmt: skip
        cell = dict(units=units, activation=activation, use_bias=use_bias, kernel_initializer=kernel_initializer,
                    recurrent_initializer=recurrent_initializer, bias_initializer=bias_initializer,
                    kernel_regularizer=kernel_regularizer, recurrent_regularizer=recurrent_regularizer,
                    bias_regularizer=bias_regularizer, kernel_constraint=kernel_constraint,
                    recurrent_constraint=recurrent_constraint, bias_constraint=bias_constraint, dropout=dropout,
                    recurrent_dropout=recurrent_dropout, seed=seed)  # fmt: skip
        layer = dict(return_sequences=return_sequences, return_state=return_state, go_backwards=go_backwards,
                     stateful=stateful, unroll=unroll, activity_regularizer=activity_regularizer)  # fmt: skip
        _make(self, SimpleRNNCell, cell, layer, kwargs)

    def get_config(self):
        config = super().get_config()
        del config["seed"]  # as in Keras
        return config


class LSTM(_Recurrent):
    """Long short-term memory."""

    def __init__(self, units, activation="tanh", recurrent_activation="sigmoid", use_bias=True,
                 kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
                 unit_forget_bias=True, kernel_regularizer=None, recurrent_regularizer=None, bias_regularizer=None,
                 activity_regularizer=None, kernel_constraint=None, recurrent_constraint=None, bias_constraint=None,
                 dropout=0.0, recurrent_dropout=0.0, seed=None, return_sequences=False, return_state=False,
                 go_backwards=False, stateful=False, unroll=False, use_cudnn="auto", **kwargs):  # fmt: skip
        cell = dict(units=units, activation=activation, recurrent_activation=recurrent_activation, use_bias=use_bias,
                    kernel_initializer=kernel_initializer, recurrent_initializer=recurrent_initializer,
                    bias_initializer=bias_initializer, unit_forget_bias=unit_forget_bias,
                    kernel_regularizer=kernel_regularizer, recurrent_regularizer=recurrent_regularizer,
                    bias_regularizer=bias_regularizer, kernel_constraint=kernel_constraint,
                    recurrent_constraint=recurrent_constraint, bias_constraint=bias_constraint, dropout=dropout,
                    recurrent_dropout=recurrent_dropout, seed=seed)  # fmt: skip
        layer = dict(return_sequences=return_sequences, return_state=return_state, go_backwards=go_backwards,
                     stateful=stateful, unroll=unroll, activity_regularizer=activity_regularizer)  # fmt: skip
        _make(self, LSTMCell, cell, layer, kwargs)
        self.use_cudnn = use_cudnn


class GRU(_Recurrent):
    """Gated recurrent unit."""

    def __init__(self, units, activation="tanh", recurrent_activation="sigmoid", use_bias=True,
                 kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal", bias_initializer="zeros",
                 kernel_regularizer=None, recurrent_regularizer=None, bias_regularizer=None, activity_regularizer=None,
                 kernel_constraint=None, recurrent_constraint=None, bias_constraint=None, dropout=0.0,
                 recurrent_dropout=0.0, seed=None, return_sequences=False, return_state=False, go_backwards=False,
                 stateful=False, unroll=False, reset_after=True, use_cudnn="auto", **kwargs):  # fmt: skip
        cell = dict(units=units, activation=activation, recurrent_activation=recurrent_activation, use_bias=use_bias,
                    kernel_initializer=kernel_initializer, recurrent_initializer=recurrent_initializer,
                    bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer,
                    recurrent_regularizer=recurrent_regularizer, bias_regularizer=bias_regularizer,
                    kernel_constraint=kernel_constraint, recurrent_constraint=recurrent_constraint,
                    bias_constraint=bias_constraint, dropout=dropout, recurrent_dropout=recurrent_dropout,
                    reset_after=reset_after, seed=seed)  # fmt: skip
        layer = dict(return_sequences=return_sequences, return_state=return_state, go_backwards=go_backwards,
                     stateful=stateful, unroll=unroll, activity_regularizer=activity_regularizer)  # fmt: skip
        _make(self, GRUCell, cell, layer, kwargs)
        self.use_cudnn = use_cudnn


def _make(layer, cell_class, cell_arguments, layer_arguments, kwargs):
    kwargs.pop("implementation", None)
    kwargs.pop("time_major", None)
    shared = {key: kwargs[key] for key in ("dtype", "trainable") if key in kwargs}
    cell = cell_class(**cell_arguments, **shared, name=snake_case(cell_class.__name__))
    RNN.__init__(layer, cell, **layer_arguments, **kwargs)
    layer.input_spec = InputSpec(ndim=3)
