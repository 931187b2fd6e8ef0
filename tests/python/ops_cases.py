"""Calls of keras.ops for tests/data/keras_ops.npz: tools/reference_layers.py runs them with Keras, test_keras_ops.py with ours."""
import numpy as np

_random = np.random.RandomState(11)
A = _random.standard_normal((3, 4)).astype(np.float32)
B = _random.standard_normal((3, 4)).astype(np.float32)
C = _random.standard_normal((2, 3, 4)).astype(np.float32)
P = (np.abs(A) + 0.1).astype(np.float32)
U = np.clip(A, -0.9, 0.9)
I = _random.randint(-5, 6, (3, 4)).astype(np.int32)
J = _random.randint(1, 5, (3, 4)).astype(np.int32)
T = A > 0
S = (A @ A.T + 4 * np.eye(3)).astype(np.float32)
H = np.array([[1.0, np.nan, 3.0], [np.inf, -np.inf, 0.0]], np.float32)
N = np.where(np.eye(3, 4) > 0, np.nan, A).astype(np.float32)
LONG = np.random.RandomState(12).standard_normal((2, 240)).astype(np.float32)
IMAGE = _random.uniform(0, 1, (2, 6, 7, 3)).astype(np.float32)
ROTATED = np.array([0.9, -0.2, 1.0, 0.3, 1.1, -0.5, 0.0, 0.0], np.float32)


def _unary(names, value):
    return {name: (lambda ops, name=name: getattr(ops, name)(value)) for name in names.split()}


def _binary(names, x, y):
    return {name: (lambda ops, name=name: getattr(ops, name)(x, y)) for name in names.split()}


def _along(names, value, **kwargs):
    suffix = "_" + "_".join(f"{k}{v}" for k, v in kwargs.items())
    return {name + suffix: (lambda ops, name=name: getattr(ops, name)(value, **kwargs)) for name in names.split()}


