"""Layers, inputs and weights for tests/data/layers_*.npz: tools/reference_layers.py runs them with Keras, test_layers.py
with ours. What is random comes from RandomState, whose numbers never change, so only answers are stored."""
import zlib

import numpy as np


def ints(high, *shape):
    """An input of whole numbers below `high`."""
    return ("int32", high, shape)


class Case:
    """A layer made by `make(keras)`, called with inputs of these shapes: as one list, or one by one."""

    def __init__(self, make, *shapes, tolerance=1e-5, one_by_one=False, **call):
        self.make, self.shapes, self.tolerance, self.call = make, shapes, tolerance, call
        self.one_by_one = one_by_one

    def arguments(self, tensors):
        """The positional arguments of the call."""
        return tuple(tensors) if self.one_by_one or len(tensors) == 1 else (list(tensors),)

    def inputs(self, name):
        random = np.random.RandomState(zlib.crc32(name.encode()))
        out = []
        for shape in self.shapes:
            if shape and shape[0] == "int32":
                out.append(random.randint(0, shape[1], shape[2]).astype(np.int32))
            else:
                out.append(random.standard_normal(shape).astype(np.float32))
        return out


def weight_values(layer):
    """Values for all variables of a built layer, the same for the same shapes and names."""
    out = []
    for i, variable in enumerate(layer.weights):
        values = np.random.RandomState(100 + i).standard_normal(tuple(variable.shape)).astype(np.float32) * 0.5
        out.append(np.abs(values) + 0.5 if "variance" in variable.name else values)
    return out


def output_weights(shape):
    """Tell the elements of a result apart: 1, 1.1, … 1.9, 1, …"""
    return (1 + np.arange(int(np.prod(shape))) % 10 / 10).reshape(shape).astype(np.float32)


def _layer(name, *args, **kwargs):
    return lambda keras: getattr(keras.layers, name)(*args, **kwargs)


CORE = {
    "dense": Case(_layer("Dense", 4, activation="tanh"), (3, 5)),
    "dense_3d": Case(_layer("Dense", 4, use_bias=False, kernel_regularizer="l2"), (2, 3, 5)),
    "embedding": Case(_layer("Embedding", 7, 4), ints(7, 3, 5)),
    "flatten": Case(_layer("Flatten"), (2, 3, 4, 5)),
    "flatten_channels_first": Case(_layer("Flatten", data_format="channels_first"), (2, 3, 4, 5)),
    "reshape": Case(_layer("Reshape", (-1, 2)), (2, 3, 4)),
    "permute": Case(_layer("Permute", (2, 1)), (2, 3, 4)),
    "repeat_vector": Case(_layer("RepeatVector", 3), (2, 4)),
    "rescaling": Case(_layer("Rescaling", 0.5, offset=-1.0), (2, 4)),
    "identity": Case(_layer("Identity"), (2, 4)),
    "masking": Case(_layer("Masking", 0.5), (2, 4, 3)),
    "activity_regularization": Case(_layer("ActivityRegularization", l1=0.1, l2=0.2), (2, 4)),
    "dropout": Case(_layer("Dropout", 0.5), (2, 4)),
    "gaussian_noise": Case(_layer("GaussianNoise", 0.5), (2, 4)),
    "gaussian_dropout": Case(_layer("GaussianDropout", 0.5), (2, 4)),
    "alpha_dropout": Case(_layer("AlphaDropout", 0.5), (2, 4)),
    "spatial_dropout1d": Case(_layer("SpatialDropout1D", 0.5), (2, 4, 3)),
    "spatial_dropout2d": Case(_layer("SpatialDropout2D", 0.5), (2, 4, 3, 2)),
    "activation": Case(_layer("Activation", "gelu"), (2, 4)),
    "relu": Case(_layer("ReLU", max_value=1.0, negative_slope=0.1, threshold=0.2), (3, 8)),
    "leaky_relu": Case(_layer("LeakyReLU"), (3, 4)),
    "prelu": Case(_layer("PReLU"), (3, 4, 5)),
    "prelu_shared": Case(_layer("PReLU", shared_axes=[1, 2]), (2, 4, 5, 3)),
    "elu": Case(_layer("ELU", alpha=0.7), (3, 4)),
    "softmax": Case(_layer("Softmax"), (3, 4)),
    "softmax_axes": Case(_layer("Softmax", axis=[1, 2]), (2, 3, 4)),
    "time_distributed": Case(lambda k: k.layers.TimeDistributed(k.layers.Dense(3, activation="relu")), (2, 4, 5)),
}

