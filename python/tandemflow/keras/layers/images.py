"""keras.layers.Resizing, CenterCrop, RandomCrop and RandomFlip; what layers of images share."""
from ... import _arrays, _ops, _tandem
from ... import random as _random
from .._engine import data_format as formats
from ._configured import ConfiguredLayer
from ._images import as_given, channels_last


class ImageLayer(ConfiguredLayer):
    """Takes images one by one or as a batch, in a tensor or under "images" of a dict; gives floats."""

    _takes_values = True

    def _set_up(self, data_format):
        self.data_format = formats.standardize(data_format)
        self.built = True

    def call(self, data, training=True):
        if isinstance(data, dict):
            known = {"images", "labels"}
            if set(data) - known:
                raise NotImplementedError(f"{type(self).__name__} changes images; it leaves no {sorted(set(data) - known)} right")
            return {**data, "images": self._transform(data["images"], training)}
        return self._transform(data, training)

    def _transform(self, images, training):
        x = _tandem.to_tensor(images)
        if x.ndim not in (3, 4):
            raise ValueError(f"Expected image tensor to have rank 3 (single image) or 4 (batch of images). Received: data.shape={tuple(x.shape)}")
        x = _ops.cast(x, self.compute_dtype)
        single = x.ndim == 3
        x = channels_last(_ops.expand_dims(x, 0) if single else x, self.data_format)
        out = as_given(self._change(x, training) if training or self._always else x, self.data_format)
        return _ops.squeeze(out, [0]) if single else out

    _always = False  # also when nothing is trained

    def get_config(self):
        own = super().get_config()
        basic = {name: own.pop(name) for name in ("name", "trainable", "dtype")}
        return {**basic, "data_format": self.data_format, **{name: value for name, value in own.items() if name != "data_format"}}

    def _uniform(self, low, high, count):
        """A number for each image."""
        return _random.uniform([count], low, high, seed=self.seed)


class Resizing(ImageLayer):
    """Images in another size."""

    _always = True

    def __init__(self, height, width, interpolation="bilinear", crop_to_aspect_ratio=False, pad_to_aspect_ratio=False,
                 fill_mode="constant", fill_value=0.0, antialias=False, data_format=None, **kwargs):  # fmt: skip
        super().__init__(**kwargs)
        self._set_up(data_format)
        self._keep(height=height, width=width, interpolation=interpolation, crop_to_aspect_ratio=crop_to_aspect_ratio,
                   pad_to_aspect_ratio=pad_to_aspect_ratio, fill_mode=fill_mode, fill_value=fill_value,
                   antialias=antialias)  # fmt: skip

    def _change(self, x, training):
        from ..ops import image

        return image.resize(
            x, (self.height, self.width), self.interpolation, self.antialias, self.crop_to_aspect_ratio,
            self.pad_to_aspect_ratio, self.fill_mode, self.fill_value, "channels_last",
        )  # fmt: skip


def _smart_resize(x, height, width):
    """The largest part in the middle with the right ratio, resized."""
    from ..ops import image

    return image.resize(x, (height, width), crop_to_aspect_ratio=True, data_format="channels_last")


class CenterCrop(ImageLayer):
    """The middle of images; smaller ones are enlarged."""

    _always = True

    def __init__(self, height, width, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self._set_up(data_format)
        self.height, self.width = height, width

    def _change(self, x, training):
        top, left = x.shape[1] - self.height, x.shape[2] - self.width
        if top < 0 or left < 0:
            return _smart_resize(x, self.height, self.width)
        top, left = top // 2, left // 2
        return x[:, top : top + self.height, left : left + self.width]


class RandomCrop(ImageLayer):
    """A part of images at a random place; without training, the middle, resized."""

    _always = True

    def __init__(self, height, width, seed=None, data_format=None, name=None, **kwargs):
        super().__init__(name=name, **kwargs)
        self._set_up(data_format)
        self.height, self.width, self.seed = height, width, seed

    def _change(self, x, training):
        rows, columns = x.shape[1] - self.height, x.shape[2] - self.width
        if not training or rows < 0 or columns < 0:
            return _smart_resize(x, self.height, self.width)
        for axis, extra, size in ((1, rows, self.height), (2, columns, self.width)):
            start = _ops.cast(_ops.floor(_random.uniform([], 0.0, float(extra + 1), seed=self.seed)), "int32")
            x = _ops.gather(x, _ops.range(size) + start, axis=axis)
        return x


class RandomFlip(ImageLayer):
    """Images mirrored, each with the probability 1/2."""

    def __init__(self, mode="horizontal_and_vertical", seed=None, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self._set_up(data_format)
        if mode not in ("horizontal", "vertical", "horizontal_and_vertical"):
            raise ValueError(f"RandomFlip: mode must be 'horizontal', 'vertical' or 'horizontal_and_vertical', got {mode!r}")
        self.mode, self.seed = mode, seed

    def _change(self, x, training):
        axes = {"horizontal": [2], "vertical": [1], "horizontal_and_vertical": [1, 2]}[self.mode]
        flips = _ops.reshape(self._uniform(0.0, 1.0, x.shape[0]) <= 0.5, [-1, 1, 1, 1])
        return _ops.where(flips, _arrays.reverse(x, axes), x)
