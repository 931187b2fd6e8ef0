"""keras.layers.MixUp, CutMix and RandomErasing: images with parts of others, or of nothing."""
from ... import _ops, _tandem
from ... import random as _random
from .. import random as _keras_random
from .augmentation import factor_range
from .colours import by_image, value_pair, within
from .images import ImageLayer


def _boxes(layer, x, height_share, width_share):
    """A random box in each image: 1 inside, and its four ends, as [batch, 1, 1, 1]."""
    count, height, width, _ = x.shape.as_list()
    ends = []
    for share, size in ((width_share, width), (height_share, height)):
        length = share * size
        start = layer._uniform(0.0, 1.0, count) * (size - length)
        ends += [_ops.reshape(start, [-1, 1, 1, 1]), _ops.reshape(start + length, [-1, 1, 1, 1])]
    column = _ops.reshape(_ops.cast(_ops.range(width), "float32"), [1, 1, width, 1])
    row = _ops.reshape(_ops.cast(_ops.range(height), "float32"), [1, height, 1, 1])
    left, right, top, bottom = ends
    inside = _ops.logical_and(_ops.logical_and(column >= left, column < right), _ops.logical_and(row >= top, row < bottom))
    return inside, ends


class _Mixing(ImageLayer):
    """Each image with another of the batch; labels (one-hot) are mixed as the images are."""

    def call(self, data, training=True):
        if not isinstance(data, dict):
            return self._transform(data, training)
        if set(data) - {"images", "labels"}:
            raise NotImplementedError(f"{type(self).__name__} mixes images and labels; it leaves no {sorted(set(data) - {'images', 'labels'})} right")
        self._mixed_labels = data.get("labels")
        images = self._transform(data["images"], training)
        out = {**data, "images": images}
        if "labels" in data:
            out["labels"] = self._mixed_labels
        self._mixed_labels = None
        return out

    _mixed_labels = None

    def _mix_labels(self, order, weight):
        """`weight` of each image's own label, the rest of the other's."""
        if self._mixed_labels is None:
            return
        labels = _tandem.to_tensor(self._mixed_labels)
        if labels.ndim < 2:
            raise ValueError(f"{type(self).__name__}: labels must be one-hot, [batch, classes], got shape {tuple(labels.shape)}; use keras.utils.to_categorical or tf.one_hot")
        labels = labels if labels.dtype.is_floating else _ops.cast(labels, self.compute_dtype)
        weight = _ops.cast(_ops.reshape(weight, [-1] + [1] * (labels.ndim - 1)), labels.dtype)
        self._mixed_labels = weight * labels + (1.0 - weight) * _ops.gather(labels, order)


class MixUp(_Mixing):
    """Each image as a weighted mean with another one; Zhang et al., 2017."""

    def __init__(self, alpha=0.2, data_format=None, seed=None, **kwargs):
        super().__init__(**kwargs)
        self._set_up(data_format)
        self.alpha, self.seed = alpha, seed

    def _change(self, x, training):
        order = _random.shuffle(_ops.range(x.shape[0]), self.seed)
        weight = _keras_random.beta((x.shape[0],), self.alpha, self.alpha, seed=self.seed)
        self._mix_labels(order, weight)
        weight = by_image(weight, x)
        return weight * x + (1.0 - weight) * _ops.gather(x, order)


class CutMix(_Mixing):
    """A box of each image from another one; Yun et al., 2019."""

    def __init__(self, factor=1.0, seed=None, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self._set_up(data_format)
        self.factor, self.seed = factor_range(self, "factor", factor, 0.0, 1.0), seed

    def _transform(self, images, training):
        if _tandem.to_tensor(images).ndim == 3:  # one image has no other to take a box from
            return _ops.cast(_tandem.to_tensor(images), self.compute_dtype)
        return super()._transform(images, training)

    def _change(self, x, training):
        count, height, width, _ = x.shape.as_list()
        alpha = _ops.reshape(self._uniform(*map(float, self.factor), 1) + 1e-6, [])
        share = _ops.sqrt(1.0 - _keras_random.beta((count,), alpha, alpha, seed=self.seed))
        inside, (left, right, top, bottom) = _boxes(self, x, share, share)
        order = _random.shuffle(_ops.range(count), self.seed)
        self._mix_labels(order, 1.0 - (right - left) * (bottom - top) / float(width * height))
        return _ops.where(inside, _ops.gather(x, order), x)


class RandomErasing(ImageLayer):
    """A box of images filled with noise or `fill_value`, with the probability that the factor is; Zhong et al., 2017."""

    def __init__(self, factor=1.0, scale=(0.02, 0.33), fill_value=None, value_range=(0, 255), seed=None, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self._set_up(data_format)
        self.factor = factor_range(self, "factor", factor, 0.0, 1.0)
        self.scale = factor_range(self, "scale", scale, 0.0, 1.0)
        if isinstance(fill_value, (tuple, list)) and len(fill_value) != 3:
            raise ValueError(f"The `fill_value` argument should be a number (or a list of three numbers). Received: fill_value={fill_value}")
        self.fill_value, self.value_range, self.seed = fill_value, value_pair(value_range), seed

    def _change(self, x, training):
        count = x.shape[0]
        shares = [_ops.sqrt(self._uniform(*map(float, self.scale), count)) for _ in range(2)]
        inside, _ = _boxes(self, x, shares[1], shares[0])
        if self.fill_value is None:
            filling = _random.normal(x.shape, seed=self.seed) * float(self.value_range[1])
        else:
            filling = _ops.zeros(x.shape) + _ops.cast(_tandem.to_tensor(self.fill_value), "float32")
        taken = self._uniform(0.0, 1.0, count) < self._uniform(*map(float, self.factor), count)
        inside = _ops.logical_and(inside, _ops.reshape(taken, [-1, 1, 1, 1]))
        return _ops.where(inside, _ops.cast(within(filling, self.value_range), x.dtype), x)