CONVOLUTION = {
    "conv1d": Case(_layer("Conv1D", 4, 3, strides=2, padding="same", activation="relu"), (2, 8, 3)),
    "conv1d_causal": Case(_layer("Conv1D", 4, 3, padding="causal", dilation_rate=2), (2, 8, 3)),
    "conv2d": Case(_layer("Conv2D", 4, 3, activation="relu"), (2, 6, 7, 3)),
    "conv2d_strided": Case(_layer("Conv2D", 4, (3, 2), strides=(2, 1), padding="same", use_bias=False), (2, 6, 7, 3)),
    "conv2d_dilated": Case(_layer("Conv2D", 4, 3, dilation_rate=2), (1, 7, 7, 2)),
    "conv2d_groups": Case(_layer("Conv2D", 6, 3, groups=2), (2, 5, 5, 4)),
    "conv3d": Case(_layer("Conv3D", 3, (2, 3, 2), strides=(2, 1, 2), padding="same"), (1, 5, 4, 6, 2)),
    "conv3d_valid": Case(_layer("Conv3D", 3, 2), (2, 3, 4, 3, 2)),
    "depthwise_conv1d": Case(_layer("DepthwiseConv1D", 3, depth_multiplier=2, padding="same"), (2, 6, 3)),
    "depthwise_conv2d": Case(_layer("DepthwiseConv2D", 3, strides=(2, 2), depth_multiplier=2, padding="same"), (2, 6, 7, 3)),
    "separable_conv1d": Case(_layer("SeparableConv1D", 4, 3, depth_multiplier=2), (2, 6, 3)),
    "separable_conv2d": Case(_layer("SeparableConv2D", 4, (3, 2), padding="same", activation="relu"), (2, 5, 6, 3)),
    "conv3d_transpose": Case(_layer("Conv3DTranspose", 3, (2, 3, 2), strides=(2, 1, 2), padding="same"), (1, 3, 4, 3, 2)),
    "conv3d_transpose_valid": Case(_layer("Conv3DTranspose", 2, 3, strides=2), (2, 2, 3, 3, 2)),
    "conv1d_transpose": Case(_layer("Conv1DTranspose", 4, 3, strides=2, padding="same"), (2, 5, 3)),
    "conv2d_transpose": Case(_layer("Conv2DTranspose", 4, 3, strides=2, padding="same"), (2, 4, 5, 3)),
    "conv2d_transpose_valid": Case(_layer("Conv2DTranspose", 3, (2, 4), strides=(3, 2)), (1, 4, 5, 2)),
    "conv2d_transpose_output_padding": Case(_layer("Conv2DTranspose", 3, 3, strides=2, padding="same", output_padding=1), (1, 4, 5, 2)),
    "max_pooling1d": Case(_layer("MaxPooling1D", 3, strides=2, padding="same"), (2, 8, 3)),
    "max_pooling2d": Case(_layer("MaxPooling2D"), (2, 6, 7, 3)),
    "max_pooling3d": Case(_layer("MaxPooling3D", 2, strides=(1, 2, 2), padding="same"), (1, 4, 5, 6, 2)),
    "average_pooling1d": Case(_layer("AveragePooling1D", 2), (2, 7, 3)),
    "average_pooling2d": Case(_layer("AveragePooling2D", 3, strides=2, padding="same"), (2, 6, 7, 3)),
    "average_pooling3d": Case(_layer("AveragePooling3D", 2, padding="same"), (1, 5, 4, 3, 2)),
    "adaptive_average_pooling1d": Case(_layer("AdaptiveAveragePooling1D", 3), (2, 8, 3)),
    "adaptive_average_pooling2d": Case(_layer("AdaptiveAveragePooling2D", (4, 3)), (2, 6, 7, 3)),
    "adaptive_average_pooling3d": Case(_layer("AdaptiveAveragePooling3D", 2), (1, 5, 4, 3, 2)),
    "adaptive_max_pooling1d": Case(_layer("AdaptiveMaxPooling1D", 4), (2, 8, 3)),
    "adaptive_max_pooling2d": Case(_layer("AdaptiveMaxPooling2D", (4, 3), data_format="channels_first"), (2, 3, 6, 7)),
    "adaptive_max_pooling3d": Case(_layer("AdaptiveMaxPooling3D", (2, 3, 1)), (1, 5, 4, 3, 2)),
    "global_max_pooling1d": Case(_layer("GlobalMaxPooling1D"), (2, 6, 3)),
    "global_max_pooling2d": Case(_layer("GlobalMaxPooling2D", keepdims=True), (2, 4, 5, 3)),
    "global_average_pooling1d": Case(_layer("GlobalAveragePooling1D"), (2, 6, 3)),
    "global_average_pooling2d": Case(_layer("GlobalAveragePooling2D", data_format="channels_first"), (2, 3, 4, 5)),
    "global_average_pooling3d": Case(_layer("GlobalAveragePooling3D"), (2, 3, 4, 2, 3)),
    "zero_padding1d": Case(_layer("ZeroPadding1D", (1, 2)), (2, 4, 3)),
    "zero_padding2d": Case(_layer("ZeroPadding2D", ((1, 0), (2, 3))), (1, 4, 3, 2)),
    "cropping1d": Case(_layer("Cropping1D", (1, 2)), (2, 6, 3)),
    "cropping2d": Case(_layer("Cropping2D", ((1, 0), (2, 1))), (1, 4, 5, 2)),
    "up_sampling1d": Case(_layer("UpSampling1D", 3), (2, 4, 3)),
    "up_sampling2d": Case(_layer("UpSampling2D", (2, 3)), (1, 3, 4, 2)),
    "up_sampling2d_bilinear": Case(_layer("UpSampling2D", (2, 3), interpolation="bilinear"), (1, 3, 4, 2)),
}

