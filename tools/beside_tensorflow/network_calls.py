"""Convolutions, pools, normalisation, recurrent layers, attention, losses."""
from .draw import FLOATS

_LOSSES = """binary_crossentropy categorical_crossentropy sparse_categorical_crossentropy huber kld hinge squared_hinge categorical_hinge
cosine_similarity mse mae mape msle logcosh poisson
binary_focal_crossentropy categorical_focal_crossentropy""".split()


def _padding(d, rank):
    kind = d.one_of("SAME", "VALID", "explicit")
    return [[0, 0], *([d.below(3), d.below(3)] for _ in range(rank)), [0, 0]] if kind == "explicit" else kind


def _images(d, rank, dtypes=FLOATS, channels=None, most=8):
    sizes = [d.between(1, most) if not d.chance(30) else 0 for _ in range(rank)]
    return d.array(dtypes, (d.between(1, 3) if not d.chance(20) else 0, *sizes, channels or d.between(1, 4)))


def _conv(rank):
    def drawn(d):
        groups = d.one_of(1, 1, 2)
        x = _images(d, rank, channels=groups * d.between(1, 2))
        kernel = d.like(x, (*(d.between(1, 3) for _ in range(rank)), x.shape[-1] // groups, groups * d.between(1, 3)))
        strides = d.between(1, 3)
        dilations = 1 if strides > 1 or d.flag() else d.between(1, 3)
        padding = _padding(d, rank) if rank == 2 else d.one_of("SAME", "VALID")
        wide = (lambda n: [1, *[n] * rank, 1]) if rank == 3 else lambda n: n
        return [x, kernel, wide(strides), padding], dict(dilations=wide(dilations)) if dilations > 1 else {}

    return drawn


def _depthwise(d):
    x = _images(d, 2)
    kernel = d.like(x, (d.between(1, 3), d.between(1, 3), x.shape[-1], d.between(1, 2)))
    stride = d.between(1, 2)
    return [x, kernel, [1, stride, stride, 1], _padding(d, 2)], dict(dilations=[d.between(1, 2)] * 2) if stride == 1 and d.chance(3) else {}


def _separable(d):
    x = _images(d, 2, ("float32", "float64"))
    depth = d.like(x, (d.between(1, 3), d.between(1, 3), x.shape[-1], d.between(1, 2)))
    point = d.like(x, (1, 1, x.shape[-1] * depth.shape[-1], d.between(1, 3)))
    return [x, depth, point, [1, 1, 1, 1], d.one_of("SAME", "VALID")], {}


def _transposed(rank):
    def drawn(d):
        x = _images(d, rank, most=4)
        size, stride, padding = d.between(1, 3), d.between(1, 3), d.one_of("SAME", "VALID")
        outputs = d.between(1, 3)
        kernel = d.like(x, (*[size] * rank, outputs, x.shape[-1]))
        grown = [n * stride if padding == "SAME" else n * stride + max(size - stride, 0) for n in x.shape[1:-1]]
        return [x, kernel, [x.shape[0], *grown, outputs], [stride] * rank if rank < 3 else [1, *[stride] * 3, 1]], dict(padding=padding)

    return drawn


def _pool(rank, dtypes=FLOATS):
    def drawn(d):
        x = _images(d, rank, dtypes)
        return [x, d.between(1, 3), d.between(1, 3), d.one_of("SAME", "VALID")], {}

    return drawn


def _max_pool(d):
    x = _images(d, 2, FLOATS + ("int32", "int64", "uint8", "int8"))
    return [x, d.between(1, 3), d.between(1, 3), d.one_of("SAME", "VALID", [[0, 0], [1, 1], [0, 1], [0, 0]])], {}


def _with_argmax(d):
    x = _images(d, 2, ("float32", "float64", "int32", "float16"))
    return [x, d.between(1, 3), d.between(1, 3), d.one_of("SAME", "VALID")], d.options(include_batch_in_index=d.flag, output_dtype=lambda: d.one_of("int32", "int64"))


def _nn_pool(d):
    x = _images(d, d.between(1, 2), ("float32", "float64"))
    rank = len(x.shape) - 2
    return [x, [d.between(1, 3)] * rank, d.one_of("MAX", "AVG")], dict(strides=[d.between(1, 2)] * rank, padding=d.one_of("SAME", "VALID"))


def _batch_norm(d):
    x = d.array(FLOATS, d.shape(1))
    row = x.shape[-1:] if d.flag() else x.shape
    part = lambda: d.one_of(None, d.like(x, row))  # noqa: E731
    return [x, d.like(x, row), d.like(x, row), part(), part(), d.one_of(1e-3, 1e-5, 0.0)], {}


def _lookup(d):
    table = d.array(("float32", "float64", "float16", "int32"), (d.between(1, 6), *d.shape(0, 2)))
    return [table, d.integers(0, table.shape[0] - 1, d.shape(0, 2))], d.options(max_norm=lambda: 1.5) if table.floating and len(table.shape) > 1 else {}


def _sparse_loss(d):
    logits = d.array(FLOATS, (*d.shape(0, 2), d.between(1, 5)))
    return [], dict(labels=d.integers(0, logits.shape[-1] - 1, logits.shape[:-1]), logits=logits)


def _dense_loss(d):
    logits = d.array(FLOATS, (*d.shape(0, 2), d.between(1, 5)))
    return [], dict(labels=d.like(logits), logits=logits, **d.options(axis=lambda: d.axis(len(logits.shape))))


def _sigmoid_loss(d):
    logits = d.array(FLOATS, d.shape())
    return [], dict(labels=d.like(logits), logits=logits)


def _weighted_loss(d):
    given, options = _sigmoid_loss(d)
    return given, dict(options, pos_weight=d.one_of(0.5, 2.0))


def _poisson_loss(d):
    x = d.array(("float32", "float64"), d.shape())
    return [d.like(x), x], d.options(compute_full_loss=d.flag)


def _loss(name):
    def drawn(d):
        shape = (*d.shape(0, 2), d.between(1, 5))
        dtype = d.one_of("float32", "float32", "float64", "float16")
        chances = "cross" in name or name == "kld"
        x = d.reals(0, 1, shape, dtype) if chances and not d.special else d.array(dtype, shape)
        y = d.integers(0, shape[-1] - 1, shape[:-1], "int32") if name.startswith("sparse") else d.reals(0, 1, shape, dtype) if chances else d.like(x)
        more = d.options(from_logits=d.flag) if "cross" in name else {}
        if name in ("binary_crossentropy", "categorical_crossentropy"):
            more.update(d.options(label_smoothing=lambda: 0.1))
        if name == "huber":
            more = d.options(delta=lambda: d.one_of(0.5, 1.0, 2.0))
        return [y, x], more

    return drawn


def _recurrent(tf, kind, x, kernel, recurrent, bias, options):
    layer = getattr(tf.keras.layers, kind)(recurrent.shape[0], **options)
    layer.build(x.shape)
    layer.set_weights([kernel.numpy(), recurrent.numpy(), bias.numpy()])
    return layer(x)


def _cells(d):
    kind, gates = d.one_of(("LSTM", 4), ("GRU", 3), ("SimpleRNN", 1))
    batch, steps, inputs, units = d.between(1, 3), d.between(1, 5), d.between(1, 4), d.between(1, 4)
    bias = (2, gates * units) if kind == "GRU" else (gates * units,)
    options = d.options(return_sequences=d.flag, return_state=d.flag, go_backwards=d.flag)
    made = [d.reals(-1, 1, shape, "float32") for shape in ((inputs, gates * units), (units, gates * units), bias)]
    return [kind, d.array("float32", (batch, steps, inputs)), *made, options], {}


def _attention(tf, query, value, key, causal):
    return tf.keras.layers.Attention()([query, value, key], use_causal_mask=causal)


def _attended(d):
    batch, queries, keys, depth = d.between(1, 3), d.between(1, 5), d.between(1, 5), d.between(1, 4)
    q = d.array("float32", (batch, queries, depth))
    return [q, d.like(q, (batch, keys, d.between(1, 4))), d.like(q, (batch, keys, depth)), d.flag()], {}


def _layer_norm(tf, x, axis):
    return tf.keras.layers.LayerNormalization(axis=axis, dtype=x.dtype.name)(x)


def _normed(d):
    x = d.array(("float32", "float64"), tuple(max(size, 1) for size in d.shape(2, 4)))
    return [x, d.one_of(-1, len(x.shape) - 1)], {}


BODIES = {"keras:recurrent": _recurrent, "keras:attention": _attention, "keras:layer_normalization": _layer_norm}


def calls():
    found = {f"keras.losses.{name}": _loss(name) for name in _LOSSES}
    found.update({f"nn.conv{rank}d": _conv(rank) for rank in (1, 2, 3)})
    found.update({f"nn.conv{rank}d_transpose": _transposed(rank) for rank in (1, 2, 3)})
    found.update({f"nn.avg_pool{rank}d": _pool(rank) for rank in (1, 2, 3)})
    found.update({f"nn.max_pool{rank}d": _pool(rank) for rank in (1, 3)})
    found.update({
        "nn.depthwise_conv2d": _depthwise, "nn.separable_conv2d": _separable, "nn.max_pool2d": _max_pool, "nn.max_pool_with_argmax": _with_argmax, "nn.pool": _nn_pool,
        "nn.batch_normalization": _batch_norm, "nn.embedding_lookup": _lookup, "nn.sparse_softmax_cross_entropy_with_logits": _sparse_loss,
        "nn.softmax_cross_entropy_with_logits": _dense_loss, "nn.sigmoid_cross_entropy_with_logits": _sigmoid_loss, "nn.weighted_cross_entropy_with_logits": _weighted_loss,
        "nn.log_poisson_loss": _poisson_loss, "keras:recurrent": _cells, "keras:attention": _attended, "keras:layer_normalization": _normed,
        "nn.dropout": lambda d: ([d.array(FLOATS, d.shape()), 0.0], {}), "nn.bias_add": lambda d: (lambda x: ([x, d.like(x, x.shape[-1:])], {}))(d.array(FLOATS + ("int32",), d.shape(2, 4))),
        "nn.local_response_normalization": lambda d: ([_images(d, 2, ("float32",))], d.options(depth_radius=lambda: d.between(1, 3), bias=lambda: 2.0, alpha=lambda: 0.5, beta=lambda: 0.75)),
    })  # fmt: skip
    return found
