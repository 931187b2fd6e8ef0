"""keras.layers.Conv1DTranspose, Conv2DTranspose and Conv3DTranspose."""
from ..._conv import conv1d_transpose, conv2d_transpose
from ..._conv3d import conv3d_transpose
from ._configured import positive_tuple
from .convolution import ConvolutionLayer, of_rank

_CONVOLUTIONS = {1: conv1d_transpose, 2: conv2d_transpose, 3: conv3d_transpose}


def output_length(length, window, stride, padding, output_padding, dilation):
    """How long an axis is after a transposed convolution."""
    reach = (window - 1) * dilation + 1
    if output_padding is None:
        return length * stride + (max(reach - stride, 0) if padding == "valid" else 0)
    cut = 0 if padding == "valid" else 2 * (reach // 2)
    return (length - 1) * stride + reach - cut + output_padding


class _ConvTranspose(ConvolutionLayer):
    _shrinks = False

    def __init__(self, filters, kernel_size, strides=1, padding="valid", output_padding=None, data_format=None,
                 dilation_rate=1, activation=None, use_bias=True, kernel_initializer="glorot_uniform",
                 bias_initializer="zeros", kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None,
                 kernel_constraint=None, bias_constraint=None, **kwargs):  # fmt: skip
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self._set_up(filters=filters, kernel_size=kernel_size, strides=strides, padding=padding,
                     output_padding=output_padding, data_format=data_format, dilation_rate=dilation_rate,
                     activation=activation, use_bias=use_bias, kernel_initializer=kernel_initializer,
                     bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer,
                     bias_regularizer=bias_regularizer, kernel_constraint=kernel_constraint,
                     bias_constraint=bias_constraint)  # fmt: skip

    def _set_up(self, *, filters, output_padding, **others):
        super()._set_up(**others)
        self.filters = filters
        self.output_padding = output_padding
        if output_padding is not None:
            self.output_padding = positive_tuple(self, "output_padding", output_padding, self._rank, allow_zero=True)
            for pad, stride in zip(self.output_padding, self.strides):
                if pad >= stride:
                    raise ValueError(
                        f"The output padding must be strictly less than the strides. Received: output_padding="
                        f"{self.output_padding}, strides={self.strides}"
                    )

    def build(self, input_shape):
        self.kernel = self._add_kernel((*self.kernel_size, self.filters, self._channels(input_shape)))
        self._add_bias(self.filters)

    def _convolve(self, x):
        extra = self.output_padding or (None,) * self._rank
        sizes = zip(x.shape.as_list()[1:-1], self.kernel_size, self.strides, extra, self.dilation_rate)
        lengths = [output_length(n, k, s, self.padding, e, d) for n, k, s, e, d in sizes]
        shape = [x.shape[0], *lengths, self.filters]
        transposed = _CONVOLUTIONS[self._rank]
        return transposed(x, self.kernel, shape, self.strides, self.padding.upper(), dilations=self.dilation_rate)


@of_rank(1)
class Conv1DTranspose(_ConvTranspose):
    """The way back of a convolution over a sequence."""


@of_rank(2)
class Conv2DTranspose(_ConvTranspose):
    """The way back of a convolution over an image."""


@of_rank(3)
class Conv3DTranspose(_ConvTranspose):
    """The way back of a convolution over a volume."""

    # Keras has data_format before output_padding here.
    def __init__(self, filters, kernel_size, strides=1, padding="valid", data_format=None, output_padding=None,
                 dilation_rate=1, activation=None, use_bias=True, kernel_initializer="glorot_uniform",
                 bias_initializer="zeros", kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None,
                 kernel_constraint=None, bias_constraint=None, **kwargs):  # fmt: skip
        super().__init__(filters, kernel_size, strides, padding, output_padding, data_format, dilation_rate, activation, use_bias,
                         kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
                         kernel_constraint, bias_constraint, **kwargs)  # fmt: skip
