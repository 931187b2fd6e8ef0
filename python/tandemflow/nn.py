"""tf.nn: what neural networks are made of."""
from . import _names, _ops, _replica, _tandem
from ._arrays import clip_by_norm, in_top_k, l2_loss, l2_normalize, moments, top_k, zero_fraction
from ._conv import (
    avg_pool1d,
    avg_pool2d,
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_transpose,
    depthwise_conv2d,
    max_pool1d,
    max_pool2d,
    max_pool_with_argmax,
    separable_conv2d,
)
from ._conv3d import avg_pool, avg_pool3d, conv3d, conv3d_transpose, max_pool, max_pool3d
from ._network import (
    batch_normalization,
    batch_normalization_training,
    dot_product_attention,
    dropout,
    gru,
    layer_normalization,
    lstm,
    sigmoid_cross_entropy_with_logits,
    simple_rnn,
)
from ._ops import (
    bias_add,
    elu,
    gather,
    gelu,
    hard_sigmoid,
    hard_silu,
    leaky_relu,
    log_sigmoid,
    log_softmax,
    mish,
    reduce_sum,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softmax,
    softmax_cross_entropy_with_logits,
    softplus,
    softsign,
    sparse_softmax_cross_entropy_with_logits,
    tanh,
)


def embedding_lookup(params, ids, max_norm=None, name=None):
    """Rows of params by number; of several tensors as if they were one, joined."""
    rows = gather(_ops.concat(params, 0) if isinstance(params, (list, tuple)) else params, ids)
    if max_norm is None:
        return rows
    return clip_by_norm(rows, max_norm, list(range(_tandem.to_tensor(ids).ndim, rows.ndim)))


def compute_average_loss(per_example_loss, sample_weight=None, global_batch_size=None):
    """The sum of the losses of the examples, divided by the size of the global batch: what one replica contributes."""
    loss = _tandem.to_tensor(per_example_loss)
    if not loss.dtype.is_floating:
        loss = _ops.cast(loss, "float32")
    if not loss.ndim:
        raise ValueError(
            "Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1. Received per_example_loss="
            f"{per_example_loss!r}"
        )
    if sample_weight is not None:
        weight = _ops.cast(_tandem.to_tensor(sample_weight), loss.dtype)
        loss = loss * (_ops.expand_dims(weight, -1) if 0 < weight.ndim < loss.ndim else weight)
    size = _checked_batch_size(global_batch_size) if global_batch_size is not None else _global_rows(loss.shape[0])
    return _ops.divide_no_nan(reduce_sum(loss), _ops.cast(size, loss.dtype))


def _global_rows(rows):
    """The rows of the batch of which a replica has so many."""
    replica = _replica_for("compute_average_loss")
    if replica is None or replica.total is None:
        return _tandem.to_tensor(rows)
    return _tandem.to_tensor(replica.total if replica.rows == rows else rows * replica.num_replicas_in_sync)


def _replica_for(name):
    replica = _replica.current()
    if replica is None and getattr(_replica.state, "strategies", None):
        raise RuntimeError(
            f"You are calling `{name}` in cross replica context, while it was expected to be called in replica context."
        )
    return replica


def _checked_batch_size(given):
    size = _tandem.to_tensor(given)
    if size.ndim:
        raise ValueError(f"global_batch_size must be scalar. Expected scalar shape, saw shape: {tuple(size.shape)}.")
    if not size.dtype.is_integer:
        raise TypeError(f'global_batch_size must be an integer. Expected "x" to be integer type. Found: tensor of dtype {size.dtype!r}')
    if isinstance(given, int) and given < 0:
        from .errors import InvalidArgumentError

        raise InvalidArgumentError(f"global_batch_size must be non-negative, got {given}")
    return size


def scale_regularization_loss(regularization_loss):
    """The part of a loss of the variables that one replica contributes."""
    replica = _replica_for("scale_regularization_loss")
    share = 1.0 if replica is None or replica.total is None else replica.rows / max(replica.total, 1)
    return reduce_sum(_tandem.to_tensor(regularization_loss)) * share


swish = silu

__getattr__, __dir__ = _names.lazy(__name__, {"experimental": "_nn_experimental:"} | _names.places_of(
    _candidates="all_candidate_sampler compute_accidental_hits fixed_unigram_candidate_sampler log_uniform_candidate_sampler nce_loss "
    "sampled_softmax_loss uniform_candidate_sampler",
    _ctc="ctc_greedy_decoder ctc_loss",
    _extras="convolution",
    _labels="collapse_repeated ctc_unique_labels isotonic_regression",
    _transposed_conv="atrous_conv2d_transpose conv_transpose depthwise_conv2d_backprop_filter depthwise_conv2d_backprop_input",
    _morphology="dilation2d erosion2d",
    _sparse_lookup="embedding_lookup_sparse safe_embedding_lookup_sparse",
    _partitions="depth_to_space space_to_batch space_to_depth",
    _seldom="approx_max_k approx_min_k atrous_conv2d batch_norm_with_global_normalization crelu normalize_moments sufficient_statistics local_response_normalization log_poisson_loss lrn=local_response_normalization pool weighted_cross_entropy_with_logits weighted_moments",
))  # fmt: skip