NORMALIZATION = {
    "batch_normalization": Case(_layer("BatchNormalization"), (4, 3, 5)),
    "batch_normalization_training": Case(_layer("BatchNormalization", momentum=0.8), (6, 3, 5), training=True, tolerance=5e-5),
    "batch_normalization_axis": Case(_layer("BatchNormalization", axis=1, scale=False), (4, 3, 5), training=True, tolerance=5e-5),
    "layer_normalization": Case(_layer("LayerNormalization"), (3, 4, 5)),
    "layer_normalization_axes": Case(_layer("LayerNormalization", axis=[1, 2], center=False), (3, 4, 5)),
    "layer_normalization_first_axis": Case(_layer("LayerNormalization", axis=1), (3, 4, 5)),
    "group_normalization": Case(_layer("GroupNormalization", groups=2), (2, 3, 4, 6)),
    "spectral_normalization": Case(lambda k: k.layers.SpectralNormalization(k.layers.Dense(4)), (3, 5)),
    "unit_normalization": Case(_layer("UnitNormalization"), (3, 4, 5)),
    "rms_normalization": Case(_layer("RMSNormalization"), (3, 4, 5)),
}

MERGING = {
    "add": Case(_layer("Add"), (2, 3), (2, 3), (2, 3)),
    "add_ranks": Case(_layer("Add"), (2, 4, 3), (2, 3)),
    "subtract": Case(_layer("Subtract"), (2, 3), (2, 3)),
    "multiply": Case(_layer("Multiply"), (2, 3), (2, 1), (2, 3)),
    "average": Case(_layer("Average"), (2, 3), (2, 3), (2, 3)),
    "maximum": Case(_layer("Maximum"), (2, 3), (2, 3)),
    "minimum": Case(_layer("Minimum"), (2, 3), (2, 3)),
    "concatenate": Case(_layer("Concatenate", axis=1), (2, 3, 4), (2, 5, 4)),
    "dot": Case(_layer("Dot", axes=(1, 2)), (2, 3, 4), (2, 5, 3)),
    "dot_normalized": Case(_layer("Dot", axes=1, normalize=True), (2, 3), (2, 3)),
}



def _after(first, make):
    """A Sequential of a layer that makes masks and another."""
    return lambda keras: keras.Sequential([first(keras), make(keras)])


def _stacked(keras):
    layers = keras.layers
    return layers.RNN([layers.LSTMCell(3), layers.GRUCell(4)], return_sequences=True, return_state=True)


_embedding = _layer("Embedding", 4, 3, mask_zero=True)

