"""keras.layers. The files of this folder are loaded when a name of theirs is used."""
import importlib

from ... import _names
from .._engine.registry import LazyFamily

_GROUPS = {
    ".._engine.input_layer": "Input InputLayer",
    ".._engine.input_spec": "InputSpec",
    ".._engine.layer": "Layer",
    ".activation": "Activation ELU LeakyReLU PReLU ReLU Softmax",
    ".attention": "AdditiveAttention Attention",
    ".augmentation": "RandomBrightness RandomContrast RandomRotation RandomTranslation RandomZoom",
    ".batch_normalization": "BatchNormalization",
    ".bidirectional": "Bidirectional",
    ".adaptive_pooling": "AdaptiveAveragePooling1D AdaptiveAveragePooling2D AdaptiveAveragePooling3D "
    "AdaptiveMaxPooling1D AdaptiveMaxPooling2D AdaptiveMaxPooling3D",
    ".cells": "GRUCell LSTMCell SimpleRNNCell StackedRNNCells",
    ".colours": "AutoContrast Equalization RandomColorDegeneration RandomColorJitter RandomGaussianBlur RandomGrayscale RandomHue RandomInvert "
    "RandomPosterization RandomSaturation RandomSharpness Solarization",
    ".convolution": "Conv1D Conv2D Conv3D",
    ".conv_lstm": "ConvLSTM1D ConvLSTM2D ConvLSTM3D",
    ".dense": "Dense",
    ".depthwise": "DepthwiseConv1D DepthwiseConv2D SeparableConv1D SeparableConv2D",
    ".dropout": "AlphaDropout Dropout GaussianDropout GaussianNoise SpatialDropout1D SpatialDropout2D SpatialDropout3D",
    ".einsum_dense": "EinsumDense",
    ".embedding": "Embedding Masking",
    ".encoding": "CategoryEncoding HashedCrossing Hashing",
    ".feature_normalization": "Discretization Normalization",
    ".global_pooling": "GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D "
    "GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D",
    ".images": "CenterCrop RandomCrop RandomFlip Resizing",
    ".lookup": "IntegerLookup StringLookup",
    ".margins": "Cropping1D Cropping2D Cropping3D UpSampling1D UpSampling2D UpSampling3D "
    "ZeroPadding1D ZeroPadding2D ZeroPadding3D",
    ".merging": "Add Average Concatenate Dot Maximum Minimum Multiply Subtract "
    "add average concatenate dot maximum minimum multiply subtract",
    ".mel_spectrogram": "MelSpectrogram",
    ".mixing": "CutMix MixUp RandomErasing",
    ".multi_head_attention": "GroupedQueryAttention MultiHeadAttention",
    ".normalization": "GroupNormalization LayerNormalization RMSNormalization UnitNormalization",
    ".perspective": "RandomElasticTransform RandomPerspective",
    ".pipeline": "MaxNumBoundingBoxes Pipeline",
    ".pooling": "AveragePooling1D AveragePooling2D AveragePooling3D MaxPooling1D MaxPooling2D MaxPooling3D",
    ".rand_augment": "RandAugment RandomShear",
    ".recurrent": "GRU LSTM SimpleRNN",
    ".reshaping": "Flatten Permute RepeatVector Reshape",
    ".reversible_embedding": "ReversibleEmbedding",
    ".rnn": "RNN",
    ".saved_model_layer": "TFSMLayer",
    ".simple": "ActivityRegularization Identity Lambda Rescaling",
    ".spectrogram": "STFTSpectrogram",
    ".spectral_normalization": "SpectralNormalization",
    ".text_vectorization": "TextVectorization",
    ".transposed": "Conv1DTranspose Conv2DTranspose Conv3DTranspose",
    ".wrappers": "TimeDistributed Wrapper",
}
_PLACES = {name: group for group, names in _GROUPS.items() for name in names.split()}
_ALIASES = {
    "GroupQueryAttention": "GroupedQueryAttention", "Convolution1D": "Conv1D", "Convolution2D": "Conv2D", "Convolution3D": "Conv3D",
    "Convolution1DTranspose": "Conv1DTranspose", "Convolution2DTranspose": "Conv2DTranspose", "Convolution3DTranspose": "Conv3DTranspose",
    "SeparableConvolution1D": "SeparableConv1D", "SeparableConvolution2D": "SeparableConv2D",
    "MaxPool1D": "MaxPooling1D", "MaxPool2D": "MaxPooling2D", "MaxPool3D": "MaxPooling3D",
    "AvgPool1D": "AveragePooling1D", "AvgPool2D": "AveragePooling2D", "AvgPool3D": "AveragePooling3D",
    "GlobalMaxPool1D": "GlobalMaxPooling1D", "GlobalMaxPool2D": "GlobalMaxPooling2D",
    "GlobalMaxPool3D": "GlobalMaxPooling3D", "GlobalAvgPool1D": "GlobalAveragePooling1D",
    "GlobalAvgPool2D": "GlobalAveragePooling2D", "GlobalAvgPool3D": "GlobalAveragePooling3D",
}  # fmt: skip
__all__ = [*_PLACES, *_ALIASES, "deserialize", "serialize"]


def __getattr__(name):
    real = _ALIASES.get(name, name)
    if real not in _PLACES:
        raise AttributeError(_names.complaint(__name__, name, __all__))
    value = globals()[name] = getattr(importlib.import_module(_PLACES[real], __name__), real)
    return value


def __dir__():
    return sorted(__all__)


_NO_LAYERS = {"Input", "InputSpec"} | {name for name in _PLACES if name.islower()}
family = LazyFamily("layer", "keras.layers", __name__, [name for name in _PLACES if name not in _NO_LAYERS], _ALIASES)


def serialize(layer):
    """The object's configuration, from which deserialize makes it anew."""
    return family.serialize(layer)


def deserialize(config, custom_objects=None):
    """An object made from its configuration, or found by its name."""
    return family.deserialize(config, custom_objects)
