"""tf.signal and complex numbers, against NumPy."""
import numpy as np
import pytest
import tandemflow as tf

RANDOM = np.random.default_rng(0)
SOUND = RANDOM.normal(size=(2, 500)).astype("float32")


def complex_values(*shape):
    return RANDOM.normal(size=shape) + 1j * RANDOM.normal(size=shape)


@pytest.mark.parametrize("length", [1, 2, 7, 64, 65, 97, 255, 256, 1000, 4096])
def test_transforms_of_any_length(length):
    z = complex_values(3, length)
    there = tf.signal.fft(z)
    assert there.dtype == "complex128" and there.shape == (3, length)
    np.testing.assert_allclose(there.numpy(), np.fft.fft(z), atol=1e-9)
    np.testing.assert_allclose(tf.signal.ifft(there).numpy(), z, atol=1e-11)
    half = tf.signal.rfft(z.real)
    np.testing.assert_allclose(half.numpy(), np.fft.rfft(z.real), atol=1e-9)
    np.testing.assert_allclose(tf.signal.irfft(half, [length]).numpy(), z.real, atol=1e-11)


def test_transforms_of_two_axes():
    z = complex_values(2, 6, 10)
    np.testing.assert_allclose(tf.signal.fft2d(z).numpy(), np.fft.fft2(z), atol=1e-11)
    np.testing.assert_allclose(tf.signal.ifft2d(z).numpy(), np.fft.ifft2(z), atol=1e-13)
    np.testing.assert_array_equal(tf.signal.fftshift(z.real).numpy(), np.fft.fftshift(z.real))
    np.testing.assert_array_equal(tf.signal.ifftshift(SOUND[:, :7], axes=[1]).numpy(), np.fft.ifftshift(SOUND[:, :7], axes=[1]))


def test_a_spectrogram_and_the_way_back():
    spectrogram = tf.signal.stft(SOUND, frame_length=255, frame_step=128)
    frames = np.stack([SOUND[:, i * 128 : i * 128 + 255] for i in range(2)], 1)
    expected = np.fft.rfft(frames * np.hanning(255), 256)
    np.testing.assert_allclose(spectrogram.numpy(), expected, atol=1e-4)
    np.testing.assert_allclose(tf.abs(spectrogram).numpy(), np.abs(expected), atol=1e-4)
    back = tf.signal.inverse_stft(tf.signal.stft(SOUND, 64, 16), 64, 16, window_fn=tf.signal.inverse_stft_window_fn(16))
    np.testing.assert_allclose(back.numpy()[:, 64:-64], SOUND[:, 64 : back.shape[1] - 64], atol=1e-4)


def test_spectrograms_have_gradients_and_run_in_pipelines():
    sound = tf.Variable(SOUND.astype("float64"))
    with tf.GradientTape() as tape:
        power = tf.reduce_sum(tf.square(tf.abs(tf.signal.rfft(sound))))
    # Parseval: every wave but the first and the last stands for two
    spectrum = np.fft.rfft(SOUND.astype("float64"))
    spectrum[:, [0, -1]] *= 2
    np.testing.assert_allclose(tape.gradient(power, sound).numpy(), np.fft.irfft(spectrum) * 500, rtol=1e-8, atol=1e-8)
    dataset = tf.data.Dataset.from_tensor_slices(SOUND).map(lambda one: tf.abs(tf.signal.stft(one, 64, 32)))
    assert dataset.element_spec.shape == (14, 33)
    traced = tf.function(lambda one: tf.math.angle(tf.signal.stft(one, 64, 32)))(SOUND)
    np.testing.assert_allclose(traced.numpy(), tf.math.angle(tf.signal.stft(SOUND, 64, 32)).numpy(), atol=1e-5)


def test_frames_and_their_sum():
    frames = tf.signal.frame(SOUND, 30, 7, pad_end=True, pad_value=1)
    assert frames.shape == (2, 72, 30) and frames.numpy()[0, -1, -1] == 1
    np.testing.assert_array_equal(frames.numpy()[1, 3], SOUND[1, 21:51])
    assert tf.signal.frame(SOUND.T, 30, 7, axis=0).shape == (68, 30, 2)
    ones = tf.signal.overlap_and_add(tf.ones((4, 3)), 2)
    assert ones.numpy().tolist() == [1, 1, 2, 1, 2, 1, 2, 1, 1]
    assert tf.signal.frame(SOUND, 600, 7).shape == (2, 0, 600)  # as TensorFlow has it


