"""keras.layers.ConvLSTM1D, 2D and 3D: long short-term memory whose products are convolutions."""
from ... import _ops
from ..._conv import conv1d, conv2d
from ..._conv3d import conv3d
from .._engine import data_format as formats
from .._engine.input_spec import InputSpec
from .._engine.keras_tensor import KerasTensor
from ._configured import padding_word, positive_tuple
from ._images import as_given, channels_last
from .cells import LSTMCell
from .recurrent import _Recurrent, _of_cell
from .rnn import RNN

_CONVOLUTIONS = {1: conv1d, 2: conv2d, 3: conv3d}


def _length(size, window, stride, padding, dilation):
    if size is None:
        return None
    reach = (window - 1) * dilation + 1
    return -(-(size if padding == "same" else size - reach + 1) // stride)


class ConvLSTMCell(LSTMCell):
    """One step, on inputs with the channels last; the state has the size of the convolved input."""

    def __init__(self, rank, filters, kernel_size, strides=1, padding="valid", dilation_rate=1, **others):
        super().__init__(filters, **others)
        self.rank, self.filters = rank, filters
        self.kernel_size = positive_tuple(self, "kernel_size", kernel_size, rank)
        self.strides = positive_tuple(self, "strides", strides, rank)
        self.dilation_rate = positive_tuple(self, "dilation_rate", dilation_rate, rank)
        self.padding = padding_word(self, padding)
        self._sizes = None  # of the state, known when the layer is built

    def build(self, input_shape):
        if input_shape[-1] is None:
            raise ValueError(f"The channel dimension of the inputs should be defined. Found None. Full input shape received: {tuple(input_shape)}")
        self._sizes = self.state_sizes(input_shape)
        self.kernel = self._add("kernel", "kernel", (*self.kernel_size, input_shape[-1], 4 * self.filters))
        self.recurrent_kernel = self._add("recurrent_kernel", "recurrent", (*self.kernel_size, self.filters, 4 * self.filters))
        self.bias = self._add("bias", "bias", self._bias_shape(), self._bias_initializer()) if self.use_bias else None

    def state_sizes(self, input_shape):
        windows = zip(input_shape[1:-1], self.kernel_size, self.strides, self.dilation_rate)
        return tuple(_length(n, k, s, self.padding, d) for n, k, s, d in windows)

    def get_initial_state(self, batch_size=None):
        return [_ops.zeros([batch_size, *self._sizes, self.filters], self.compute_dtype) for _ in range(2)]

    def _from_state(self, state, training):
        parts = self._gate_states(state, training)
        convolve = lambda x, kernel: _CONVOLUTIONS[self.rank](x, kernel, 1, "SAME")  # noqa: E731
        if parts is None:
            return convolve(state, self.recurrent_kernel)
        kernels = _ops.split(_ops.cast(self.recurrent_kernel, state.dtype), 4, -1)
        return _ops.concat([convolve(part, kernel) for part, kernel in zip(parts, kernels)], -1)

    def call(self, inputs, states, training=False):
        state, cell = states
        x = self._dropped(inputs, training)
        z = _CONVOLUTIONS[self.rank](x, self.kernel, self.strides, self.padding.upper(), dilations=self.dilation_rate)
        z = z + self._from_state(state, training)
        if self.bias is not None:
            z = _ops.bias_add(z, self.bias)
        i, f, c, o = _ops.split(z, 4, -1)
        gate = self.recurrent_activation
        cell = gate(f) * cell + gate(i) * self.activation(c)
        state = gate(o) * self.activation(cell)
        return state, [state, cell]

    fused = None  # the op for whole sequences knows matrices only


class _ConvLSTM(_Recurrent):
    """The layer over [batch, steps, …, channels], or with the channels behind the steps."""

    _rank = 2

    def _set_up(self, cell, layer, data_format, kwargs):
        shared = {key: kwargs[key] for key in ("dtype", "trainable") if key in kwargs}
        RNN.__init__(self, ConvLSTMCell(self._rank, **cell, **shared, name="conv_lstm_cell"), **layer, **kwargs)
        self.data_format = formats.standardize(data_format)
        self.input_spec = InputSpec(ndim=self._rank + 3)

    def _inner_shape(self, shape):
        """Of one step, channels last."""
        shape = tuple(shape)
        step = (shape[0], *shape[2:])
        return step if self.data_format == "channels_last" else (step[0], *step[2:], step[1])

    def _outer_shape(self, shape):
        return shape if self.data_format == "channels_last" else (shape[0], shape[-1], *shape[1:-1])

    def build(self, sequences_shape, initial_state_shape=None):
        inner = self._inner_shape(sequences_shape)
        super().build((inner[0], sequences_shape[1], *inner[1:]))

    def call(self, sequences, initial_state=None, mask=None, training=False):
        if self.data_format == "channels_last":
            return super().call(sequences, initial_state, mask, training)
        batch, steps = sequences.shape[0], sequences.shape[1]
        flat = channels_last(_ops.reshape(sequences, [-1, *sequences.shape.as_list()[2:]]), self.data_format)
        if initial_state is not None:
            initial_state = [channels_last(state, self.data_format) for state in initial_state]
        out = super().call(_ops.reshape(flat, [batch, steps, *flat.shape.as_list()[1:]]), initial_state, mask, training)
        return tuple(map(self._back, out)) if self.return_state else self._back(out)

    def _back(self, value):
        """Channels first again, for states and outputs, of one step or of all."""
        if value.ndim == self._rank + 2:
            return as_given(value, self.data_format)
        out = as_given(_ops.reshape(value, [-1, *value.shape.as_list()[2:]]), self.data_format)
        return _ops.reshape(out, [*value.shape.as_list()[:2], *out.shape.as_list()[1:]])

    def compute_output_shape(self, sequences_shape, initial_state_shape=None):
        inner = self._inner_shape(sequences_shape)
        state = self._outer_shape((inner[0], *self.cell.state_sizes(inner), self.cell.filters))
        output = (state[0], sequences_shape[1], *state[1:]) if self.return_sequences else state
        return (output, state, state) if self.return_state else output

    def compute_output_spec(self, sequences, initial_state=None, mask=None, training=False):
        shapes = self.compute_output_shape(sequences.shape)
        make = lambda shape: KerasTensor(shape, self.compute_dtype)  # noqa: E731
        return tuple(map(make, shapes)) if self.return_state else make(shapes)

    def get_config(self):
        return {**super().get_config(), "unroll": self.unroll}


for _name in ("filters", "kernel_size", "strides", "padding", "dilation_rate"):
    setattr(_ConvLSTM, _name, _of_cell(_name))


def _of_rank(rank, name):
    class Layer(_ConvLSTM):
        _rank = rank

        def __init__(self, filters, kernel_size, strides=1, padding="valid", data_format=None, dilation_rate=1, activation="tanh",
                     recurrent_activation="sigmoid", use_bias=True, kernel_initializer="glorot_uniform", recurrent_initializer="orthogonal",
                     bias_initializer="zeros", unit_forget_bias=True, kernel_regularizer=None, recurrent_regularizer=None,
                     bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, recurrent_constraint=None,
                     bias_constraint=None, dropout=0.0, recurrent_dropout=0.0, seed=None, return_sequences=False, return_state=False,
                     go_backwards=False, stateful=False, **kwargs):  # fmt: skip
            cell = dict(filters=filters, kernel_size=kernel_size, strides=strides, padding=padding, dilation_rate=dilation_rate,
                        activation=activation, recurrent_activation=recurrent_activation, use_bias=use_bias,
                        kernel_initializer=kernel_initializer, recurrent_initializer=recurrent_initializer,
                        bias_initializer=bias_initializer, unit_forget_bias=unit_forget_bias, kernel_regularizer=kernel_regularizer,
                        recurrent_regularizer=recurrent_regularizer, bias_regularizer=bias_regularizer,
                        kernel_constraint=kernel_constraint, recurrent_constraint=recurrent_constraint,
                        bias_constraint=bias_constraint, dropout=dropout, recurrent_dropout=recurrent_dropout, seed=seed)  # fmt: skip
            layer = dict(return_sequences=return_sequences, return_state=return_state, go_backwards=go_backwards, stateful=stateful,
                         activity_regularizer=activity_regularizer)  # fmt: skip
            self._set_up(cell, layer, data_format, kwargs)

    Layer.__name__ = Layer.__qualname__ = name
    Layer.__doc__ = f"Long short-term memory by {rank}-D convolutions, over [batch, steps, …, channels]."
    return Layer


ConvLSTM1D = _of_rank(1, "ConvLSTM1D")
ConvLSTM2D = _of_rank(2, "ConvLSTM2D")
ConvLSTM3D = _of_rank(3, "ConvLSTM3D")