CASES = {
    **_unary("abs absolute negative sign square exp expm1 sin cos tan sinh cosh tanh arcsinh arctan erf erfc floor ceil round trunc "
             "exp2 deg2rad rad2deg cbrt fabs sinc relu sigmoid softmax silu gelu softplus elu selu log_softmax hard_sigmoid "
             "sum mean prod var std max min amax amin ptp argmax argmin median logsumexp count_nonzero "
             "transpose ravel flip fliplr flipud sort argsort cumsum cumprod tril triu zeros_like ones_like", A),
    **_unary("log log1p log2 log10 sqrt rsqrt reciprocal arccosh", P + 1),
    **_unary("arcsin arccos arctanh erfinv", U),
    **_unary("isnan isinf isfinite isposinf isneginf nan_to_num nansum nanmax nanmin", H),
    **{f"{name}_of_integers": case for name, case in _unary("abs sqrt sum mean max cumsum sign square floor round", I).items()},
    **{f"{name}_of_bools": case for name, case in _unary("sum mean all any logical_not", T).items()},
    **_binary("add subtract multiply divide true_divide maximum minimum equal not_equal less less_equal greater greater_equal "
              "arctan2 logaddexp hypot mod floor_divide fmod isclose vdot inner outer kron append heaviside fmax fmin", A, B),
    **_binary("logical_and logical_or logical_xor", T, B > 0),
    **{f"{name}_of_integers": case for name, case in _binary("add divide floor_divide mod power bitwise_and bitwise_or bitwise_xor", I, J).items()},
    **{f"{name}_with_a_number": case for name, case in _binary("add multiply divide maximum power", I, 2).items()},
    **{f"{name}_with_a_float": case for name, case in _binary("add multiply divide maximum", I, 0.5).items()},
    **{f"{name}_mixed": case for name, case in _binary("add multiply subtract", A, I).items()},
    "power": lambda ops: ops.power(P, B),
    "clip": lambda ops: ops.clip(A, -0.5, 0.5),
    **_along("sum mean prod var std max min argmax argmin cumsum cumprod flip sort argsort logsumexp median softmax", C, axis=1),
    **_along("sum mean max var", C, axis=(0, 2), keepdims=True),
    "quantile": lambda ops: ops.quantile(C, 0.3, axis=1),
    "quantiles": lambda ops: ops.quantile(C, [0.1, 0.5], axis=-1, keepdims=True),
    "average": lambda ops: ops.average(A, axis=1, weights=np.array([1, 2, 3, 4], np.float32)),
    "diff": lambda ops: ops.diff(C, n=2, axis=1),
    "moments": lambda ops: ops.moments(C, [0, 1]),
    "matmul": lambda ops: ops.matmul(C, A.T),
    "matmul_vector": lambda ops: ops.matmul(C, A[0]),
    "dot": lambda ops: ops.dot(C, A.T),
    "tensordot": lambda ops: ops.tensordot(C, A, axes=2),
    "einsum": lambda ops: ops.einsum("bij,kj->bki", C, A),
    "cross": lambda ops: ops.cross(A[:, :3], B[:, :3]),
    "norm": lambda ops: ops.norm(A),
    "norm_axis": lambda ops: ops.norm(A, ord=1, axis=1),
    "normalize": lambda ops: ops.normalize(A),
    "normalize_order": lambda ops: ops.normalize(A, axis=0, order=1),
    "trace": lambda ops: ops.trace(A),
    "diag": lambda ops: ops.diag(A[0], k=1),
    "diagonal": lambda ops: ops.diagonal(C, axis1=1, axis2=2),
    "cholesky": lambda ops: ops.cholesky(S),
    "inv": lambda ops: ops.inv(S),
    "det": lambda ops: ops.det(S),
    "solve": lambda ops: ops.solve(S, A),
    "reshape": lambda ops: ops.reshape(C, (4, -1)),
    "transpose_axes": lambda ops: ops.transpose(C, (2, 0, 1)),
    "swapaxes": lambda ops: ops.swapaxes(C, 0, 2),
    "moveaxis": lambda ops: ops.moveaxis(C, [0, 1], [-1, 0]),
    "expand_dims": lambda ops: ops.expand_dims(A, (0, -1)),
    "squeeze": lambda ops: ops.squeeze(A[:, None]),
    "broadcast_to": lambda ops: ops.broadcast_to(A[0], (3, 4)),
    "concatenate": lambda ops: ops.concatenate([A, B], axis=1),
    "concatenate_mixed": lambda ops: ops.concatenate([A, I], axis=0),
    "stack": lambda ops: ops.stack([A, B], axis=-1),
    "vstack": lambda ops: ops.vstack([A, B]),
    "hstack": lambda ops: ops.hstack([A, B]),
    "split": lambda ops: ops.split(C, 2, axis=-1),
    "split_at": lambda ops: ops.split(C, [1, 3], axis=-1),
    "array_split": lambda ops: ops.array_split(A, 3, axis=1),
    "unstack": lambda ops: ops.unstack(A),
    "tile": lambda ops: ops.tile(A, (2, 1)),
    "repeat": lambda ops: ops.repeat(A, 2, axis=1),
    "roll": lambda ops: ops.roll(C, 2, axis=1),
    "roll_flat": lambda ops: ops.roll(A, 3),
    "rot90": lambda ops: ops.rot90(C),
    "rot90_back": lambda ops: ops.rot90(C, k=-1, axes=(1, 2)),
    "pad": lambda ops: ops.pad(A, ((1, 0), (2, 1))),
    "pad_reflect": lambda ops: ops.pad(A, ((1, 1), (1, 1)), mode="reflect"),
    "slice": lambda ops: ops.slice(A, (1, 1), (2, 3)),
    "slice_update": lambda ops: ops.slice_update(A, (1, 2), np.ones((2, 2), np.float32)),
    "take": lambda ops: ops.take(A, [2, -1], axis=0),
    "take_flat": lambda ops: ops.take(A, [[5, 0]]),
    "take_along_axis": lambda ops: ops.take_along_axis(A, np.array([[1], [0], [3]]), axis=1),
    "where": lambda ops: ops.where(T, A, 0.0),
    "select": lambda ops: ops.select([A > 1, A > 0], [A, B], 9.0),
    "top_k": lambda ops: ops.top_k(A, 2),
    "searchsorted": lambda ops: ops.searchsorted(np.array([0.0, 1.0, 2.0], np.float32), np.array([0.5, 2.0], np.float32)),
    "digitize": lambda ops: ops.digitize(A, np.array([-1.0, 0.0, 1.0], np.float32)),
    "bincount": lambda ops: ops.bincount(np.array([0, 2, 2, 1]), minlength=5),
    "scatter": lambda ops: ops.scatter(np.array([[0], [2]]), A[:2], (4, 4)),
    "scatter_update": lambda ops: ops.scatter_update(A, np.array([[0, 1], [2, 2]]), np.array([9.0, 8.0], np.float32)),
    "segment_sum": lambda ops: ops.segment_sum(A, np.array([0, 2, 0]), num_segments=3),
    "one_hot": lambda ops: ops.one_hot(np.array([0, 2]), 3),
    "multi_hot": lambda ops: ops.multi_hot(np.array([[0, 2], [1, 1]]), 4),
    "arange": lambda ops: ops.arange(5),
    "arange_float": lambda ops: ops.arange(0.0, 1.0, 0.25),
    "linspace": lambda ops: ops.linspace(0.0, 1.0, 5),
    "linspace_open": lambda ops: ops.linspace(A[0], B[0], 3, endpoint=False, axis=-1),
    "logspace": lambda ops: ops.logspace(0.0, 2.0, 3),
    "eye": lambda ops: ops.eye(3, 4, k=1),
    "tri": lambda ops: ops.tri(3, 4, k=-1),
    "full": lambda ops: ops.full((2, 3), 1.5),
    "full_like": lambda ops: ops.full_like(I, 7),
    "meshgrid": lambda ops: ops.meshgrid(A[0], B[:, 0]),
    "cast": lambda ops: ops.cast(A, "int32"),
    "convert_to_tensor": lambda ops: ops.convert_to_tensor([1, 2]),
    "conv": lambda ops: ops.conv(IMAGE, np.ones((2, 2, 3, 4), np.float32), strides=2, padding="same"),
    "depthwise_conv": lambda ops: ops.depthwise_conv(IMAGE, np.ones((2, 2, 3, 2), np.float32)),
    "max_pool": lambda ops: ops.max_pool(IMAGE, 2),
    "average_pool": lambda ops: ops.average_pool(IMAGE, (2, 3), strides=1, padding="same"),
    "batch_normalization": lambda ops: ops.batch_normalization(A, A.mean(0), A.var(0), -1, scale=B[0]),
    "layer_normalization": lambda ops: ops.layer_normalization(A, B[0], B[1]),
    "rms_normalization": lambda ops: ops.rms_normalization(A, B[0]),
    "binary_crossentropy": lambda ops: ops.binary_crossentropy(T.astype(np.float32), np.abs(U)),
    "categorical_crossentropy": lambda ops: ops.categorical_crossentropy(np.eye(4, dtype=np.float32)[:3], P),
    "sparse_categorical_crossentropy": lambda ops: ops.sparse_categorical_crossentropy(np.array([0, 3, 1]), A, from_logits=True),
    "depth_to_space": lambda ops: ops.depth_to_space(np.arange(32, dtype=np.float32).reshape(1, 2, 2, 8), 2),
    "space_to_depth": lambda ops: ops.space_to_depth(IMAGE[:, :6, :6], 2),
    "resize": lambda ops: ops.image.resize(IMAGE, (4, 9)),
    "resize_nearest": lambda ops: ops.image.resize(IMAGE, (4, 9), interpolation="nearest"),
    "resize_bicubic": lambda ops: ops.image.resize(IMAGE, (9, 4), interpolation="bicubic"),
    "resize_lanczos": lambda ops: ops.image.resize(IMAGE, (9, 10), interpolation="lanczos3"),
    "resize_antialias": lambda ops: ops.image.resize(IMAGE, (3, 3), antialias=True),
    "resize_cropped": lambda ops: ops.image.resize(IMAGE, (4, 3), crop_to_aspect_ratio=True),
    "resize_padded": lambda ops: ops.image.resize(IMAGE, (4, 3), pad_to_aspect_ratio=True, fill_value=0.5),
    **{f"affine_{mode}": (lambda ops, mode=mode: ops.image.affine_transform(IMAGE, ROTATED, fill_mode=mode, fill_value=0.3)) for mode in ("constant", "nearest", "reflect", "wrap")},
    "affine_nearest_pixel": lambda ops: ops.image.affine_transform(IMAGE, ROTATED, interpolation="nearest"),
    "rgb_to_grayscale": lambda ops: ops.image.rgb_to_grayscale(IMAGE),
    "rgb_to_hsv": lambda ops: ops.image.rgb_to_hsv(IMAGE),
    "hsv_to_rgb": lambda ops: ops.image.hsv_to_rgb(IMAGE),
    "extract_patches": lambda ops: ops.image.extract_patches(IMAGE, (3, 2), strides=2),
    "pad_images": lambda ops: ops.image.pad_images(IMAGE, 1, 2, target_height=9, target_width=10),
    "crop_images": lambda ops: ops.image.crop_images(IMAGE, 1, 2, target_height=4, target_width=3),
    "fft": lambda ops: ops.fft((C, C[::-1])), "fft2": lambda ops: ops.fft2((C, C[::-1])), "ifft2": lambda ops: ops.ifft2((C, C[::-1])),
    "rfft": lambda ops: ops.rfft(LONG), "rfft_cut": lambda ops: ops.rfft(LONG, 100), "rfft_filled": lambda ops: ops.rfft(LONG, 360),
    "irfft": lambda ops: ops.irfft((C, C[::-1])), "irfft_odd": lambda ops: ops.irfft((C, C[::-1]), 7),
    "extract_sequences": lambda ops: ops.extract_sequences(LONG, 32, 12),
    "stft": lambda ops: ops.stft(LONG, 32, 12, 64), "stft_plain": lambda ops: ops.stft(LONG, 31, 16, 31, window=None, center=False),
    "stft_hamming": lambda ops: ops.stft(LONG, 25, 10, 40, window="hamming"),
    "istft": lambda ops: ops.istft(ops.stft(LONG, 32, 8, 64), 32, 8, 64),
    "istft_length": lambda ops: ops.istft(ops.stft(LONG, 32, 8, 32, center=False), 32, 8, 32, length=200, center=False),
    "adaptive_average_pool": lambda ops: ops.adaptive_average_pool(ops.convert_to_tensor(IMAGE), (4, 3), data_format="channels_last"),
    "adaptive_max_pool": lambda ops: ops.adaptive_max_pool(ops.convert_to_tensor(IMAGE), (4, 3), data_format="channels_last"),
    **_binary("gcd lcm", I, J), "ldexp": lambda ops: ops.ldexp(A, J), "angle": lambda ops: ops.angle(A),
    "vander": lambda ops: ops.vander(A[0], 3), "geomspace": lambda ops: ops.geomspace(1.0, 100.0, 5),
    "vsplit": lambda ops: ops.vsplit(A, 3), "hsplit": lambda ops: ops.hsplit(A, [1, 3]), "dsplit": lambda ops: ops.dsplit(C, 2),
    "percentile": lambda ops: ops.percentile(A, 30.0, axis=1), "kaiser": lambda ops: ops.kaiser(7, 3.0),
    **{f"correlate_{mode}": (lambda ops, mode=mode: ops.correlate(A[0], A[1][:3], mode)) for mode in ("valid", "full", "same")},
    "correlate_longer": lambda ops: ops.correlate(A[1][:3], A[0], "full"),
    **_unary("nancumsum nancumprod", N), **_along("nanargmax nanargmin nanmedian", N, axis=1),
    "nanquantile": lambda ops: ops.nanquantile(N, 0.3, axis=0, keepdims=True), "nanpercentile": lambda ops: ops.nanpercentile(N, 70.0),
}
