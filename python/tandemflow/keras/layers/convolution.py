"""keras.layers.Conv1D, Conv2D and Conv3D."""
import functools
import inspect

from ... import _ops
from ..._conv import conv1d, conv2d
from ..._conv3d import conv3d
from .._engine import data_format as formats
from .._engine.input_spec import InputSpec
from ._configured import ConfiguredLayer, padding_word, positive_tuple
from ._images import as_given, channel_axis, channels_last, is_smaller, spaced

_CONVOLUTIONS = {1: conv1d, 2: conv2d, 3: conv3d}


def of_rank(rank):
    """A decorator: the layer for so many axes of space. Strides and dilations have a default for each axis, as Keras shows them."""

    def decorate(cls):
        inherited = cls.__init__

        @functools.wraps(inherited)
        def __init__(self, *args, **kwargs):
            inherited(self, *args, **kwargs)

        signature = inspect.signature(inherited)
        defaults = {"strides": (1,) * rank, "dilation_rate": (1,) * rank} if rank > 1 else {}
        shown = [p.replace(default=defaults.get(p.name, p.default)) for p in signature.parameters.values()]
        __init__.__signature__ = signature.replace(parameters=shown)
        cls.__init__, cls._rank = __init__, rank
        return cls

    return decorate


class ConvolutionLayer(ConfiguredLayer):
    """What layers with a window share: its size, strides, padding, bias and activation."""

    _writes_activity_regularizer = True
    _rank = 2
    _paddings = ("valid", "same")
    _refuses_strided_dilation = True

    def _set_up(self, *, kernel_size, strides, padding, data_format, dilation_rate, **others):
        rank = self._rank
        self.kernel_size = positive_tuple(self, "kernel_size", kernel_size, rank)
        self.strides = positive_tuple(self, "strides", strides, rank)
        self.dilation_rate = positive_tuple(self, "dilation_rate", dilation_rate, rank)
        self.padding = padding_word(self, padding, self._paddings)
        self.data_format = formats.standardize(data_format)
        if self._refuses_strided_dilation and max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(
                "`strides > 1` not supported in conjunction with `dilation_rate > 1`. Received: "
                f"strides={self.strides} and dilation_rate={self.dilation_rate}"
            )
        self._keep(**others)
        self.input_spec = InputSpec(min_ndim=rank + 2)

    def _channels(self, input_shape):
        """The number of channels of the input, which from now on must stay."""
        axis = channel_axis(self.data_format)
        channels = input_shape[axis]
        if channels is None:
            raise ValueError(
                "The channel dimension of the inputs should be defined. The input_shape received is "
                f"{tuple(input_shape)}, where axis {axis} (0-based) is the channel dimension, which found to be `None`."
            )
        self.input_spec = InputSpec(min_ndim=self._rank + 2, axes={axis: channels})
        return channels

    def _add_kernel(self, shape, name="kernel", kind="kernel"):
        return self.add_weight(shape, getattr(self, f"{kind}_initializer"), name=name,
                               regularizer=getattr(self, f"{kind}_regularizer"),
                               constraint=getattr(self, f"{kind}_constraint"))  # fmt: skip

    def _add_bias(self, count):
        self.bias = self._add_kernel((count,), "bias", "bias") if self.use_bias else None

    def _finish(self, out):
        """Bias and activation on a result with the channels last; an activation along an axis sees the axes as they were given."""
        if self.bias is not None:
            out = _ops.bias_add(out, self.bias)
        return self._activated(as_given(out, self.data_format))

    def compute_output_spec(self, inputs, **kwargs):
        self._check_sizes(tuple(inputs.shape))
        return super().compute_output_spec(inputs, **kwargs)

    _shrinks = True  # what comes out is smaller than what goes in

    def _check_sizes(self, shape):
        if not self._shrinks or self.padding != "valid":
            return
        reach = [(size - 1) * dilation + 1 for size, dilation in zip(self.kernel_size, self.dilation_rate)]
        if not is_smaller(shape, reach, self.data_format):
            return
        channels = shape[channel_axis(self.data_format)]
        kernel = (*self.kernel_size, channels, getattr(self, "filters", None) or channels * self.depth_multiplier)
        raise ValueError(
            f"Computed output size would be zero or negative. Received `inputs shape={shape}`, `kernel shape={kernel}`, "
            f"`dilation_rate={spaced(self.dilation_rate)}`, `strides={spaced(self.strides)}`, `padding={self.padding}`."
        )

    def call(self, inputs):
        return self._finish(self._convolve(channels_last(inputs, self.data_format)))


