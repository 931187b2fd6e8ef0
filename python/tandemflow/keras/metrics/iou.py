"""Intersection over union: how well areas of classes overlap."""
from ... import _matrices, _ops
from ..._ops import records
from .._engine.floats import epsilon
from ..losses._pairs import as_tensor
from .metric import Metric


class IoU(Metric):
    """tp / (tp + fp + fn) of each target class, on average over those that occur."""

    _direction = "up"

    def __init__(
        self, num_classes, target_class_ids, name=None, dtype=None, ignore_class=None, sparse_y_true=True,
        sparse_y_pred=True, axis=-1,
    ):  # fmt: skip
        super().__init__(dtype or "int64", name)
        if max(target_class_ids) >= num_classes:
            raise ValueError(f"Target class id {max(target_class_ids)} is out of range, which is [0, {num_classes}).")
        self.num_classes, self.target_class_ids = num_classes, list(target_class_ids)
        self.ignore_class, self.axis = ignore_class, axis
        self.sparse_y_true, self.sparse_y_pred = sparse_y_true, sparse_y_pred
        self.total_cm = self.add_variable((num_classes, num_classes), name="total_confusion_matrix")

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true = self._classes(y_true, self.sparse_y_true)
        y_pred = self._classes(y_pred, self.sparse_y_pred)
        counted = _ops.logical_and(self._is_class(y_true), self._is_class(y_pred))
        if self.ignore_class is not None:
            counted = _ops.logical_and(counted, y_true != int(self.ignore_class))
        weight = as_tensor(1 if sample_weight is None else sample_weight, self.dtype)
        weight = _ops.broadcast_to(_ops.reshape(weight, [-1]) if weight.ndim else weight, y_true.shape)
        # Both numbers as one: the place in the matrix. What is not counted has none.
        place = _ops.where(counted, y_true * self.num_classes + y_pred, _ops.zeros_like(y_true) - 1)
        sums = records["unsorted_segment_sum"](weight, place, self.num_classes**2)
        self.total_cm.assign_add(_ops.reshape(sums, [self.num_classes, self.num_classes]))

    def _classes(self, values, sparse):
        values = as_tensor(values)
        classes = values if sparse else _ops.argmax(values, self.axis)
        return _ops.reshape(_ops.cast(classes, "int64"), [-1])

    def _is_class(self, classes):
        return _ops.logical_and(classes >= 0, classes < self.num_classes)

    def result(self):
        matrix = _ops.cast(self.total_cm, "float32")
        hits = _matrices.diag_part(matrix)
        union = _ops.reduce_sum(matrix, 0) + _ops.reduce_sum(matrix, 1) - hits
        hits, union = _ops.gather(hits, self.target_class_ids), _ops.gather(union, self.target_class_ids)
        occurs = _ops.cast(union > 1e-9, "float32")
        return _ops.reduce_sum(occurs * hits / (union + epsilon())) / (_ops.reduce_sum(occurs) + epsilon())

    def _config(self, *names):
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}

    def get_config(self):
        return self._config("num_classes", "target_class_ids", "ignore_class", "sparse_y_true", "sparse_y_pred", "axis")


class BinaryIoU(IoU):
    """Of the classes 0 and 1, which a threshold tells apart."""

    def __init__(self, target_class_ids=(0, 1), threshold=0.5, name=None, dtype=None):
        super().__init__(2, target_class_ids, name, dtype)
        self.threshold = threshold

    def update_state(self, y_true, y_pred, sample_weight=None):
        above = as_tensor(y_pred, "float32") >= float(self.threshold)
        super().update_state(y_true, _ops.cast(above, "int64"), sample_weight)

    def get_config(self):
        return self._config("target_class_ids", "threshold")


class MeanIoU(IoU):
    """Of all classes."""

    def __init__(
        self, num_classes, name=None, dtype=None, ignore_class=None, sparse_y_true=True, sparse_y_pred=True, axis=-1
    ):
        super().__init__(
            num_classes, range(num_classes), name, dtype, ignore_class, sparse_y_true, sparse_y_pred, axis
        )

    def get_config(self):
        return self._config("num_classes", "ignore_class", "sparse_y_true", "sparse_y_pred", "axis")


class OneHotIoU(IoU):
    """Of one-hot labels."""

    def __init__(
        self, num_classes, target_class_ids, name=None, dtype=None, ignore_class=None, sparse_y_pred=False, axis=-1
    ):
        super().__init__(num_classes, target_class_ids, name, dtype, ignore_class, False, sparse_y_pred, axis)

    def get_config(self):
        return self._config("num_classes", "target_class_ids", "ignore_class", "sparse_y_pred", "axis")


class OneHotMeanIoU(MeanIoU):
    """Of all classes of one-hot labels."""

    def __init__(self, num_classes, name=None, dtype=None, ignore_class=None, sparse_y_pred=False, axis=-1):
        super().__init__(num_classes, name, dtype, ignore_class, False, sparse_y_pred, axis)

    def get_config(self):
        return self._config("num_classes", "ignore_class", "sparse_y_pred", "axis")
