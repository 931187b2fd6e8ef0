"""keras.layers.DepthwiseConv1D/2D and SeparableConv1D/2D."""
from ... import _ops
from ..._conv import conv2d, depthwise_conv2d
from .convolution import ConvolutionLayer, of_rank


def _as_image(x, rank):
    """Sequences are images of height 1."""
    return _ops.expand_dims(x, 1) if rank == 1 else x


def _depthwise(layer, x, kernel):
    """The depthwise convolution of images; `kernel` [..., channels, multiplier]."""
    rank, strides, dilations = layer._rank, layer.strides, layer.dilation_rate
    if rank == 1:
        kernel, strides, dilations = _ops.expand_dims(kernel, 0), (1, *strides), (1, *dilations)
    return depthwise_conv2d(x, kernel, strides, layer.padding.upper(), dilations=dilations)


class _DepthwiseConv(ConvolutionLayer):
    _refuses_strided_dilation = False
    _config_first = ("depth_multiplier",)

    def __init__(self, kernel_size, strides=1, padding="valid", depth_multiplier=1, data_format=None, dilation_rate=1,
                 activation=None, use_bias=True, depthwise_initializer="glorot_uniform", bias_initializer="zeros",
                 depthwise_regularizer=None, bias_regularizer=None, activity_regularizer=None,
                 depthwise_constraint=None, bias_constraint=None, **kwargs):  # fmt: skip
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self._set_up(kernel_size=kernel_size, strides=strides, padding=padding, depth_multiplier=depth_multiplier,
                     data_format=data_format, dilation_rate=dilation_rate, activation=activation, use_bias=use_bias,
                     depthwise_initializer=depthwise_initializer, bias_initializer=bias_initializer,
                     depthwise_regularizer=depthwise_regularizer, bias_regularizer=bias_regularizer,
                     depthwise_constraint=depthwise_constraint, bias_constraint=bias_constraint)  # fmt: skip

    def build(self, input_shape):
        channels = self._channels(input_shape)
        shape = (*self.kernel_size, channels, self.depth_multiplier)
        self.kernel = self._add_kernel(shape, "kernel", "depthwise")
        self._add_bias(channels * self.depth_multiplier)

    @property
    def depthwise_kernel(self):
        return self.kernel

    def _convolve(self, x):
        out = _depthwise(self, _as_image(x, self._rank), self.kernel)
        return _ops.squeeze(out, [1]) if self._rank == 1 else out


@of_rank(1)
class DepthwiseConv1D(_DepthwiseConv):
    """Each channel of a sequence with filters of its own."""


@of_rank(2)
class DepthwiseConv2D(_DepthwiseConv):
    """Each channel of an image with filters of its own."""


class _SeparableConv(ConvolutionLayer):
    _refuses_strided_dilation = False
    _config_first = ("depth_multiplier",)

    def __init__(self, filters, kernel_size, strides=1, padding="valid", data_format=None, dilation_rate=1,
                 depth_multiplier=1, activation=None, use_bias=True, depthwise_initializer="glorot_uniform",
                 pointwise_initializer="glorot_uniform", bias_initializer="zeros", depthwise_regularizer=None,
                 pointwise_regularizer=None, bias_regularizer=None, activity_regularizer=None,
                 depthwise_constraint=None, pointwise_constraint=None, bias_constraint=None, **kwargs):  # fmt: skip
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self._set_up(filters=filters, kernel_size=kernel_size, strides=strides, padding=padding, data_format=data_format,
                     dilation_rate=dilation_rate, depth_multiplier=depth_multiplier, activation=activation,
                     use_bias=use_bias, depthwise_initializer=depthwise_initializer,
                     pointwise_initializer=pointwise_initializer, bias_initializer=bias_initializer,
                     depthwise_regularizer=depthwise_regularizer, pointwise_regularizer=pointwise_regularizer,
                     bias_regularizer=bias_regularizer, depthwise_constraint=depthwise_constraint,
                     pointwise_constraint=pointwise_constraint, bias_constraint=bias_constraint)  # fmt: skip

    def build(self, input_shape):
        channels = self._channels(input_shape)
        between = channels * self.depth_multiplier
        depthwise = (*self.kernel_size, channels, self.depth_multiplier)
        self.depthwise_kernel = self._add_kernel(depthwise, "depthwise_kernel", "depthwise")
        pointwise = ((1,) * self._rank) + (between, self.filters)
        self.pointwise_kernel = self._add_kernel(pointwise, "pointwise_kernel", "pointwise")
        self._add_bias(self.filters)

    def _convolve(self, x):
        between = _depthwise(self, _as_image(x, self._rank), self.depthwise_kernel)
        out = conv2d(between, _as_image(self.pointwise_kernel, self._rank), 1, "VALID")
        return _ops.squeeze(out, [1]) if self._rank == 1 else out


@of_rank(1)
class SeparableConv1D(_SeparableConv):
    """A depthwise convolution of a sequence, then one that mixes the channels."""


@of_rank(2)
class SeparableConv2D(_SeparableConv):
    """A depthwise convolution of an image, then one that mixes the channels."""