def test_windows_and_cosine_transforms():
    np.testing.assert_allclose(tf.signal.hann_window(10), np.hanning(11)[:-1], atol=1e-6)
    np.testing.assert_allclose(tf.signal.hamming_window(10, periodic=False), np.hamming(10), atol=1e-6)
    x, n = SOUND.astype("float64"), SOUND.shape[1]
    waves = np.cos(np.pi / n * np.outer(np.arange(n) + 0.5, np.arange(n)))
    np.testing.assert_allclose(tf.signal.dct(x).numpy(), 2 * x @ waves, atol=1e-8)
    np.testing.assert_allclose(tf.signal.idct(tf.signal.dct(x)).numpy(), 2 * n * x, atol=1e-8)
    np.testing.assert_allclose(tf.signal.idct(tf.signal.dct(x, norm="ortho"), norm="ortho").numpy(), x, atol=1e-10)
    np.testing.assert_allclose(tf.signal.mfccs_from_log_mel_spectrograms(x).numpy(), 2 * x @ waves / np.sqrt(2 * n), atol=1e-8)
    with pytest.raises(NotImplementedError, match="axis must be -1"):
        tf.signal.dct(x, axis=0)


def test_mel_weights_are_triangles():
    weights = tf.signal.linear_to_mel_weight_matrix(20, 129, 8000, 125.0, 3800.0).numpy()
    assert weights.shape == (129, 20) and not weights[0].any() and weights.max() <= 1
    for band in weights.T:
        rise = np.diff(band[band > 0])
        assert (np.diff((rise > 0).astype(int)) <= 0).all()  # up, then down


def test_complex_numbers_in_expressions():
    a, b = complex_values(3, 4), complex_values(3, 4)
    x, y = tf.complex(a.real, a.imag), tf.complex(b.real, b.imag)
    for got, expected in [
        (x + y, a + b), (x - y, a - b), (x * y, a * b), (x / y, a / b), (2.0 - x, 2 - a), (1.0 / x, 1 / a), (x * 2.0, a * 2), (-x, -a), (x[1:, ::2], a[1:, ::2]),
        (tf.add(x, y), a + b), (tf.multiply(x, y), a * b), (tf.exp(x), np.exp(a)), (tf.square(x), a * a), (tf.transpose(x), a.T), (tf.reduce_sum(x), a.sum()),
        (tf.math.conj(x), a.conj()), (tf.reshape(x, [-1]), a.reshape(-1)),
    ]:  # fmt: skip
        np.testing.assert_allclose(got.numpy(), expected, atol=1e-12)
    np.testing.assert_allclose(tf.math.angle(x).numpy(), np.angle(a))
    assert tf.math.real(x).dtype == tf.float64 and tf.math.imag(tf.ones(2)).numpy().tolist() == [0, 0]
    with pytest.raises(TypeError, match="float32 or of float64"):
        tf.complex([1], [2])
    with pytest.raises((TypeError, ValueError), match="complex128"):
        tf.math.erf(x)


def test_complex_dtypes_name_what_they_make():
    z = tf.constant([1 + 2j, 3 - 1j], tf.complex64)
    assert z.dtype == tf.complex64 == tf.as_dtype("complex64") and z.dtype.is_complex and z.dtype.real_dtype == tf.float32
    assert repr(z) == "<tf.Tensor: shape=(2,), dtype=complex64, numpy=array([1.+2.j, 3.-1.j], dtype=complex64)>"
    assert repr(tf.constant(1 + 2j)) == "<tf.Tensor: shape=(), dtype=complex128, numpy=(1+2j)>"
    assert tf.cast(tf.constant([1, 2]), dtype=tf.complex128).numpy().tolist() == [1, 2] and tf.cast(z, tf.float32).numpy().tolist() == [1, 3]
    assert tf.zeros([2], tf.complex64).dtype == tf.ones([2], "complex64").dtype == tf.eye(2, dtype=tf.complex64).dtype == tf.complex64
    with pytest.raises(TypeError, match="complex"):
        tf.constant(1 + 2j, tf.float32)


def test_complex_tensors_are_joined_compared_multiplied_and_raised():
    a = complex_values(3, 3)
    x = tf.constant(a)
    np.testing.assert_allclose((x @ x).numpy(), a @ a)
    np.testing.assert_allclose(tf.matmul(x, tf.eye(3, dtype=tf.complex128)).numpy(), a)
    np.testing.assert_allclose((x**2).numpy(), a**2)
    np.testing.assert_allclose(tf.sqrt(x).numpy(), np.sqrt(a))
    np.testing.assert_allclose(tf.math.log(x).numpy(), np.log(a))
    np.testing.assert_allclose(tf.linalg.adjoint(x).numpy(), a.conj().T)
    np.testing.assert_allclose(tf.stack([x, x]).numpy(), np.stack([a, a]))
    np.testing.assert_allclose(tf.concat([x, x], 1).numpy(), np.concatenate([a, a], 1))
    assert (x == x).numpy().all() and not (x != x).numpy().any()