RECURRENT = {
    "simple_rnn": Case(_layer("SimpleRNN", 4), (2, 5, 3)),
    "simple_rnn_relu": Case(_layer("SimpleRNN", 4, activation="relu", return_sequences=True, use_bias=False), (2, 5, 3)),
    "lstm": Case(_layer("LSTM", 4), (2, 5, 3)),
    "lstm_sequences": Case(_layer("LSTM", 4, return_sequences=True, return_state=True, use_bias=False), (2, 5, 3)),
    "lstm_backwards": Case(_layer("LSTM", 4, go_backwards=True, return_sequences=True), (2, 5, 3)),
    "lstm_activations": Case(_layer("LSTM", 4, activation="relu", recurrent_activation="hard_sigmoid"), (2, 5, 3)),
    "gru": Case(_layer("GRU", 4), (2, 5, 3)),
    "gru_sequences": Case(_layer("GRU", 4, return_sequences=True, return_state=True), (2, 5, 3)),
    "gru_reset_before": Case(_layer("GRU", 4, reset_after=False, return_sequences=True), (2, 5, 3)),
    "conv_lstm_1d": Case(_layer("ConvLSTM1D", 3, 3, padding="same", return_sequences=True, return_state=True), (2, 4, 6, 2)),
    "conv_lstm_2d": Case(_layer("ConvLSTM2D", 2, (3, 2), strides=(2, 1), use_bias=False, activation="relu"), (2, 3, 7, 5, 3)),
    "conv_lstm_3d": Case(_layer("ConvLSTM3D", 2, 2, padding="same", go_backwards=True), (1, 2, 3, 4, 3, 2)),
    "lstm_masked": Case(_after(_embedding, _layer("LSTM", 4)), ints(4, 3, 6)),
    "lstm_masked_sequences": Case(_after(_embedding, _layer("LSTM", 4, return_sequences=True)), ints(3, 4, 6)),
    "lstm_masked_slow": Case(_after(_embedding, _layer("LSTM", 4, activation="relu", return_sequences=True)), ints(3, 4, 6)),
    "gru_masked_backwards": Case(_after(_embedding, _layer("GRU", 4, go_backwards=True, return_sequences=True)), ints(3, 4, 6)),
    "simple_rnn_masked": Case(_after(_embedding, _layer("SimpleRNN", 4)), ints(3, 4, 6)),
    "masking_lstm": Case(_after(_layer("Masking", 9.0), _layer("LSTM", 4)), (2, 5, 3)),
    "rnn_stacked": Case(_stacked, (2, 5, 3)),
    "bidirectional": Case(lambda k: k.layers.Bidirectional(k.layers.LSTM(3, return_sequences=True)), (2, 5, 3)),
    "bidirectional_states": Case(lambda k: k.layers.Bidirectional(k.layers.GRU(3, return_state=True), merge_mode="sum"), (2, 5, 3)),
    "bidirectional_apart": Case(lambda k: k.layers.Bidirectional(k.layers.SimpleRNN(3), merge_mode=None), (2, 5, 3)),
    "bidirectional_masked": Case(_after(_embedding, lambda k: k.layers.Bidirectional(k.layers.LSTM(3, return_sequences=True))), ints(3, 4, 6)),
}

_heads = _layer("MultiHeadAttention", 2, 3)
_mask = np.random.RandomState(5).randint(0, 2, (1, 4, 5)).astype(bool) | np.eye(4, 5, dtype=bool)

ATTENTION = {
    "einsum_dense": Case(_layer("EinsumDense", "abc,cd->abd", (None, 6), bias_axes="d", activation="relu"), (2, 3, 4)),
    "einsum_dense_ellipsis": Case(_layer("EinsumDense", "...x,xy->...y", 6), (2, 3, 4)),
    "einsum_dense_two_axes": Case(_layer("EinsumDense", "abc,cde->abde", (None, 3, 2), bias_axes="de"), (2, 3, 4)),
    "attention": Case(_layer("Attention"), (2, 4, 3), (2, 5, 3)),
    "attention_key": Case(_layer("Attention", use_scale=True), (2, 4, 3), (2, 5, 2), (2, 5, 3)),
    "attention_concat": Case(_layer("Attention", use_scale=True, score_mode="concat"), (2, 4, 3), (2, 5, 3)),
    "attention_causal": Case(_layer("Attention"), (2, 4, 3), (2, 4, 3), use_causal_mask=True, return_attention_scores=True),
    "additive_attention": Case(_layer("AdditiveAttention"), (2, 4, 3), (2, 5, 3)),
    "multi_head_attention": Case(_heads, (2, 4, 6), (2, 5, 6), one_by_one=True),
    "multi_head_attention_key": Case(_layer("MultiHeadAttention", 2, 3, value_dim=5, use_bias=False), (2, 4, 6), (2, 5, 7), (2, 5, 4), one_by_one=True),
    "multi_head_attention_causal": Case(_heads, (2, 4, 6), (2, 4, 6), one_by_one=True, use_causal_mask=True),
    "multi_head_attention_mask": Case(_heads, (2, 4, 6), (2, 5, 6), one_by_one=True, attention_mask=_mask),
    "multi_head_attention_scores": Case(_heads, (2, 4, 6), (2, 5, 6), one_by_one=True, attention_mask=_mask, return_attention_scores=True),
    "multi_head_attention_output": Case(_layer("MultiHeadAttention", 2, 3, output_shape=4, sliding_window=2), (2, 4, 6), (2, 4, 6), one_by_one=True),
    "multi_head_attention_axes": Case(_layer("MultiHeadAttention", 2, 3, attention_axes=(2, 3)), (2, 3, 4, 2, 6), (2, 3, 3, 2, 6), one_by_one=True),
    "multi_head_attention_gate": Case(_layer("MultiHeadAttention", 2, 3, use_gate=True), (2, 4, 6), (2, 4, 6), one_by_one=True),
    "group_query_attention": Case(_layer("GroupQueryAttention", 3, 4, 2), (2, 4, 6), (2, 5, 6), one_by_one=True),
}

