"""Datasets of files whose folders are their classes."""
import os

from .messages import print_message

_IMAGES = (".jpeg", ".jpg", ".png")


def image_dataset_from_directory(directory, labels="inferred", label_mode="int", class_names=None, color_mode="rgb",
                                 batch_size=32, image_size=(256, 256), shuffle=True, seed=None, validation_split=None,
                                 subset=None, interpolation="bilinear", follow_links=False, crop_to_aspect_ratio=False,
                                 pad_to_aspect_ratio=False, data_format=None, format="tf", verbose=True):  # fmt: skip
    """A dataset of (images, labels); its `class_names` and `file_paths` say what was found."""
    from ... import _tandem
    from ..._dataset import Dataset
    from ..._specs import TensorSpec
    from ...image import resize
    from ...io import decode_image, read_file
    from .images import _middle

    if format != "tf":
        raise ValueError(f"image_dataset_from_directory: format must be 'tf', which gives a tf.data.Dataset; got {format!r}")
    if pad_to_aspect_ratio:
        raise ValueError("pad_to_aspect_ratio is not supported here; crop_to_aspect_ratio is")
    channels = {"grayscale": 1, "rgb": 3, "rgba": 4}.get(color_mode)
    if channels is None:
        raise ValueError(f'`color_mode` must be one of {{"rgb", "rgba", "grayscale"}}. Received: color_mode={color_mode}')
    height, width = image_size

    def read_all(paths):
        """What C++ can do on several threads; None for the rarer wishes."""
        if data_format == "channels_first" or interpolation not in ("bilinear", "nearest"):
            return None
        nearest = interpolation == "nearest"
        return Dataset(_tandem.read_images(paths._handle, channels, height, width, nearest, bool(crop_to_aspect_ratio)))

    def read(path):
        image = decode_image(read_file(path), channels).numpy()
        if crop_to_aspect_ratio:
            left, top, right, bottom = _middle(image.shape[1], image.shape[0], width, height)
            image = image[top:bottom, left:right]
        image = resize(image, (height, width), interpolation).numpy().astype("float32")
        return image.transpose(2, 0, 1) if data_format == "channels_first" else image

    shape = (channels, height, width) if data_format == "channels_first" else (height, width, channels)
    files = _Files(directory, labels, label_mode, class_names, _IMAGES, follow_links, shuffle, seed, verbose, "images")
    files.read_all = read_all
    return files.datasets(read, TensorSpec(shape, "float32"), batch_size, validation_split, subset)


def text_dataset_from_directory(directory, labels="inferred", label_mode="int", class_names=None, batch_size=32,
                                max_length=None, shuffle=True, seed=None, validation_split=None, subset=None,
                                follow_links=False, format="tf", verbose=True):  # fmt: skip
    """A dataset of (texts, labels) of .txt files."""
    from ..._specs import TensorSpec

    def read(path):
        with open(path, "rb") as file:
            return file.read(-1 if max_length is None else max_length)

    files = _Files(directory, labels, label_mode, class_names, (".txt",), follow_links, shuffle, seed, verbose, "text files")
    return files.datasets(read, TensorSpec((), "string"), batch_size, validation_split, subset)


def audio_dataset_from_directory(directory, labels="inferred", label_mode="int", class_names=None, batch_size=32, sampling_rate=None,
                                 output_sequence_length=None, ragged=False, shuffle=True, seed=None, validation_split=None, subset=None,
                                 follow_links=False, verbose=True):  # fmt: skip
    """A dataset of (sounds, labels) of .wav files, [batch, samples, channels]; shorter sounds of a batch are filled up, or ragged."""
    from ..._specs import TensorSpec
    from ...audio import decode_wav
    from ...io import read_file

    if ragged and output_sequence_length is not None:
        raise ValueError("Cannot set both `ragged` and `output_sequence_length`: sounds of one length are not ragged")
    if sampling_rate is not None:
        raise NotImplementedError(f"sampling_rate={sampling_rate}: sounds keep the rate of their files here; resample them in the dataset's map")

    def read(path):
        return decode_wav(read_file(path), desired_samples=-1 if output_sequence_length is None else int(output_sequence_length)).audio.numpy()

    files = _Files(directory, labels, label_mode, class_names, (".wav",), follow_links, shuffle, seed, verbose, "audio files")
    files.batch = None if output_sequence_length is not None else "ragged_batch" if ragged else "padded_batch"
    return files.datasets(read, TensorSpec((output_sequence_length, None), "float32"), batch_size, validation_split, subset)


