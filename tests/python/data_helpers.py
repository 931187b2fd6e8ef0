"""What the expressions of data_cases.py and file_cases.py may use, and the form in which answers are compared."""
import collections
import json
import os

import numpy as np

Pair = collections.namedtuple("Pair", ["first", "second"])
MOST_ELEMENTS = 40


def names(tf, folder):
    """The namespace of the expressions, for one library."""
    D = tf.data.Dataset

    def vals(dataset):
        return [element.tolist() if hasattr(element, "tolist") else element for element in dataset.as_numpy_iterator()]

    def options(**settings):
        made = tf.data.Options()
        for name, value in settings.items():
            setattr(made, name, value)
        return made

    def threads(count):
        made = tf.data.Options()
        made.threading.private_threadpool_size = count
        return made

    def saved(dataset, path, **arguments):
        dataset.save(path, **arguments)
        return D.load(path, compression=arguments.get("compression"))

    def loaded(dataset, path, **arguments):
        dataset.save(path)
        return D.load(path, **arguments)

    def halves_equal(dataset):
        elements = vals(dataset)
        return elements[: len(elements) // 2] == elements[len(elements) // 2 :]

    def frame():
        import pandas

        return pandas.DataFrame({"x": [1.5, 2.5], "n": [1, 2], "s": ["a", "b"]})

    def growing(count):
        return D.range(1, count + 1).map(lambda n: tf.fill([n], n))

    def throwing():
        raise ValueError("no disk")

    def throwing_late():
        yield 1
        raise ValueError("no disk")

    def branching(x):
        if x > 1:
            return x * 10
        else:
            return x

    def looping(x):
        total = tf.constant(0, tf.int64)
        for i in tf.range(x):
            total += i
        return total

    def checked(x):
        tf.debugging.assert_less(x, tf.constant(2, tf.int64), message="too large")
        return x

    def even(x):
        return x % 2 == 0

    @tf.function
    def summed_in_function(dataset):
        total = tf.constant(0, tf.int64)
        for x in dataset:
            total += x
        return total

    @tf.function
    def taken_in_function(dataset):
        iterator = iter(dataset)
        return next(iterator) + 10 * next(iterator)

    def wrote(name, content):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def records(name, *contents, options=None):
        path = os.path.join(folder, name)
        with tf.io.TFRecordWriter(path, options) as writer:
            for content in contents:
                writer.write(content)
        return path

    def damaged(path, at, byte):
        data = bytearray(open(path, "rb").read())
        data[at] = byte
        return wrote("damaged_" + os.path.basename(path), bytes(data))

    def cut(path, size):
        return wrote("cut_" + os.path.basename(path), open(path, "rb").read()[:size])

    def example(**features):
        kinds = {bytes: ("bytes_list", tf.train.BytesList), float: ("float_list", tf.train.FloatList), int: ("int64_list", tf.train.Int64List)}
        made = {}
        for name, values in features.items():
            values = values if isinstance(values, list) else [values]
            if not values:
                made[name] = tf.train.Feature()
                continue
            field, cls = kinds[type(values[0])]
            made[name] = tf.train.Feature(**{field: cls(value=values)})
        return tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString()

    def pictures(name, kinds=("cats", "dogs"), each=3, size=(6, 4)):
        for number, kind in enumerate(kinds):
            for i in range(each):
                wrote(f"{name}/{kind}/{i}.png", tf.io.encode_png(np.full([*size, 3], 40 * number + 10 * i, np.uint8)).numpy())
        return os.path.join(folder, name)

    def texts(name, kinds=("bad", "good"), each=3):
        for kind in kinds:
            for i in range(each):
                wrote(f"{name}/{kind}/{i}.txt", f"{kind} text {i}\nline")
        return os.path.join(folder, name)

    return {
        "tf": tf, "np": np, "folder": str(folder), "D": D, "X": tf.data.experimental, "S": tf.TensorSpec, "K": tf.keras, "Pair": Pair, "vals": vals,
        "options": options, "threads": threads, "saved": saved, "loaded": loaded, "halves_equal": halves_equal, "frame": frame, "growing": growing,
        "throwing": throwing, "throwing_late": throwing_late, "branching": branching, "looping": looping, "checked": checked, "even": even,
        "summed_in_function": summed_in_function, "taken_in_function": taken_in_function, "wrote": wrote, "records": records, "damaged": damaged,
        "cut": cut, "example": example, "pictures": pictures, "texts": texts, "twice": lambda d: [vals(d), vals(d)],
        "same": lambda d: vals(d) == vals(d), "share": lambda d: sum(vals(d)) / len(vals(d)),
    }  # fmt: skip


def _number(value):
    """As JSON has it; floats with the digits of a float32."""
    if isinstance(value, (float, np.floating)):
        return repr(float(value)) if not np.isfinite(value) else float(f"{value:.6g}")
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return str(value) if isinstance(value, complex) else value


def _values(array):
    array = array.tolist() if isinstance(array, np.ndarray) else array
    return [_values(part) for part in array] if isinstance(array, list) else _number(array)


def plain(tf, value, folder):
    """A value of either library as lists, numbers and strings."""
    if isinstance(value, tf.data.Dataset):
        return {"spec": plain(tf, value.element_spec, folder), "cardinality": int(value.cardinality()), **elements_of(tf, value, folder)}
    if isinstance(value, tf.RaggedTensor):
        return ["ragged", value.dtype.name, value.row_splits.dtype.name, _values(value.to_list())]
    if isinstance(value, tf.SparseTensor):
        return ["sparse", value.dtype.name, *(_values(part.numpy().tolist()) for part in (value.indices, value.values, value.dense_shape))]
    if type(value).__name__ in ("RaggedTensorValue", "SparseTensorValue"):
        return [type(value).__name__]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return [type(value).__name__, *(plain(tf, part, folder) for part in value)]
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *(plain(tf, part, folder) for part in value)]
    if isinstance(value, dict):
        return ["dict", *([key, plain(tf, part, folder)] for key, part in value.items())]
    if isinstance(value, np.ndarray):
        return ["array", value.dtype.name, list(value.shape), _values(value.tolist())]
    if isinstance(value, np.generic):
        return ["number", value.dtype.name, _number(value.item())]
    if tf.is_tensor(value):
        array = value.numpy()
        return [value.dtype.name, value.shape.as_list(), _values(array.tolist() if hasattr(array, "tolist") else array)]
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        value = _number(value)
        return value.replace(str(folder), "FOLDER") if isinstance(value, str) else value
    return repr(value).replace(str(folder), "FOLDER")


def elements_of(tf, dataset, folder):
    found = []
    try:
        for element in dataset:
            found.append(plain(tf, element, folder))
            if len(found) == MOST_ELEMENTS:
                break
    except Exception as error:  # noqa: BLE001  any is an answer
        return {"elements": found, "raised": failure(error, folder)}
    return {"elements": found}


def failure(error, folder):
    kinds = [cls.__name__.strip("_") for cls in type(error).__mro__ if cls not in (object, BaseException, Exception)]
    return {"classes": kinds, "message": str(error).split("\n")[0].replace(str(folder), "FOLDER")[:100]}


def answer(expression, namespace):
    tf, folder = namespace["tf"], namespace["folder"]
    try:
        found = plain(tf, eval(expression, dict(namespace)), folder)  # noqa: S307  the expressions are ours
    except Exception as error:  # noqa: BLE001
        found = {"failed": failure(error, folder)}
    return json.loads(json.dumps(found).replace(folder, "FOLDER"))


def lines(text):
    return [line for line in text.splitlines() if line.strip()]
