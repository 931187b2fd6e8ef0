"""keras.preprocessing.image.ImageDataGenerator: pictures changed by chance, batch by batch, as it was done before layers did it."""
import math
import os

import numpy as np

from ..utils.images import img_to_array, load_img
from ..utils.py_dataset import PyDataset

_PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".tif", ".tiff", ".webp", ".gif")


def _moved_to_middle(matrix, height, width):
    """The change around the middle of the picture instead of its corner."""
    y, x = height / 2 - 0.5, width / 2 - 0.5
    there, back = np.eye(3), np.eye(3)
    there[:2, 2], back[:2, 2] = (y, x), (-y, -x)
    return there @ matrix @ back


def apply_affine_transform(x, theta=0, tx=0, ty=0, shear=0, zx=1, zy=1, row_axis=0, col_axis=1, channel_axis=2, fill_mode="nearest", cval=0.0, order=1):
    """A picture [height, width, channels] turned, moved, sheared (degrees) and zoomed around its middle."""
    from ..ops import image as ops

    if (row_axis, col_axis, channel_axis) != (0, 1, 2):
        raise NotImplementedError(f"apply_affine_transform: pictures are [height, width, channels], got axes {(row_axis, col_axis, channel_axis)}")
    turn, lean = math.radians(theta), math.radians(shear)
    matrix = np.array([[math.cos(turn), -math.sin(turn), 0], [math.sin(turn), math.cos(turn), 0], [0, 0, 1]])
    matrix = matrix @ np.array([[1, 0, tx], [0, 1, ty], [0, 0, 1]]) @ np.array([[1, -math.sin(lean), 0], [0, math.cos(lean), 0], [0, 0, 1]])
    matrix = matrix @ np.diag([zx, zy, 1])
    (a, b, c), (d, e, f) = _moved_to_middle(matrix, *x.shape[:2])[:2]
    x = np.asarray(x, "float32")
    vector = np.array([e, d, f, b, a, c, 0, 0], "float32")  # columns before rows there
    changed = ops.affine_transform(x[None], vector[None], "nearest" if order == 0 else "bilinear", fill_mode, cval, data_format="channels_last")
    return np.asarray(changed)[0]


