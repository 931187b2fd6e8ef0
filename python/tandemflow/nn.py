"""tf.nn: what neural networks are made of."""
from . import _names, _ops, _replica, _tandem
from ._arrays import in_top_k, l2_loss, l2_normalize, moments, top_k, zero_fraction
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
    """Rows of params by number."""
    if max_norm is not None:
        raise NotImplementedError("embedding_lookup: max_norm is not there yet")
    return gather(params, ids)


def compute_average_loss(per_example_loss, sample_weight=None, global_batch_size=None):
    """The sum of the losses of the examples, divided by the size of the global batch: what one replica contributes."""
    loss = _tandem.to_tensor(per_example_loss)
    if sample_weight is not None:
        loss = loss * sample_weight
    replica = _replica.current()
    if replica is None and getattr(_replica.state, "strategies", None):
        raise RuntimeError(
            "You are calling `compute_average_loss` in cross replica context, while it was expected to be called in replica context."
        )
    if global_batch_size is None:
        rows = loss.shape[0] if loss.ndim else 1
        if replica is None:
            global_batch_size = rows
        else:
            global_batch_size = replica.total if replica.rows == rows else rows * replica.num_replicas_in_sync
    elif isinstance(global_batch_size, int) and global_batch_size < 0:
        from .errors import InvalidArgumentError

        raise InvalidArgumentError(f"global_batch_size must be non-negative, got {global_batch_size}")
    return reduce_sum(loss) / _ops.cast(_tandem.to_tensor(global_batch_size), loss.dtype)


def scale_regularization_loss(regularization_loss):
    """The part of a loss of the variables that one replica contributes."""
    replica = _replica.current()
    share = 1.0 if replica is None or replica.total is None else replica.rows / max(replica.total, 1)
    return reduce_sum(_tandem.to_tensor(regularization_loss)) * share


swish = silu

__getattr__, __dir__ = _names.lazy(__name__, _names.places_of(
    _candidates="all_candidate_sampler compute_accidental_hits fixed_unigram_candidate_sampler log_uniform_candidate_sampler nce_loss "
    "sampled_softmax_loss uniform_candidate_sampler",
    _ctc="ctc_greedy_decoder ctc_loss",
    _extras="convolution",
    _partitions="depth_to_space space_to_batch space_to_depth",
    _seldom="atrous_conv2d crelu local_response_normalization log_poisson_loss lrn=local_response_normalization pool weighted_cross_entropy_with_logits weighted_moments",
))  # fmt: skip
