"""tf.test.TestCase: unittest's, with assertions about tensors."""
import contextlib
import random
import tempfile
import unittest

import numpy as np


def _array(value):
    """The value as NumPy's: tensors, lists of them, numbers."""
    if hasattr(value, "numpy"):
        return np.asarray(value.numpy())
    return np.array([_array(item) for item in value]) if isinstance(value, (list, tuple)) else np.asarray(value)


def _text(array):
    """Strings as bytes, so that str and bytes compare."""
    if array.dtype.kind in "UO":
        return np.vectorize(lambda item: item.encode() if isinstance(item, str) else item, otypes=[object])(array) if array.size else array
    return array


class TestCase(unittest.TestCase):
    """Each test begins with the same random numbers."""

    def setUp(self):
        super().setUp()
        from ..random import set_seed

        random.seed(87654321)
        np.random.seed(87654321)
        set_seed(87654321)

    def evaluate(self, tensors):
        """The tensors' values, nested as they are."""
        from .. import nest

        return nest.map_structure(lambda tensor: tensor.numpy() if hasattr(tensor, "numpy") else tensor, tensors)

    def get_temp_dir(self):
        """A folder for this test."""
        if not hasattr(self, "_folder"):
            folder = tempfile.TemporaryDirectory()
            self.addCleanup(folder.cleanup)
            self._folder = folder.name
        return self._folder

    create_tempdir = get_temp_dir

    @contextlib.contextmanager
    def cached_session(self, *args, **kwargs):
        """Nothing: there are no sessions, tensors have their values at once."""
        yield self

    session = cached_session

    # --- Assertions. ---

    def assertAllEqual(self, a, b, msg=None):  # noqa: N802  TensorFlow's names
        if isinstance(a, dict) or isinstance(b, dict):
            self.assertEqual(set(a), set(b), msg)
            for key in a:
                self.assertAllEqual(a[key], b[key], msg)
            return
        a, b = _text(_array(a)), _text(_array(b))
        self.assertEqual(a.shape, b.shape, f"shapes {a.shape} and {b.shape} differ. {msg or ''}")
        np.testing.assert_array_equal(a, b, msg or "")

    def assertNotAllEqual(self, a, b, msg=None):  # noqa: N802
        with self.assertRaises(AssertionError, msg=msg or "all values are equal"):
            self.assertAllEqual(a, b)

    def assertAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):  # noqa: N802
        if isinstance(a, dict):
            self.assertEqual(set(a), set(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, msg)
        elif isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)) and len({_array(item).shape for item in a}) > 1:
            self.assertEqual(len(a), len(b), msg)
            for first, second in zip(a, b):
                self.assertAllClose(first, second, rtol, atol, msg)
        else:
            a, b = _array(a), _array(b)
            self.assertEqual(a.shape, b.shape, f"shapes {a.shape} and {b.shape} differ. {msg or ''}")
            np.testing.assert_allclose(a, b, rtol, atol, err_msg=msg or "")

    def assertAllCloseAccordingToType(self, a, b, rtol=1e-6, atol=1e-6, half_rtol=1e-3, half_atol=1e-3, msg=None, **tolerances):  # noqa: N802
        half = any(_array(x).dtype.itemsize == 2 for x in (a, b))
        self.assertAllClose(a, b, half_rtol if half else rtol, half_atol if half else atol, msg)

    def assertNotAllClose(self, a, b, rtol=1e-6, atol=1e-6, msg=None):  # noqa: N802
        with self.assertRaises(AssertionError, msg=msg or "all values are close"):
            self.assertAllClose(a, b, rtol, atol)

    def assertNear(self, f1, f2, err, msg=None):  # noqa: N802
        self.assertLessEqual(abs(float(f1) - float(f2)), err, f"{f1} != {f2} +/- {err}. {msg or ''}")

    def _assert_all(self, holds, values, what, msg):
        values = _array(values)
        self.assertTrue(bool(np.all(holds(values))), f"{what} does not hold for all of {values}. {msg or ''}")

    def assertAllGreater(self, a, comparison_target, msg=None):  # noqa: N802
        self._assert_all(lambda x: x > comparison_target, a, f"> {comparison_target}", msg)

    def assertAllGreaterEqual(self, a, comparison_target, msg=None):  # noqa: N802
        self._assert_all(lambda x: x >= comparison_target, a, f">= {comparison_target}", msg)

    def assertAllLess(self, a, comparison_target, msg=None):  # noqa: N802
        self._assert_all(lambda x: x < comparison_target, a, f"< {comparison_target}", msg)

    def assertAllLessEqual(self, a, comparison_target, msg=None):  # noqa: N802
        self._assert_all(lambda x: x <= comparison_target, a, f"<= {comparison_target}", msg)

    def assertAllInRange(self, target, lower_bound, upper_bound, open_lower_bound=False, open_upper_bound=False):  # noqa: N802
        self._assert_all(lambda x: x > lower_bound if open_lower_bound else x >= lower_bound, target, f"above {lower_bound}", None)
        self._assert_all(lambda x: x < upper_bound if open_upper_bound else x <= upper_bound, target, f"below {upper_bound}", None)

    def assertAllInSet(self, target, expected_set):  # noqa: N802
        self._assert_all(lambda x: np.isin(x, list(expected_set)), target, f"in {expected_set}", None)

    # --- Of absl's TestCase, which TensorFlow's is. ---

    def assertLen(self, container, expected_len, msg=None):  # noqa: N802
        self.assertEqual(len(container), expected_len, msg)

    def assertEmpty(self, container, msg=None):  # noqa: N802
        self.assertLen(container, 0, msg)

    def assertNotEmpty(self, container, msg=None):  # noqa: N802
        self.assertGreater(len(container), 0, msg)

    def assertStartsWith(self, actual, expected_start, msg=None):  # noqa: N802
        self.assertTrue(actual.startswith(expected_start), msg or f"{actual!r} does not start with {expected_start!r}")

    def assertEndsWith(self, actual, expected_end, msg=None):  # noqa: N802
        self.assertTrue(actual.endswith(expected_end), msg or f"{actual!r} does not end with {expected_end!r}")

    def assertBetween(self, value, minv, maxv, msg=None):  # noqa: N802
        self.assertTrue(minv <= value <= maxv, msg or f"{value!r} is not between {minv!r} and {maxv!r}")

    def assertShapeEqual(self, input_a, input_b, msg=None):  # noqa: N802
        self.assertEqual(tuple(input_a.shape), tuple(input_b.shape), msg)

    def assertDTypeEqual(self, target, expected_dtype):  # noqa: N802
        from .._dtypes import as_dtype

        self.assertEqual(as_dtype(_array(target).dtype.name), as_dtype(expected_dtype))

    def assertRaisesOpError(self, expected_err_re_or_predicate):  # noqa: N802
        from ..errors import OpError

        return self.assertRaisesRegex(OpError, expected_err_re_or_predicate)

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type, expected_err_re_or_predicate):  # noqa: N802
        with self.assertRaises(exception_type) as caught:
            yield
        test = expected_err_re_or_predicate
        if callable(test):
            self.assertTrue(test(caught.exception), f"{caught.exception!r} is not what was expected")
        else:
            self.assertRegex(str(caught.exception), test)


def main(argv=None):
    """Runs the tests of the program."""
    unittest.main(argv=argv)