def test_transforms_of_three_and_more_axes():
    x, z = RANDOM.normal(size=(2, 3, 4, 5)), complex_values(2, 3, 4, 5)
    last = (1, 2, 3)
    for got, wanted in (
        (tf.signal.fft3d(z), np.fft.fftn(z, axes=last)), (tf.signal.ifft3d(z), np.fft.ifftn(z, axes=last)), (tf.signal.rfft3d(x), np.fft.rfftn(x, axes=last)),
        (tf.signal.rfft3d(x, [3, 5, 6]), np.fft.rfftn(x, [3, 5, 6], axes=last)), (tf.signal.irfft3d(z, [3, 4, 7]), np.fft.irfftn(z, [3, 4, 7], axes=last)),
        (tf.signal.fftnd(z, [5, 2], axes=[0, 2]), np.fft.fftn(z, [5, 2], axes=(0, 2))), (tf.signal.ifftnd(z), np.fft.ifftn(z)),
        (tf.signal.rfftnd(x, axes=[3, 1]), np.fft.rfftn(x, axes=(3, 1))), (tf.signal.irfftnd(z, axes=[3, 1]), np.fft.irfftn(z, axes=(3, 1))),
    ):  # fmt: skip
        assert got.shape == wanted.shape
        np.testing.assert_allclose(got.numpy(), wanted, atol=1e-12)
    with pytest.raises(ValueError, match="needs 3 axes"):
        tf.signal.fft3d(z[0, 0])
    with pytest.raises(ValueError, match="a length for each of the 3 axes"):
        tf.signal.rfft3d(x, [4])


def test_cosine_transforms_of_every_type():
    x = RANDOM.normal(size=(3, 6))
    k = np.arange(6)
    ends = np.where((k == 0) | (k == 5), 0.5, 1.0)[:, None]
    first, fourth = 2 * np.cos(np.pi / 5 * k[:, None] * k) * ends, 2 * np.cos(np.pi / 6 * (k[:, None] + 0.5) * (k + 0.5))
    np.testing.assert_allclose(tf.signal.dct(x, 1), x @ first, atol=1e-12)
    np.testing.assert_allclose(tf.signal.dct(x, 4), x @ fourth, atol=1e-12)
    for kind in (2, 3, 4):
        np.testing.assert_allclose(tf.signal.idct(tf.signal.dct(x, kind, norm="ortho"), kind, norm="ortho"), x, atol=1e-12)
        np.testing.assert_allclose(tf.signal.idct(tf.signal.dct(x, kind), kind), 12 * x, atol=1e-11)
    np.testing.assert_allclose(tf.signal.idct(tf.signal.dct(x, 1), 1), 10 * x, atol=1e-11)
    for wrong in (dict(type=5), dict(norm="l2"), dict(type=1, norm="ortho"), dict(type=1, n=1)):
        with pytest.raises(ValueError):
            tf.signal.dct(x, **wrong)


def test_complex_matrices():
    a, b, c, m = complex_values(3, 4), complex_values(4, 5), complex_values(5, 2), complex_values(2, 3, 3)
    tensors = [tf.constant(value) for value in (a, b, c)]
    for got, wanted in (
        (tf.einsum("ij,jk,kl->il", *tensors), a @ b @ c), (tf.tensordot(*tensors[:2], 1), a @ b), (tf.matmul(tensors[0], tensors[0], adjoint_b=True), a @ a.conj().T),
        (tf.matmul(tensors[0], tensors[0], adjoint_a=True), a.conj().T @ a), (tf.linalg.matvec(tensors[0], b[:, 0]), a @ b[:, 0]),
        (tf.linalg.matvec(tensors[0], a[:, 0], adjoint_a=True), a.conj().T @ a[:, 0]), (tf.linalg.inv(tf.constant(m)), np.linalg.inv(m)),
        (tf.linalg.solve(tf.constant(m), m[:, :, :2]), np.linalg.solve(m, m[:, :, :2])),
        (tf.linalg.solve(tf.constant(m), m[:, :, :2], adjoint=True), np.linalg.solve(m.conj().swapaxes(1, 2), m[:, :, :2])),
        (tf.add_n([tensors[0]] * 3), 3 * a), (tf.linalg.band_part(tensors[0], 0, 1), np.triu(np.tril(a, 1))), (tf.linalg.trace(tf.constant(m)), np.trace(m, axis1=1, axis2=2)),
        (tf.math.reduce_variance(tensors[0], 0), a.var(0)), (tf.math.reduce_std(tensors[0]), a.std()), (tf.math.count_nonzero(tensors[0]), 12),
        (tf.linalg.normalize(tensors[0], axis=-1)[0], a / np.linalg.norm(a, axis=-1, keepdims=True)),
    ):  # fmt: skip
        np.testing.assert_allclose(got.numpy(), wanted, atol=1e-12)


def test_functions_take_and_give_complex_numbers():
    z = tf.constant(complex_values(3, 3))

    @tf.function
    def squared(x):
        return x * x

    @tf.function
    def size(x):
        return tf.abs(x)

    np.testing.assert_allclose(squared(z).numpy(), z.numpy() ** 2)
    with tf.GradientTape() as tape:
        tape.watch(z)
        y = size(z)
    np.testing.assert_allclose(tape.gradient(y, z).numpy(), z.numpy() / np.abs(z.numpy()), rtol=1e-9)
    np.testing.assert_allclose(tf.function(lambda x: tf.cast(x, tf.complex64))(tf.ones([2])).numpy(), [1, 1])
    np.testing.assert_allclose(tf.function(tf.linalg.solve)(tf.eye(2), tf.ones([2, 1])), [[1], [1]])  # of real ones, traced
