"""tf.einsum and tf.tensordot against NumPy."""
import numpy as np
import pytest
import tandemflow as tf

random = np.random.default_rng(5)

EQUATIONS = [
    ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,jk", [(2, 3), (3, 4)]), ("ij->ji", [(2, 3)]), ("ij->", [(2, 3)]), ("ii->i", [(3, 3)]),
    ("ii", [(3, 3)]), ("i,j->ij", [(2,), (3,)]), ("i,i->", [(4,), (4,)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("bthd,bshd->bhts", [(2, 3, 2, 4), (2, 5, 2, 4)]), ("...ij,...jk->...ik", [(2, 3, 4), (4, 5)]), ("...i->...", [(2, 3, 4)]),
    ("...,...", [(2, 3), (3,)]), ("abc,cd,de->abe", [(2, 3, 4), (4, 5), (5, 2)]), ("ij,kl->il", [(2, 3), (4, 5)]),
    ("aij,ajk->ik", [(2, 3, 4), (2, 4, 5)]), ("ij,ij->ij", [(2, 3), (2, 3)]),
    (" i j , j -> i ", [(2, 3), (3,)]), ("ij,j->i", [(2, 0), (0,)]), ("iij,jk->ik", [(3, 3, 2), (2, 4)]),
]  # fmt: skip


@pytest.mark.parametrize("equation, shapes", EQUATIONS)
def test_einsum_agrees_with_numpy(equation, shapes):
    arrays = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    np.testing.assert_allclose(tf.einsum(equation, *arrays).numpy(), np.einsum(equation, *arrays), rtol=1e-5, atol=1e-5)


def test_einsum_is_differentiable():
    a, b = tf.constant(random.standard_normal((2, 3))), tf.constant(random.standard_normal((3, 4)))
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        y = tf.einsum("ij,jk->ki", a, b)
    da, db = tape.gradient(y, [a, b])
    np.testing.assert_allclose(da.numpy(), np.broadcast_to(b.numpy().sum(1), (2, 3)), rtol=1e-6)
    np.testing.assert_allclose(db.numpy(), np.broadcast_to(a.numpy().sum(0)[:, None], (3, 4)), rtol=1e-6)


@pytest.mark.parametrize(
    "equation, shapes, word",
    [("ij,jk->ik", [(2, 3)], "operands"), ("ij->ik", [(2, 3)], "labels"), ("ij,jk->ik", [(2, 3), (4, 5)], "'j'"), ("ij", [(2,)], "axes"),
     ("i1->i", [(2, 3)], "letters"), ("ii->i", [(2, 3)], "'i'"), ("ij->ii", [(2, 3)], "once"), ("b...,b...->b", [(3, 2), (3, 2)], "ellipsis")],
)  # fmt: skip
def test_what_einsum_cannot_do_is_an_error_that_says_why(equation, shapes, word):
    with pytest.raises(ValueError, match=word):
        tf.einsum(equation, *[np.zeros(shape, np.float32) for shape in shapes])


@pytest.mark.parametrize("axes", [0, 1, 2, [[1], [0]], [[0, 2], [1, 0]], [[2], [0]], (-1, 0)])
def test_tensordot_agrees_with_numpy(axes):
    a, b = random.standard_normal((3, 4, 4)).astype(np.float32), random.standard_normal((4, 3, 2)).astype(np.float32)
    b = b if axes not in (2,) else random.standard_normal((4, 4, 2)).astype(np.float32)
    np.testing.assert_allclose(tf.tensordot(a, b, axes).numpy(), np.tensordot(a, b, axes), rtol=1e-5, atol=1e-5)


def test_tensordot_refuses_axes_that_do_not_fit():
    with pytest.raises(ValueError, match="differ in size"):
        tf.tensordot(np.zeros((2, 3), np.float32), np.zeros((4, 5), np.float32), 1)
    with pytest.raises(ValueError, match="from 0 to 2"):
        tf.tensordot(np.zeros((2, 3), np.float32), np.zeros((4, 5), np.float32), 3)


def test_operands_that_stand_transposed_are_read_in_place_and_the_result_has_its_order():
    a, b = np.random.default_rng(0).normal(size=(3, 4, 5)), np.random.default_rng(1).normal(size=(3, 6, 5))
    for left, x in (("bij", a), ("bji", a.transpose(0, 2, 1)), ("jbi", a.transpose(2, 0, 1))):
        for right, y in (("bkj", b), ("bjk", b.transpose(0, 2, 1)), ("kjb", b.transpose(1, 2, 0))):
            for result in ("bik", "bki", "kib", "ikb", "kbi", "ki"):
                equation = f"{left},{right}->{result}"
                np.testing.assert_allclose(tf.einsum(equation, x, y), np.einsum(equation, x, y), err_msg=equation)