class _Files:
    batch = None  # the method that joins files of different lengths
    read_all = None  # a dataset of (path, …) to one of (content, …), where that is better than one by one

    def __init__(self, directory, labels, label_mode, class_names, endings, follow_links, shuffle, seed, verbose, what):
        import numpy as np

        self.directory, self.label_mode, self.verbose = os.fspath(directory), label_mode, verbose
        if label_mode not in ("int", "categorical", "binary", None):
            raise ValueError(
                f'`label_mode` argument must be one of "int", "categorical", "binary", or None. Received: {label_mode}'
            )
        if not os.path.isdir(self.directory):
            raise ValueError(f"Could not find directory {self.directory}")
        self.may_split = not shuffle or seed is not None
        self.shuffle, self.seed = shuffle, np.random.randint(1000000) if shuffle and seed is None else seed
        inferred = labels == "inferred"
        self.class_names = self._class_names(class_names) if inferred else None
        self.paths, self.labels = self._find(endings, follow_links)
        if not self.paths:
            raise ValueError(f"No {what} found in directory {self.directory}. Allowed formats: {endings}")
        if not inferred:
            self.labels = self._given(labels)
        self._tell(f"Found {len(self.paths)} files" + (f" belonging to {len(self.class_names)} classes." if inferred else "."))
        if label_mode == "binary" and self.class_names is not None and len(self.class_names) != 2:
            raise ValueError(
                f"When passing `label_mode='binary'`, there must be exactly 2 class_names. Received: {self.class_names}"
            )
        if shuffle:
            for values in (self.paths, self.labels):
                if values is not None:
                    np.random.RandomState(self.seed).shuffle(values)

    def _class_names(self, given):
        found = sorted(name for name in os.listdir(self.directory) if os.path.isdir(os.path.join(self.directory, name)))
        found = [name for name in found if not name.startswith(".")]
        if given is not None and set(given) != set(found):
            raise ValueError(
                "The `class_names` passed did not match the names of the subdirectories of the target directory. Expected: "
                f"{found}, but received: {list(given)}"
            )
        return list(given) if given is not None else found

    def _find(self, endings, follow_links):
        paths, labels = [], []
        for number, name in enumerate(self.class_names if self.class_names is not None else [""]):
            for root, _, files in sorted(os.walk(os.path.join(self.directory, name), followlinks=follow_links)):
                for file in sorted(files):
                    if file.lower().endswith(endings):
                        paths.append(os.path.join(root, file))
                        labels.append(number)
        return paths, labels

    def _given(self, labels):
        if labels is None:
            return None
        if len(labels) != len(self.paths):
            raise ValueError(
                f"Expected the lengths of `labels` to match the number of files in the target directory. len(labels) is "
                f"{len(labels)} while we found {len(self.paths)} files in {self.directory}."
            )
        return list(labels)

    def _tell(self, text):
        if self.verbose:
            print_message(text)

    def datasets(self, read, spec, batch_size, validation_split, subset):
        everything = self.paths, self.labels
        if validation_split is None:
            if subset is not None:
                raise ValueError("If `subset` is set, `validation_split` must be set, and inversely.")
            return self._dataset(everything, read, spec, batch_size)
        if not 0 < validation_split < 1:
            raise ValueError(f"`validation_split` must be between 0 and 1, received: {validation_split}")
        if subset not in ("training", "validation", "both"):
            raise ValueError(f'`subset` must be either "training", "validation" or "both", received: {subset}')
        if not self.may_split:
            raise ValueError(
                "If using `validation_split` and shuffling the data, you must provide a `seed` argument, to make sure that there is no overlap between the "
                "training and validation subset."
            )
        held = int(validation_split * len(self.paths))
        parts = {
            "training": [None if values is None else values[: len(values) - held] for values in everything],
            "validation": [None if values is None else values[len(values) - held :] for values in everything],
        }
        wanted = ["training", "validation"] if subset == "both" else [subset]
        made = []
        for name in wanted:
            self._tell(f"Using {len(parts[name][0])} files for {name}.")
            made.append(self._dataset(parts[name], read, spec, batch_size))
        return made if subset == "both" else made[0]

    def _dataset(self, part, read, spec, batch_size):
        from ..._dataset import Dataset
        from ..._specs import TensorSpec

        paths, labels = part
        has_labels = self.label_mode is not None and labels is not None
        label_spec = {"int": TensorSpec((), "int32"), "binary": TensorSpec((1,), "float32")}.get(self.label_mode)
        if self.label_mode == "categorical":
            label_spec = TensorSpec((len(self.class_names),), "float32")
        epochs = [0]

        def elements():
            for i in self._order(len(paths), epochs):
                yield (read(paths[i]), self._label(labels[i])) if has_labels else read(paths[i])

        dataset = self._mapped(Dataset, paths, labels if has_labels else None)
        if dataset is None:
            dataset = Dataset.from_generator(elements, output_signature=(spec, label_spec) if has_labels else spec)
            dataset = dataset._next(dataset._handle.assert_cardinality(len(paths)))
        dataset = (getattr(dataset, self.batch or "batch")(batch_size) if batch_size is not None else dataset).prefetch()
        dataset.class_names, dataset.file_paths = self.class_names, list(paths)
        return dataset

    def _mapped(self, dataset_class, paths, labels):
        import numpy as np

        if self.read_all is None or not paths:
            return None
        names = list(paths)
        rows = names if labels is None else (names, np.stack([self._label(label) for label in labels]))
        dataset = dataset_class.from_tensor_slices(rows)
        return self.read_all(dataset.shuffle(len(names), seed=self.seed) if self.shuffle else dataset)

    def _order(self, count, epochs):
        """Another one each epoch; the first is that of the files, which are shuffled already."""
        import numpy as np

        order = np.arange(count)
        if self.shuffle and epochs[0]:
            np.random.RandomState(self.seed + epochs[0]).shuffle(order)
        epochs[0] += 1
        return order

    def _label(self, label):
        import numpy as np

        if self.label_mode == "int":
            return np.int32(label)
        if self.label_mode == "binary":
            return np.array([label], "float32")
        return np.eye(len(self.class_names), dtype="float32")[label]