class _Conv(ConvolutionLayer):
    _checkpoint_names = {"kernel": "_kernel"}

    def __init__(self, filters, kernel_size, strides=1, padding="valid", data_format=None, dilation_rate=1, groups=1,
                 activation=None, use_bias=True, kernel_initializer="glorot_uniform", bias_initializer="zeros",
                 kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
                 bias_constraint=None, **kwargs):  # fmt: skip
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self._set_up(filters=filters, kernel_size=kernel_size, strides=strides, padding=padding, data_format=data_format,
                     dilation_rate=dilation_rate, groups=groups, activation=activation, use_bias=use_bias,
                     kernel_initializer=kernel_initializer, bias_initializer=bias_initializer,
                     kernel_regularizer=kernel_regularizer, bias_regularizer=bias_regularizer,
                     kernel_constraint=kernel_constraint, bias_constraint=bias_constraint)  # fmt: skip

    def _set_up(self, *, filters, groups, **others):
        super()._set_up(**others)
        self.filters, self.groups = filters, groups
        if not isinstance(filters, int) or filters <= 0:
            raise ValueError(f"Invalid value for argument `filters`. Expected a strictly positive value. Received filters={filters}.")
        if groups <= 0:
            raise ValueError(f"The number of groups must be a positive integer. Received: groups={groups}.")
        if filters % groups:
            raise ValueError(
                "The number of filters must be evenly divisible by the number of groups. Received: "
                f"groups={groups}, filters={filters}."
            )

    def build(self, input_shape):
        channels = self._channels(input_shape)
        if channels % self.groups:
            raise ValueError(
                "The number of input channels must be evenly divisible by the number of groups. Received groups="
                f"{self.groups}, but the input has {channels} channels (full input shape is {tuple(input_shape)})."
            )
        self._check_sizes(tuple(input_shape))
        self.kernel = self._add_kernel((*self.kernel_size, channels // self.groups, self.filters))
        self._add_bias(self.filters)

    def convolution_op(self, inputs, kernel):
        """The convolution alone, with any kernel: for subclasses that change it first."""
        return as_given(self._convolved(channels_last(inputs, self.data_format), kernel), self.data_format)

    def _convolve(self, x):
        if type(self).convolution_op is _Conv.convolution_op:
            return self._convolved(x, self.kernel)
        return channels_last(self.convolution_op(as_given(x, self.data_format), self.kernel), self.data_format)

    def _convolved(self, x, kernel):
        leading = x.shape.as_list()[: -(self._rank + 1)]
        if len(leading) > 1:  # more batch axes than one
            x = _ops.reshape(x, [-1, *x.shape.as_list()[len(leading) :]])
        padding = self.padding.upper()
        if self.padding == "causal":
            left = self.dilation_rate[0] * (self.kernel_size[0] - 1)
            x, padding = _ops.pad(x, [[0, 0], [left, 0], [0, 0]]), "VALID"
        out = _CONVOLUTIONS[self._rank](x, kernel, self.strides, padding, dilations=self.dilation_rate)
        return _ops.reshape(out, [*leading, *out.shape.as_list()[1:]]) if len(leading) > 1 else out


@of_rank(1)
class Conv1D(_Conv):
    """A convolution over [batch, steps, channels]."""

    _paddings = ("valid", "same", "causal")


@of_rank(2)
class Conv2D(_Conv):
    """A convolution over [batch, height, width, channels]."""


@of_rank(3)
class Conv3D(_Conv):
    """A convolution over [batch, depth, height, width, channels]."""
