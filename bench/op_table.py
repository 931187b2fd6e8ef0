"""The ops of `scripts/bench --ops`: a name, how TandemFlow says it, how PyTorch says it. One million elements each.

x, y: normal; p: in (0.1, 2); u: in (-0.9, 0.9); m: 1000 x 1000; i, j: integers; b, c: bools; ids: below 1000; in_order: such, sorted;
small: 100 matrices of 100 x 100, spd: such, positive definite; wi: integers, 512 x 512; classes, words: 100,000 numbers below 10, below 100,000;
rows, other_rows: as many rows of 10, hot: a one in each, chances: each of sum 1; pictures: 5 of 256 x 256 x 3 bytes, photos: such floats.
"""
_F = "torch.nn.functional."
_ARITHMETIC = [
    *((name, f"tf.{name}(x)", f"torch.{name}(x)") for name in ("abs", "sign", "square", "exp", "sin", "cos", "tan", "sinh", "cosh", "tanh", "atan", "asinh", "sigmoid", "floor", "round")),
    *((name, f"tf.math.{name}(x)", f"torch.{name}(x)") for name in ("expm1", "erf", "erfc", "ceil", "reciprocal")),
    *((name, f"tf.{name}(u)", f"torch.{name}(u)") for name in ("asin", "acos", "atanh")),
    *((name, f"tf.{name}(x)", f"torch.{other}(x)") for name, other in (("negative", "neg"), ("zeros_like", "zeros_like"), ("ones_like", "ones_like"))),
    ("is_nan", "tf.math.is_nan(x)", "torch.isnan(x)"), ("is_inf", "tf.math.is_inf(x)", "torch.isinf(x)"),
    *((name, f"tf.{name}(x, y)", f"torch.{other}(x, y)") for name, other in (("subtract", "sub"), ("minimum", "minimum"), ("equal", "eq"), ("not_equal", "ne"), ("less_equal", "le"), ("greater", "gt"), ("greater_equal", "ge"))),
    *((name, f"tf.{name}(b, c)", f"torch.{name}(b, c)") for name in ("logical_and", "logical_or")), ("logical_not", "tf.logical_not(b)", "torch.logical_not(b)"),
    *((name, f"tf.bitwise.{name}(i, j)", f"torch.{name}(i, j)") for name in ("bitwise_or", "bitwise_xor")), ("invert", "tf.bitwise.invert(i)", "torch.bitwise_not(i)"),
    ("right_shift", "tf.bitwise.right_shift(i, j)", "torch.bitwise_right_shift(i, j)"), ("add_n", "tf.add_n([x, y, p])", "x + y + p"), ("add_i64", "tf.add(counts, counts)", "torch.add(counts, counts)"),
    ("log", "tf.math.log(p)", "torch.log(p)"), ("log1p", "tf.math.log1p(p)", "torch.log1p(p)"), ("sqrt", "tf.sqrt(p)", "torch.sqrt(p)"),
    ("rsqrt", "tf.math.rsqrt(p)", "torch.rsqrt(p)"), ("acosh", "tf.acosh(p + 1)", "torch.acosh(p + 1)"), ("pow", "tf.pow(p, y)", "torch.pow(p, y)"),
    ("add", "tf.add(x, y)", "torch.add(x, y)"), ("multiply", "tf.multiply(x, y)", "torch.mul(x, y)"), ("divide", "tf.divide(x, y)", "torch.div(x, y)"),
    ("maximum", "tf.maximum(x, y)", "torch.maximum(x, y)"), ("atan2", "tf.atan2(x, y)", "torch.atan2(x, y)"),
    ("floordiv", "tf.math.floordiv(x, y)", "torch.floor_divide(x, y)"), ("floormod", "tf.math.floormod(x, y)", "torch.remainder(x, y)"),
    ("floordiv_i32", "tf.math.floordiv(i, j)", "torch.floor_divide(i, j)"), ("bitwise_and", "tf.bitwise.bitwise_and(i, j)", "torch.bitwise_and(i, j)"),
    ("left_shift", "tf.bitwise.left_shift(i, j)", "torch.bitwise_left_shift(i, j)"), ("clip_by_value", "tf.clip_by_value(x, -1.0, 1.0)", "torch.clamp(x, -1.0, 1.0)"),
    ("squared_difference", "tf.math.squared_difference(x, y)", "torch.square(x - y)"), ("is_finite", "tf.math.is_finite(x)", "torch.isfinite(x)"),
    ("less", "tf.less(x, y)", "torch.lt(x, y)"), ("logical_xor", "tf.math.logical_xor(b, c)", "torch.logical_xor(b, c)"), ("where", "tf.where(b, x, y)", "torch.where(b, x, y)"),
    *((name, f"tf.nn.{name}(x)", f"torch.nn.functional.{name}(x)") for name in ("relu", "relu6", "elu", "selu", "silu", "gelu", "softplus", "softsign", "mish")),
    ("leaky_relu", "tf.nn.leaky_relu(x)", "torch.nn.functional.leaky_relu(x, 0.2)"), ("hard_sigmoid", "tf.nn.hard_sigmoid(x)", "torch.nn.functional.hardsigmoid(x)"),
    ("hard_silu", "tf.nn.hard_silu(x)", "torch.nn.functional.hardswish(x)"), ("log_sigmoid", "tf.math.log_sigmoid(x)", "torch.nn.functional.logsigmoid(x)"),
]  # fmt: skip
_REDUCTIONS = [
    ("reduce_sum", "tf.reduce_sum(x)", "torch.sum(x)"), ("reduce_mean_rows", "tf.reduce_mean(m, 1)", "torch.mean(m, 1)"), ("reduce_sum_columns", "tf.reduce_sum(m, 0)", "torch.sum(m, 0)"),
    ("reduce_max", "tf.reduce_max(x)", "torch.max(x)"), ("reduce_min_rows", "tf.reduce_min(m, 1)", "torch.amin(m, 1)"), ("reduce_prod", "tf.reduce_prod(p)", "torch.prod(p)"),
    ("reduce_any", "tf.reduce_any(b)", "torch.any(b)"), ("reduce_all_rows", "tf.reduce_all(bm, 1)", "torch.all(bm, 1)"), ("reduce_sum_i32", "tf.reduce_sum(i)", "torch.sum(i, dtype=torch.int32)"),
    ("reduce_logsumexp", "tf.reduce_logsumexp(m, 1)", "torch.logsumexp(m, 1)"), ("reduce_variance", "tf.math.reduce_variance(m, 1)", "torch.var(m, 1, correction=0)"),
    ("norm", "tf.norm(x)", "torch.linalg.vector_norm(x)"), ("argmax", "tf.argmax(m, 1)", "torch.argmax(m, 1)"), ("argmin", "tf.argmin(m, 0)", "torch.argmin(m, 0)"),
    ("cumsum", "tf.cumsum(x)", "torch.cumsum(x, 0)"), ("cumsum_rows", "tf.cumsum(m, 1)", "torch.cumsum(m, 1)"), ("cumprod_columns", "tf.math.cumprod(m, 0)", "torch.cumprod(m, 0)"),
    ("unsorted_segment_sum", "tf.math.unsorted_segment_sum(m, ids, 1000)", "torch.zeros(1000, 1000).index_add_(0, ids, m)"), ("bincount", "tf.math.bincount(counts)", "torch.bincount(counts)"),
    ("reduce_std", "tf.math.reduce_std(m, 1)", "torch.std(m, 1, correction=0)"), ("moments", "tf.nn.moments(m, [0])", "torch.var_mean(m, 0, correction=0)"), ("reduce_mean_i32", "tf.reduce_mean(i)", "torch.sum(i) // 1000000"),
    ("segment_sum", "tf.math.segment_sum(m, in_order)", "torch.zeros(1000, 1000).index_add_(0, in_order, m)"), ("histogram", "tf.histogram_fixed_width(x, [-3.0, 3.0], 100)", "torch.histc(x, 100, -3.0, 3.0)"),
    ("l2_normalize", "tf.nn.l2_normalize(m, 1)", _F + "normalize(m, dim=1)"), ("clip_by_norm", "tf.clip_by_norm(x, 1.0)", "x * (1.0 / torch.linalg.vector_norm(x)).clamp(max=1.0)"),
    ("clip_by_global_norm", "tf.clip_by_global_norm([x, y], 1.0)[0]", "clip_by_global_norm(x, y)"), ("softmax", "tf.nn.softmax(m)", "torch.softmax(m, 1)"), ("log_softmax", "tf.nn.log_softmax(m)", "torch.log_softmax(m, 1)"),
    ("softmax_columns", "tf.nn.softmax(m, 0)", "torch.softmax(m, 0)"), ("log_softmax_columns", "tf.nn.log_softmax(m, 0)", "torch.log_softmax(m, 0)"), ("softmax_short", "tf.nn.softmax(rows)", "torch.softmax(rows, 1)"),
]  # fmt: skip
_LINEAR = [
    ("tensordot", "tf.tensordot(m, m, 1)", "torch.tensordot(m, m, 1)"), ("einsum", "tf.einsum('bij,bkj->bik', small, small)", "torch.einsum('bij,bkj->bik', small, small)"),
    ("einsum_permuted", "tf.einsum('bij,bkj->kib', small, small)", "torch.einsum('bij,bkj->kib', small, small).contiguous()"), ("matmul_i32", "tf.matmul(wi, wi)", "torch.matmul(wi, wi)"),
    ("cholesky", "tf.linalg.cholesky(spd)", "torch.linalg.cholesky(spd)"), ("triangular_solve", "tf.linalg.triangular_solve(spd, small)", "torch.linalg.solve_triangular(spd, small, upper=False)"),
    ("qr", "tf.linalg.qr(small)", "torch.linalg.qr(small)"), ("svd", "tf.linalg.svd(small)", "torch.linalg.svd(small)"), ("inverse", "tf.linalg.inv(spd)", "torch.linalg.inv(spd)"),
    ("det", "tf.linalg.det(spd)", "torch.linalg.det(spd)"), ("solve", "tf.linalg.solve(spd, small)", "torch.linalg.solve(spd, small)"), ("cholesky_1000", "tf.linalg.cholesky(large)", "torch.linalg.cholesky(large)"),
    ("solve_1000", "tf.linalg.solve(large, m)", "torch.linalg.solve(large, m)"),
]  # fmt: skip
_LOSSES = [
    ("sparse_cross_entropy", "tf.nn.sparse_softmax_cross_entropy_with_logits(classes, rows)", _F + "cross_entropy(rows, classes, reduction='none')"),
    ("softmax_cross_entropy", "tf.nn.softmax_cross_entropy_with_logits(hot, rows)", _F + "cross_entropy(rows, hot, reduction='none')"),
    ("sigmoid_cross_entropy", "tf.nn.sigmoid_cross_entropy_with_logits(p, x)", _F + "binary_cross_entropy_with_logits(x, p, reduction='none')"),
    ("binary_crossentropy", "tf.keras.losses.binary_crossentropy(hot, chances)", _F + "binary_cross_entropy(chances, hot, reduction='none').mean(1)"),
    ("categorical_crossentropy", "tf.keras.losses.categorical_crossentropy(hot, chances)", "-(hot * torch.log((chances / chances.sum(1, keepdim=True)).clamp(1e-7, 1 - 1e-7))).sum(1)"),
    ("sparse_categorical_crossentropy", "tf.keras.losses.sparse_categorical_crossentropy(classes, chances)", _F + "nll_loss(torch.log((chances / chances.sum(1, keepdim=True)).clamp(1e-7, 1 - 1e-7)), classes, reduction='none')"),
    ("huber", "tf.keras.losses.huber(rows, other_rows)", _F + "huber_loss(other_rows, rows, reduction='none').mean(1)"),
    ("kl_divergence", "tf.keras.losses.kl_divergence(hot, chances)", "(hot.clamp(1e-7, 1) * torch.log(hot.clamp(1e-7, 1) / chances.clamp(1e-7, 1))).sum(1)"),
    ("hinge", "tf.keras.losses.hinge(hot, rows)", "torch.relu(1 - (2 * hot - 1) * rows).mean(1)"), ("cosine", "tf.keras.losses.cosine_similarity(rows, other_rows)", "-" + _F + "cosine_similarity(rows, other_rows, dim=1)"),
]  # fmt: skip
_SHAPES = [
    ("transpose", "tf.transpose(m)", "m.t().contiguous()"), ("reverse", "tf.reverse(m, [1])", "torch.flip(m, [1])"), ("strided_slice", "m[::2, ::2]", "m[::2, ::2].contiguous()"),
    ("roll", "tf.roll(m, 7, 1)", "torch.roll(m, 7, 1)"), ("concat", "tf.concat([m, m], 0)", "torch.cat([m, m], 0)"), ("stack", "tf.stack([m, m])", "torch.stack([m, m])"), ("tile", "tf.tile(m, [1, 2])", "m.repeat(1, 2)"),
    ("gather", "tf.gather(m, ids)", "m[ids]"), ("gather_nd", "tf.gather_nd(m, pairs)", "m[pairs[:, 0], pairs[:, 1]]"),
    ("tensor_scatter_nd_add", "tf.tensor_scatter_nd_add(m, column, m)", "m.index_add(0, ids, m)"), ("boolean_mask", "tf.boolean_mask(x, b)", "x[b]"),
    ("pad_reflect", "tf.pad(m, [[2, 2], [2, 2]], 'REFLECT')", "torch.nn.functional.pad(m[None], [2, 2, 2, 2], 'reflect')"), ("sort", "tf.sort(x)", "torch.sort(x)[0]"), ("argsort", "tf.argsort(x)", "torch.argsort(x, stable=True)"),
    ("sort_rows", "tf.sort(m)", "torch.sort(m)[0]"), ("top_k", "tf.math.top_k(m, 10)[0]", "torch.topk(m, 10)[0]"), ("searchsorted", "tf.searchsorted(grid, x)", "torch.searchsorted(grid, x)"),
    ("unstack", "tf.unstack(small)", "[part.clone() for part in torch.unbind(small)]"), ("split", "tf.split(m, 4, 1)", "[part.contiguous() for part in torch.split(m, 250, 1)]"), ("repeat", "tf.repeat(m, 2, 0)", "torch.repeat_interleave(m, 2, 0)"),
    ("gather_batch_dims", "tf.gather(m, orders, batch_dims=1)", "torch.gather(m, 1, orders)"), ("scatter_nd", "tf.scatter_nd(column, m, [1000, 1000])", "torch.zeros(1000, 1000).index_add_(0, ids, m)"),
    ("tensor_scatter_nd_update", "tf.tensor_scatter_nd_update(m, column, m)", "m.index_copy(0, ids, m)"), ("tensor_scatter_nd_max", "tf.tensor_scatter_nd_max(m, column, m)", "m.index_reduce(0, ids, m, 'amax')"),
    ("tensor_scatter_nd_sub", "tf.tensor_scatter_nd_sub(m, column, m)", "m.index_add(0, ids, m, alpha=-1)"), ("tensor_scatter_nd_min", "tf.tensor_scatter_nd_min(m, column, m)", "m.index_reduce(0, ids, m, 'amin')"),
    ("matrix_transpose", "tf.linalg.matrix_transpose(small)", "small.mT.contiguous()"),
    ("unique", "tf.unique(counts)", "torch.unique(counts, sorted=False, return_inverse=True)"), ("sequence_mask", "tf.sequence_mask(ids, 1000)", "torch.arange(1000) < ids[:, None]"), ("diag", "tf.linalg.diag(m[0])", "torch.diag(m[0])"),
    ("eye", "tf.eye(1000)", "torch.eye(1000)"), ("linspace", "tf.linspace(0.0, 1.0, 1000000)", "torch.linspace(0.0, 1.0, 1000000)"), ("meshgrid", "tf.meshgrid(m[0], m[1])", "[one.contiguous() for one in torch.meshgrid(m[0], m[1], indexing='xy')]"),
    ("range", "tf.range(1000000)", "torch.arange(1000000, dtype=torch.int32)"), ("one_hot", "tf.one_hot(classes, 10)", _F + "one_hot(classes, 10).float()"), ("embedding_lookup", "tf.nn.embedding_lookup(rows, words)", _F + "embedding(words, rows)"),
    ("broadcast_to", "tf.broadcast_to(m[0], [1000, 1000])", "m[0].expand(1000, 1000).contiguous()"), ("band_part", "tf.linalg.band_part(m, -1, 0)", "torch.tril(m)"),
    ("cast_i32", "tf.cast(x, tf.int32)", "x.to(torch.int32)"), ("random_normal", "tf.random.normal([1000000])", "torch.randn(1000000)"), ("random_uniform", "tf.random.uniform([1000000])", "torch.rand(1000000)"),
    ("cast_i16", "tf.cast(x, tf.int16)", "x.to(torch.int16)"), ("cast_u8", "tf.cast(p, tf.uint8)", "p.to(torch.uint8)"), ("cast_f16", "tf.cast(x, tf.float16)", "x.to(torch.float16)"), ("cast_bf16", "tf.cast(x, tf.bfloat16)", "x.to(torch.bfloat16)"),
]  # fmt: skip
_PICTURES = [
    ("convert_image_dtype", "tf.image.convert_image_dtype(pictures, tf.float32)", "pictures.to(torch.float32) * (1 / 255)"), ("flip_left_right", "tf.image.flip_left_right(photos)", "torch.flip(photos, [2])"),
    ("rot90", "tf.image.rot90(photos)", "torch.rot90(photos, 1, [1, 2]).contiguous()"), ("adjust_brightness", "tf.image.adjust_brightness(photos, 0.1)", "photos + 0.1"),
    ("adjust_contrast", "tf.image.adjust_contrast(photos, 2.0)", "adjust_contrast(photos)"), ("rgb_to_grayscale", "tf.image.rgb_to_grayscale(photos)", "photos @ torch.tensor([[0.2989], [0.587], [0.114]])"),
    ("adjust_gamma", "tf.image.adjust_gamma(photos, 2.2)", "photos ** 2.2"), ("per_image_standardization", "tf.image.per_image_standardization(photos)", "standardized(photos)"),
]  # fmt: skip
_DRAWS = [
    ("truncated_normal", "tf.random.truncated_normal([1000000])", "torch.nn.init.trunc_normal_(torch.empty(1000000), a=-2.0, b=2.0)"), ("categorical", "tf.random.categorical(m, 1)", "torch.multinomial(torch.softmax(m, 1), 1)"),
    ("shuffle", "tf.random.shuffle(x)", "x[torch.randperm(1000000)]"), ("gamma", "tf.random.gamma([], p + 1)", "torch._standard_gamma(p + 1)"), ("poisson", "tf.random.poisson([], p)", "torch.poisson(p)"),
    ("stateless_normal", "tf.random.stateless_normal([1000000], [1, 2])", "torch.randn(1000000)"), ("stateless_uniform", "tf.random.stateless_uniform([1000000], [1, 2])", "torch.rand(1000000)"),
    ("bernoulli", "tf.cast(tf.random.uniform([1000000]) < 0.3, tf.float32)", "torch.empty(1000000).bernoulli_(0.3)"), ("dropout", "tf.nn.dropout(x, 0.5)", _F + "dropout(x, 0.5)"),
]  # fmt: skip
ROWS = _ARITHMETIC + _REDUCTIONS + _LINEAR + _LOSSES + _SHAPES + _PICTURES + _DRAWS
