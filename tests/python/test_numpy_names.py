"""tf.experimental.numpy gives NumPy's values and dtypes."""
import os
import subprocess
import sys

import numpy as np
import pytest
import tandemflow as tf
import tandemflow.experimental.numpy as tnp

A, F = np.arange(1, 7).reshape(2, 3), np.linspace(0.5, 3, 6).astype("float32").reshape(2, 3)

CASES = [
    *[(name, (A, F)) for name in "add subtract multiply divide maximum minimum power floor_divide mod equal less greater_equal arctan2 hypot logaddexp".split()],
    *[(name, (A,)) for name in "exp log sqrt sin tanh mean std var abs square sum prod max min any all argmax argsort cumsum transpose ravel fliplr rot90 trace tril".split()],
    ("add", (A, 2.5)), ("add", (F, 2.5)), ("add", (F, 2)), ("multiply", (True, A)), ("true_divide", (1, 2)), ("sum", (np.array([True, False, True]),)),
    ("sum", (A.astype("int8"),)), ("mean", (F,)), ("max", (A, 1)), ("cumprod", (F, 0)), ("concatenate", ([A, F],)), ("stack", ([A[0], F[0]],)), ("vstack", ([A, A],)), ("hstack", ([A, F],)),
    ("where", (A > 2, A, 0.5)), ("clip", (A, 2, 4)), ("take", (A, [0, 2], 1)), ("tile", ([1, 2], 2)), ("repeat", ([1, 2], 2)), ("roll", ([1, 2, 3], 1)), ("pad", ([1, 2], 1)),
    ("diag", ([1, 2],)), ("dot", (A, A.T)), ("matmul", (F, A.T)), ("outer", ([1, 2], [3.0, 4.0])), ("tensordot", (A, F, [[1], [1]])), ("einsum", ("ij,kj->ik", A, F)), ("kron", (A, A)),
    ("logical_and", ([1, 0], [1, 1])), ("isnan", ([1.0, np.nan],)), ("average", (A, 0)), ("diff", ([1, 4, 9],)), ("count_nonzero", ([0, 1, 2],)), ("append", ([1, 2], [3.5])),
    ("polyval", ([1, 2, 3], 2.0)), ("arange", (0, 1, 0.25)), ("arange", (4,)), ("linspace", (0, 1, 3)), ("eye", (2,)), ("zeros", (3,)), ("full", ((2,), 7)), ("full_like", (A, 1.5)),
    ("ones_like", (F,)), ("array", ([[1, 2.5]],)), ("atleast_2d", ([1, 2],)), ("atleast_3d", ([1, 2],)), ("expand_dims", (A, 0)), ("swapaxes", (A, 0, 1)), ("fix", ([-1.5, 1.5],)),
    ("select", ([A > 4, A > 2], [A, -A], 9)), ("compress", ([True, False, True], A, 1)), ("float_power", (A, 2)), ("around", ([1.26, 2.5],)), ("array_equal", (A, A)), ("isclose", (A, A + 1e-9)),
    ("vander", ([1, 2, 3],)), ("tri", (3,)), ("logspace", (0, 2, 3)), ("ptp", (A,)), ("nanmean", ([1.0, np.nan],)), ("positive", (A,)), ("broadcast_to", ([1, 2], (2, 2))),
]  # fmt: skip


@pytest.mark.parametrize("name, arguments", CASES)
def test_values_and_dtypes_are_numpys(name, arguments):
    ours, expected = getattr(tnp, name)(*arguments), np.asarray(getattr(np, name)(*arguments))
    assert ours.dtype.name == expected.dtype.name
    np.testing.assert_allclose(ours.numpy(), expected, rtol=2e-6)
    tensors = [tf.constant(x) if isinstance(x, np.ndarray) else x for x in arguments]
    np.testing.assert_allclose(getattr(tnp, name)(*tensors).numpy(), expected, rtol=2e-6)


def test_several_results_and_plain_ones():
    for ours, expected in [(tnp.split(A, 3, axis=1), np.split(A, 3, axis=1)), (tnp.meshgrid([1, 2], [3, 4]), np.meshgrid([1, 2], [3, 4])), (tnp.nonzero([0, 3, 0, 4]), np.nonzero([0, 3, 0, 4]))]:
        assert [part.numpy().tolist() for part in ours] == [part.tolist() for part in expected]
    assert [x.numpy().tolist() for x in tnp.divmod(A, 4)] == [x.tolist() for x in np.divmod(A, 4)]
    assert (tnp.shape(A), tnp.ndim(A), tnp.size(A), tnp.size(A, 1)) == ((2, 3), 2, 6, 3) and tnp.result_type(A, 1.0) == np.float64
    assert tnp.random.randn(2, 3).dtype == tf.float64 and tnp.random.randint(5, size=(2,)).dtype == tf.int64 and tnp.random.rand(3).shape == (3,)
    with pytest.raises(AttributeError, match="numpy.hanning\\(tensor\\)"):
        tnp.hanning


def test_gradients_and_traces():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tnp.sum(tnp.square(x) * 3)
    assert tape.gradient(y, x).numpy().tolist() == [6, 12]
    assert tf.function(lambda x: tnp.mean(tnp.exp(x)))(x).numpy() == pytest.approx(np.exp([1, 2]).mean())


def test_operators_join_dtypes_when_asked_to():
    program = """
import numpy as np, tandemflow as tf, tandemflow.experimental.numpy as tnp
try:
    tf.constant([1]) + tf.constant([1.5])
    raise SystemExit("dtypes were mixed before they were allowed to be")
except tf.errors.InvalidArgumentError:
    pass
tnp.experimental_enable_numpy_behavior()
a, f = tnp.array([[1, 2, 3], [4, 5, 6]]), tnp.ones([2, 3], dtype=np.float32)
for ours, expected in [(a + f, np.float64), (a * 2, np.int64), (a * 2.5, np.float64), (f * 2, np.float32), (1 + a, np.int64), (a > 2.5, np.bool_), (a.T @ f, np.float64)]:
    assert ours.dtype.as_numpy_dtype is expected, (ours, expected)
assert (a - 0.5).numpy().tolist() == [[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]] and (tf.Variable([1]) + 0.5).numpy() == 1.5
assert a.reshape(3, 2).shape == (3, 2) and a.T.shape == (3, 2) and a.sum() == 21 and a.mean(axis=0).tolist() == [2.5, 3.5, 4.5]
assert a.astype(np.float32).dtype == tf.float32 and a.size == 6 and np.sum(a) == 21 and (tf.constant("a") + "b").numpy() == b"ab"
"""
    done = subprocess.run([sys.executable, "-c", program], env=dict(os.environ), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
