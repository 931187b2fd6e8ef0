"""keras.layers."""
from .._engine.input_layer import Input, InputLayer
from .._engine.input_spec import InputSpec
from .._engine.layer import Layer
from .._engine.registry import Family
from .activation import ELU, Activation, LeakyReLU, PReLU, ReLU, Softmax
from .batch_normalization import BatchNormalization
from .convolution import Conv1D, Conv2D, Conv3D
from .dense import Dense
from .depthwise import DepthwiseConv1D, DepthwiseConv2D, SeparableConv1D, SeparableConv2D
from .dropout import AlphaDropout, Dropout, GaussianDropout, GaussianNoise, SpatialDropout1D, SpatialDropout2D, SpatialDropout3D
from .embedding import Embedding, Masking
from .global_pooling import (
    GlobalAveragePooling1D,
    GlobalAveragePooling2D,
    GlobalAveragePooling3D,
    GlobalMaxPooling1D,
    GlobalMaxPooling2D,
    GlobalMaxPooling3D,
)
from .margins import (
    Cropping1D,
    Cropping2D,
    Cropping3D,
    UpSampling1D,
    UpSampling2D,
    UpSampling3D,
    ZeroPadding1D,
    ZeroPadding2D,
    ZeroPadding3D,
)
from .merging import (
    Add,
    Average,
    Concatenate,
    Dot,
    Maximum,
    Minimum,
    Multiply,
    Subtract,
    add,
    average,
    concatenate,
    dot,
    maximum,
    minimum,
    multiply,
    subtract,
)
from .normalization import GroupNormalization, LayerNormalization, RMSNormalization, UnitNormalization
from .pooling import AveragePooling1D, AveragePooling2D, AveragePooling3D, MaxPooling1D, MaxPooling2D, MaxPooling3D
from .reshaping import Flatten, Permute, RepeatVector, Reshape
from .simple import ActivityRegularization, Identity, Lambda, Rescaling
from .transposed import Conv1DTranspose, Conv2DTranspose
from .wrappers import TimeDistributed, Wrapper

Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
Convolution1DTranspose, Convolution2DTranspose = Conv1DTranspose, Conv2DTranspose
SeparableConvolution1D, SeparableConvolution2D = SeparableConv1D, SeparableConv2D
MaxPool1D, MaxPool2D, MaxPool3D = MaxPooling1D, MaxPooling2D, MaxPooling3D
AvgPool1D, AvgPool2D, AvgPool3D = AveragePooling1D, AveragePooling2D, AveragePooling3D
GlobalMaxPool1D, GlobalMaxPool2D, GlobalMaxPool3D = GlobalMaxPooling1D, GlobalMaxPooling2D, GlobalMaxPooling3D
GlobalAvgPool1D, GlobalAvgPool2D, GlobalAvgPool3D = GlobalAveragePooling1D, GlobalAveragePooling2D, GlobalAveragePooling3D

family = Family("layer", "keras.layers", [c for c in list(globals().values()) if isinstance(c, type) and issubclass(c, Layer)])


def serialize(layer):
    return family.serialize(layer)


def deserialize(config, custom_objects=None):
    return family.deserialize(config, custom_objects)
