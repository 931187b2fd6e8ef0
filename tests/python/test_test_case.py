"""tf.test.TestCase: tests of programs written with it pass and fail as they should."""
import unittest

import numpy as np
import pytest
import tandemflow as tf


class Squares(tf.test.TestCase):
    def test_values(self):
        self.assertAllEqual(tf.square([1, 2]), [1, 4])
        self.assertAllEqual(tf.constant(["a"]), ["a"])
        self.assertAllClose({"x": tf.constant([0.1, 0.2])}, {"x": [0.1, 0.2 + 1e-8]})
        self.assertAllClose([tf.ones([2]), tf.ones([3])], [np.ones(2), np.ones(3)])
        self.assertNotAllEqual(tf.constant([1]), [2])
        self.assertNotAllClose(tf.constant([1.0]), [1.1])
        self.assertAllGreater(tf.constant([1, 2]), 0)
        self.assertAllLessEqual(tf.constant([1, 2]), 2)
        self.assertAllInRange(tf.constant([0.0, 1.0]), 0, 1)
        self.assertAllInSet(tf.constant([1, 2]), {1, 2, 3})
        self.assertShapeEqual(np.zeros([2, 3]), tf.zeros([2, 3]))
        self.assertDTypeEqual(tf.constant([1.0]), tf.float32)
        self.assertNear(1.0, 1.05, 0.1)
        self.assertEqual(self.evaluate({"a": tf.constant(3)}), {"a": 3})
        with self.cached_session():
            self.assertEqual(tf.io.gfile.exists(self.get_temp_dir()), True)
        with self.assertRaisesOpError("broadcast"):
            tf.ones([2]) + tf.ones([3])
        with self.assertRaisesWithPredicateMatch(ValueError, "wrong"):
            raise ValueError("wrong")

    def test_random_numbers_begin_alike(self):
        self.assertAllEqual(np.random.randint(0, 1000, 3), [np.random.RandomState(87654321).randint(0, 1000, 3)][0])


def test_the_case_passes():
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Squares).run(result)
    assert result.testsRun == 2 and result.wasSuccessful(), result.failures + result.errors


@pytest.mark.parametrize(
    "check",
    [
        lambda t: t.assertAllEqual([1], [2]), lambda t: t.assertAllEqual([1], [1, 1]), lambda t: t.assertAllClose([1.0], [1.1]), lambda t: t.assertAllGreater([1], 1),
        lambda t: t.assertAllInRange([2.0], 0, 1), lambda t: t.assertAllInSet([4], {1}), lambda t: t.assertNear(1, 2, 0.5), lambda t: t.assertNotAllClose([1.0], [1.0]),
        lambda t: t.assertDTypeEqual(tf.constant(1), tf.float32),
    ],
)  # fmt: skip
def test_what_is_not_so_fails(check):
    with pytest.raises(AssertionError):
        check(tf.test.TestCase())