class Iterator(PyDataset):
    """Batches of changed pictures, without end for `next`, an epoch's for fit."""

    def __init__(self, generator, count, batch_size, shuffle, seed):
        super().__init__()
        self.generator, self.n, self.batch_size, self.shuffle, self.seed = generator, count, batch_size, shuffle, seed
        self._random = np.random.default_rng(seed)
        self._at = 0
        self.on_epoch_end()

    def on_epoch_end(self):
        self.index_array = self._random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def reset(self):
        self._at = 0

    def __len__(self):
        return -(-self.n // self.batch_size)

    def __getitem__(self, at):
        if not 0 <= at < len(self):
            raise ValueError(f"Asked to retrieve element {at}, but the Sequence has length {len(self)}")
        return self._batch(self.index_array[at * self.batch_size : (at + 1) * self.batch_size])

    def __iter__(self):
        return self

    def __next__(self):
        if self._at == len(self):
            self._at = 0
            self.on_epoch_end()
        self._at += 1
        return self[self._at - 1]

    def _changed(self, picture):
        return self.generator.standardize(self.generator.random_transform(picture, random=self._random))


class NumpyArrayIterator(Iterator):
    """Batches of arrays."""

    def __init__(self, x, y, generator, batch_size, shuffle, seed, sample_weight=None):
        self.x, self.y = np.asarray(x, "float32"), None if y is None else np.asarray(y)
        self.sample_weight = None if sample_weight is None else np.asarray(sample_weight)
        if self.x.ndim != 4:
            raise ValueError(f"Input data in `NumpyArrayIterator` should have rank 4. You passed an array with shape {self.x.shape}")
        if self.y is not None and len(self.y) != len(self.x):
            raise ValueError(f"`x` (images tensor) and `y` (labels) should have the same length. Found: {self.x.shape}, {self.y.shape}")
        super().__init__(generator, len(self.x), batch_size, shuffle, seed)

    def _batch(self, numbers):
        pictures = np.stack([self._changed(self.x[i]) for i in numbers])
        others = [part[numbers] for part in (self.y, self.sample_weight) if part is not None]
        return (pictures, *others) if others else pictures


class DirectoryIterator(Iterator):
    """Batches of the pictures in a folder, whose folders are the classes."""

    def __init__(self, directory, generator, target_size, color_mode, classes, class_mode, batch_size, shuffle, seed, subset, interpolation):
        if class_mode not in ("categorical", "binary", "sparse", "input", None):
            raise ValueError(f'Invalid class_mode: {class_mode}; expected one of: "categorical", "binary", "sparse", "input", or None.')
        names = classes or sorted(name for name in os.listdir(directory) if os.path.isdir(os.path.join(directory, name)))
        self.class_indices = {name: i for i, name in enumerate(names)}
        self.directory, self.target_size, self.color_mode, self.class_mode, self.interpolation = directory, target_size, color_mode, class_mode, interpolation
        self.filepaths, labels = [], []
        for name in names:
            files = [os.path.join(where, file) for where, _, files in sorted(os.walk(os.path.join(directory, name))) for file in sorted(files)]
            files = generator.part_of([file for file in files if file.lower().endswith(_PICTURES)], subset)
            self.filepaths += files
            labels += [self.class_indices[name]] * len(files)
        self.filenames, self.classes, self.num_classes = [os.path.relpath(file, directory) for file in self.filepaths], np.array(labels), len(names)
        self.samples = len(self.filepaths)
        print(f"Found {self.samples} images belonging to {self.num_classes} classes.")
        super().__init__(generator, self.samples, batch_size, shuffle, seed)

    def _batch(self, numbers):
        files = [self.filepaths[i] for i in numbers]
        pictures = [img_to_array(load_img(f, color_mode=self.color_mode, target_size=self.target_size, interpolation=self.interpolation)) for f in files]
        pictures = np.stack([self._changed(picture) for picture in pictures])
        if self.class_mode is None:
            return pictures
        if self.class_mode == "input":
            return pictures, pictures.copy()
        labels = self.classes[numbers]
        return pictures, np.eye(self.num_classes, dtype="float32")[labels] if self.class_mode == "categorical" else labels.astype("float32")


class ImageDataGenerator:
    """Pictures turned, moved, sheared, zoomed, flipped and recoloured by chance. Layers such as RandomRotation do it faster."""

    def __init__(self, featurewise_center=False, samplewise_center=False, featurewise_std_normalization=False, samplewise_std_normalization=False,
                 zca_whitening=False, zca_epsilon=1e-6, rotation_range=0, width_shift_range=0.0, height_shift_range=0.0, brightness_range=None,
                 shear_range=0.0, zoom_range=0.0, channel_shift_range=0.0, fill_mode="nearest", cval=0.0, horizontal_flip=False,
                 vertical_flip=False, rescale=None, preprocessing_function=None, data_format=None, validation_split=0.0,
                 interpolation_order=1, dtype=None):  # fmt: skip
        if zca_whitening or data_format not in (None, "channels_last"):
            raise NotImplementedError("ImageDataGenerator: zca_whitening and channels_first are not there; whiten the arrays before, or transpose them")
        if not 0 <= validation_split < 1:
            raise ValueError(f"`validation_split` must be strictly between 0 and 1. Received: {validation_split}")
        self.featurewise_center, self.samplewise_center = featurewise_center, samplewise_center
        self.featurewise_std_normalization, self.samplewise_std_normalization = featurewise_std_normalization, samplewise_std_normalization
        self.rotation_range, self.width_shift_range, self.height_shift_range = rotation_range, width_shift_range, height_shift_range
        self.brightness_range, self.shear_range, self.channel_shift_range = brightness_range, shear_range, channel_shift_range
        self.zoom_range = [1 - zoom_range, 1 + zoom_range] if np.isscalar(zoom_range) else list(zoom_range)
        self.fill_mode, self.cval, self.interpolation_order = fill_mode, cval, interpolation_order
        self.horizontal_flip, self.vertical_flip, self.rescale = horizontal_flip, vertical_flip, rescale
        self.preprocessing_function, self.validation_split, self.mean, self.std = preprocessing_function, validation_split, None, None

    def part_of(self, items, subset):
        """What belongs to the "training" or "validation" part; the validation part comes first."""
        if subset not in ("training", "validation", None):
            raise ValueError(f'Invalid subset name: {subset}; expected "training" or "validation"')
        held = int(self.validation_split * len(items))
        return items if subset is None else items[:held] if subset == "validation" else items[held:]

    def flow(self, x, y=None, batch_size=32, shuffle=True, sample_weight=None, seed=None, save_to_dir=None, subset=None, **kwargs):
        """Batches of arrays."""
        x, y, sample_weight = (None if part is None else self.part_of(part, subset) for part in (x, y, sample_weight))
        return NumpyArrayIterator(x, y, self, batch_size, shuffle, seed, sample_weight)

    def flow_from_directory(self, directory, target_size=(256, 256), color_mode="rgb", classes=None, class_mode="categorical", batch_size=32,
                            shuffle=True, seed=None, save_to_dir=None, follow_links=False, subset=None, interpolation="nearest", **kwargs):  # fmt: skip
        """Batches of the pictures in a folder, whose folders are the classes."""
        return DirectoryIterator(directory, self, target_size, color_mode, classes, class_mode, batch_size, shuffle, seed, subset, interpolation)

    def fit(self, x, augment=False, rounds=1, seed=None):
        """Learns mean and deviation of these pictures, for featurewise_center and featurewise_std_normalization."""
        x = np.asarray(x, "float32")
        self.mean, self.std = x.mean((0, 1, 2)), x.std((0, 1, 2))

    def standardize(self, x):
        """A picture as the options about values say."""
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        if self.rescale:
            x = x * self.rescale
        if self.samplewise_center:
            x = x - x.mean()
        if self.samplewise_std_normalization:
            x = x / (x.std() + 1e-6)
        if (self.featurewise_center or self.featurewise_std_normalization) and self.mean is None:
            raise ValueError("featurewise_center and featurewise_std_normalization need the pictures' mean: call fit(x) first")
        if self.featurewise_center:
            x = x - self.mean
        return x / (self.std + 1e-6) if self.featurewise_std_normalization else x

    def get_random_transform(self, img_shape, seed=None, random=None):
        """What random_transform does to a picture, by name."""
        random = random or np.random.default_rng(seed)
        zoom = random.uniform(*self.zoom_range, 2) if self.zoom_range != [1, 1] else (1, 1)
        return {
            "theta": random.uniform(-self.rotation_range, self.rotation_range), "tx": _shift(random, self.height_shift_range, img_shape[0]),
            "ty": _shift(random, self.width_shift_range, img_shape[1]), "shear": random.uniform(-self.shear_range, self.shear_range),
            "zx": zoom[0], "zy": zoom[1],
            "flip_horizontal": bool(self.horizontal_flip and random.random() < 0.5), "flip_vertical": bool(self.vertical_flip and random.random() < 0.5),
            "channel_shift_intensity": random.uniform(-self.channel_shift_range, self.channel_shift_range) if self.channel_shift_range else None,
            "brightness": random.uniform(*self.brightness_range) if self.brightness_range is not None else None,
        }  # fmt: skip

    def apply_transform(self, x, transform_parameters):
        """A picture changed as get_random_transform says."""
        how = {"theta": 0, "tx": 0, "ty": 0, "shear": 0, "zx": 1, "zy": 1, **transform_parameters}
        places = {name: how[name] for name in ("theta", "tx", "ty", "shear", "zx", "zy")}
        if tuple(places.values()) != (0, 0, 0, 0, 1, 1):
            x = apply_affine_transform(x, **places, fill_mode=self.fill_mode, cval=self.cval, order=self.interpolation_order)
        if how.get("channel_shift_intensity") is not None:
            x = np.clip(x + how["channel_shift_intensity"], x.min(), x.max())
        x = x[:, ::-1] if how.get("flip_horizontal") else x
        x = x[::-1] if how.get("flip_vertical") else x
        return np.clip(x * how["brightness"], 0, 255) if how.get("brightness") is not None else x

    def random_transform(self, x, seed=None, random=None):
        """A picture changed by chance."""
        return self.apply_transform(x, self.get_random_transform(x.shape, seed, random))


def _shift(random, most, size):
    """Pixels: a share of the size below 1, else pixels; or one of a list."""
    if not np.isscalar(most):
        return random.choice(most) * random.choice([-1, 1])
    return random.uniform(-most, most) * (size if most < 1 else 1)
