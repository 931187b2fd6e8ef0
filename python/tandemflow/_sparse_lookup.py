"""tf.nn.embedding_lookup_sparse: rows of a table, several for each line of a sparse tensor, combined."""
from . import _tandem
from ._ops import cast, divide_no_nan, ones_like, reshape, sqrt, square
from ._ops import records


def embedding_lookup_sparse(params, sp_ids, sp_weights, combiner=None, max_norm=None, name=None, allow_fast_lookup=False):
    """A row for each line of sp_ids: the sum, mean or sum by root of squares of the table's rows that it names."""
    combiner = combiner or "mean"
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    ids, lines = _tandem.to_tensor(sp_ids.values), sp_ids.indices[:, 0]
    count = int(lines.numpy().max()) + 1 if lines.shape[0] else 0
    rows = _looked_up(params, ids, max_norm)
    weights = ones_like(rows[:, 0]) if sp_weights is None else cast(sp_weights.values, rows.dtype)
    wide = reshape(weights, [-1] + [1] * (rows.ndim - 1))
    total = records["unsorted_segment_sum"](rows * wide, lines, count)
    if combiner == "sum":
        return total
    shares = records["unsorted_segment_sum"](wide if combiner == "mean" else square(wide), lines, count)
    return divide_no_nan(total, shares if combiner == "mean" else sqrt(shares))


def _looked_up(params, ids, max_norm):
    from .nn import embedding_lookup

    return embedding_lookup(params, ids, max_norm)


def safe_embedding_lookup_sparse(embedding_weights, sparse_ids, sparse_weights=None, combiner="mean", default_id=None, max_norm=None, name=None,
                                 allow_fast_lookup=False):  # fmt: skip
    """The same without ids below 0 and weights of 0; lines without any id have the row of default_id, or zeros."""
    from ._ops import logical_and, where
    from ._sparse_ops import fill_empty_rows, retain

    table = embedding_weights[0] if isinstance(embedding_weights, (list, tuple)) else embedding_weights
    keep = sparse_ids.values >= 0
    if sparse_weights is not None:
        keep = logical_and(keep, sparse_weights.values > 0)
        sparse_weights = retain(sparse_weights, keep)
        sparse_weights, _ = fill_empty_rows(sparse_weights, 1.0)
    ids, empty = fill_empty_rows(retain(sparse_ids, keep), cast(default_id or 0, sparse_ids.dtype))
    out = embedding_lookup_sparse(table, ids, sparse_weights, combiner, max_norm)
    if default_id is not None:
        return out
    return where(reshape(empty, [-1] + [1] * (out.ndim - 1)), 0.0 * out, out)