_on = {"training": True}

PREPROCESSING = {
    "normalization": Case(_layer("Normalization", mean=[1.0, 2.0, 3.0], variance=[1.0, 4.0, 9.0]), (4, 3)),
    "normalization_inverted": Case(_layer("Normalization", axis=None, mean=2.0, variance=4.0, invert=True), (4, 3)),
    "discretization": Case(_layer("Discretization", [-1.0, 0.0, 1.0]), (4, 3)),
    "discretization_one_hot": Case(_layer("Discretization", [-1.0, 0.0, 1.0], output_mode="one_hot"), (4, 1)),
    "discretization_count": Case(_layer("Discretization", [-1.0, 0.0, 1.0], output_mode="count"), (4, 3)),
    "category_encoding": Case(_layer("CategoryEncoding", 5), ints(5, 3, 4)),
    "category_encoding_one_hot": Case(_layer("CategoryEncoding", 5, output_mode="one_hot"), ints(5, 3, 1)),
    "category_encoding_count": Case(_layer("CategoryEncoding", 5, output_mode="count"), ints(5, 3, 4)),
    "integer_lookup": Case(_layer("IntegerLookup", vocabulary=[3, 1, 7]), ints(9, 4, 5)),
    "integer_lookup_mask": Case(_layer("IntegerLookup", vocabulary=[3, 1, 7], mask_token=0, num_oov_indices=2), ints(9, 4, 5)),
    "integer_lookup_count": Case(_layer("IntegerLookup", vocabulary=[3, 1, 7], output_mode="count"), ints(9, 4, 5)),
    "integer_lookup_inverted": Case(_layer("IntegerLookup", vocabulary=[3, 1, 7], invert=True), ints(6, 4, 5)),
    "resizing": Case(_layer("Resizing", 4, 5), (2, 6, 7, 3)),
    "resizing_cropped": Case(_layer("Resizing", 4, 3, crop_to_aspect_ratio=True, interpolation="nearest"), (2, 6, 7, 3)),
    "center_crop": Case(_layer("CenterCrop", 3, 4), (2, 6, 7, 3)),
    "center_crop_small": Case(_layer("CenterCrop", 8, 4), (2, 6, 7, 3)),
    "random_rotation": Case(_layer("RandomRotation", (0.1, 0.1)), (2, 6, 7, 3), tolerance=5e-5, **_on),
    "random_rotation_constant": Case(_layer("RandomRotation", (-0.2, -0.2), fill_mode="constant", fill_value=0.5), (2, 6, 7, 3), tolerance=5e-5, **_on),
    "random_zoom": Case(_layer("RandomZoom", (0.3, 0.3), (0.1, 0.1), fill_mode="nearest"), (2, 6, 7, 3), tolerance=5e-5, **_on),
    "random_zoom_in": Case(_layer("RandomZoom", (-0.3, -0.3)), (2, 6, 7, 3), tolerance=5e-5, **_on),
    "random_translation": Case(_layer("RandomTranslation", (0.3, 0.3), (-0.2, -0.2), fill_mode="wrap"), (2, 6, 7, 3), tolerance=5e-5, **_on),
    "random_brightness": Case(_layer("RandomBrightness", (0.2, 0.2), value_range=(-2, 2)), (2, 6, 7, 3), **_on),
    "random_flip_still": Case(_layer("RandomFlip"), (2, 4, 5, 3), training=False),
}

FAMILIES = {"core": CORE, "convolution": CONVOLUTION, "normalization": NORMALIZATION, "merging": MERGING, "recurrent": RECURRENT, "attention": ATTENTION,
            "preprocessing": PREPROCESSING}  # fmt: skip
