"""Models and weights in files; tools/keras_files.py wrote Keras' files, and opens ours with real Keras."""
import json
import os
import random
import zipfile
from pathlib import Path

import keras_file_models
import numpy as np
import pytest
import tandemflow as tf
from tandemflow import _files, keras

FOLDER = Path(__file__).resolve().parent.parent / "data" / "keras"
layers = keras.layers


def flat(value):
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    return list(value) if isinstance(value, (list, tuple)) else [value]


def reference(name):
    """(predictions, the optimizer's variables) of Keras' model."""
    arrays = np.load(FOLDER / f"{name}.npz")
    return tuple([arrays[f"{kind}{i}"] for i in range(sum(key[0] == kind for key in arrays))] for kind in "ys")


def tree(group, path=""):
    """{path: dtype and shape} of the arrays, and the names of the layers that have some."""
    has_arrays = any(not isinstance(item, dict) for item in group["items"].values())
    out = {f"{path}@{name}": value for name, value in group["attrs"].items() if has_arrays}
    for name, item in group["items"].items():
        inner = f"{path}/{name}"
        out.update(tree(item, inner) if isinstance(item, dict) else {inner: (item.dtype.name, tuple(item.shape))})
    return out


def contents(path):
    entries = _files.read_zip(str(path))
    return json.loads(bytes(entries["config.json"])), _files.read_hdf5(entries["model.weights.h5"])


def without(config, *keys):
    """Without what says nothing: numbers of objects in memory, and None."""
    if isinstance(config, dict):
        return {key: without(value, *keys) for key, value in config.items() if key not in keys and value is not None}
    return [without(item, *keys) for item in config] if isinstance(config, list) else config


def holds(ours, theirs):
    """Whether all that Keras says is said; it forgets arguments of some losses."""
    if isinstance(theirs, dict):
        return all(holds((ours or {}).get(key), value) for key, value in theirs.items())
    return ours == theirs


# --- With Keras ---


@pytest.mark.parametrize("file", [f"{name}.keras" for name in keras_file_models.NAMES] + ["branched.h5"])
def test_files_of_keras_give_its_predictions_and_its_optimizer(file):
    predictions, state = reference(file.split(".")[0])
    _, x, y = keras_file_models.compiled(file.split(".")[0], keras)
    model = keras.saving.load_model(FOLDER / file)
    for ours, theirs in zip(flat(model.predict(x, verbose=0)), predictions):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    assert len(model.optimizer.variables) == len(state)
    for ours, theirs in zip(model.optimizer.variables, state):
        np.testing.assert_array_equal(ours.numpy(), theirs)
    before = int(model.optimizer.iterations)
    model.fit(x, y, batch_size=4, verbose=0)
    assert int(model.optimizer.iterations) == before + 2


@pytest.mark.parametrize("name", keras_file_models.NAMES)
def test_a_model_of_keras_is_written_as_keras_writes_it(name, tmp_path):
    keras.saving.load_model(FOLDER / f"{name}.keras").save(tmp_path / "again.keras")
    (config, variables), (wanted, wanted_variables) = contents(tmp_path / "again.keras"), contents(FOLDER / f"{name}.keras")
    assert tree(variables) == tree(wanted_variables)
    skipped = ("shared_object_id", "build_config", "optional", "quantization_config", "compile_config")
    assert without(config, *skipped) == without(wanted, *skipped)
    ours, theirs = config["compile_config"], wanted["compile_config"]
    for key in ("optimizer", "loss", "metrics", "loss_weights"):
        assert holds(without(ours[key]), without(theirs[key], "shared_object_id"))


@pytest.mark.parametrize("ending", [".keras", ".h5"])
@pytest.mark.parametrize("name", keras_file_models.NAMES)
def test_a_trained_model_comes_back_and_goes_on_training_alike(name, ending, tmp_path):
    model, x, y = keras_file_models.compiled(name, keras)
    model.fit(x, y, batch_size=4, verbose=0)
    model.save(tmp_path / f"m{ending}")
    again = keras.saving.load_model(tmp_path / f"m{ending}")
    for ours, theirs in zip(again.get_weights(), model.get_weights()):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(again.optimizer.variables, model.optimizer.variables):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    if name != "convolutional":  # its dropout draws on
        losses = [m.fit(x, y, batch_size=4, shuffle=False, verbose=0).history["loss"] for m in (model, again)]
        np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)


def test_variables_of_subclassed_models_lie_where_keras_puts_them(tmp_path):
    class Block(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.a = layers.Dense(2)
            self.zz = [layers.Dense(2), [layers.Dense(2)]]
            self.by_name = {"k": layers.Dense(2)}

        def build(self, input_shape):
            self.w = self.add_weight(shape=(1,), name="w")

        def call(self, x):
            return self.by_name["k"](self.zz[1][0](self.zz[0](self.a(x)))) + self.w

    class Mine(keras.Model):
        def __init__(self):
            super().__init__()
            self.block = Block()
            self._hidden = layers.Dense(1)

        def call(self, x):
            return self._hidden(self.block(x))

    model = Mine()
    x = np.ones((3, 2), "float32")
    y = model(x).numpy()
    model.compile("sgd", "mse")
    model.save_weights(tmp_path / "m.weights.h5")
    paths = {path for path in tree(_files.read_hdf5(str(tmp_path / "m.weights.h5"))) if "@" not in path}
    wanted = ["block/a", "block/by_name/dense", "block/zz/dense", "block/zz/container/dense", "layers/dense"]
    assert paths == {f"/{path}/vars/{i}" for path in wanted for i in (0, 1)} | {
        "/block/vars/0", "/optimizer/vars/0", "/optimizer/vars/1"
    }  # fmt: skip
    other = Mine()
    other(x)
    other.load_weights(tmp_path / "m.weights.h5")
    np.testing.assert_array_equal(other(x).numpy(), y)


@pytest.mark.parametrize("ending", [".h5", ".keras"])
def test_files_of_keras_2_give_its_predictions_and_go_on_training(ending):
    arrays = np.load(FOLDER / "keras2.npz")
    model = keras.saving.load_model(FOLDER / f"keras2{ending}")
    np.testing.assert_allclose(model.predict(arrays["x"], verbose=0), arrays["y"], rtol=1e-5, atol=1e-6)
    assert int(model.optimizer.iterations) == 2
    assert float(model.optimizer.learning_rate) == pytest.approx(0.01)
    np.testing.assert_array_equal(model.optimizer.variables[2].numpy(), arrays["m"])
    np.testing.assert_array_equal(model.optimizer.variables[-1].numpy(), arrays["v"])
    model.fit(arrays["x"], arrays["y"], verbose=0)
    assert int(model.optimizer.iterations) == 3


def test_models_of_keras_2_are_read(tmp_path):
    def layer(kind, name, inbound, **config):
        config = {"name": name, "trainable": True, "dtype": "float32", **config}
        return {"class_name": kind, "name": name, "config": config, "inbound_nodes": inbound}

    dense = {"units": 2, "activation": "relu", "use_bias": True,
             "kernel_initializer": {"class_name": "GlorotUniform", "config": {"seed": None}}}  # fmt: skip
    inner = {"class_name": "Functional", "name": "inner", "inbound_nodes": [[["a", 0, 0, {}]]], "config": {
        "name": "inner", "layers": [layer("InputLayer", "i", [], batch_input_shape=[None, 3]),
                                    layer("Dense", "d", [[["i", 0, 0, {}]]], **dense)],
        "input_layers": [["i", 0, 0]], "output_layers": [["d", 0, 0]]}}  # fmt: skip
    config = {"class_name": "Functional", "config": {
        "name": "old", "layers": [layer("InputLayer", "a", [], batch_input_shape=[None, 3]), inner,
                                  layer("Dense", "e", [[["a", 0, 0, {}]]], **dense),
                                  layer("Add", "sum", [[["inner", 1, 0, {}], ["e", 0, 0, {}]]])],
        "input_layers": [["a", 0, 0]], "output_layers": [["sum", 0, 0]]}}  # fmt: skip
    training = {"loss": "mean_squared_error", "metrics": [[{"class_name": "MeanMetricWrapper", "config": {
        "name": "mae", "dtype": "float32", "fn": "mean_absolute_error"}}]],
        "optimizer_config": {"class_name": "SGD", "config": {"name": "SGD", "learning_rate": 0.25, "momentum": 0.0}}}  # fmt: skip
    weights = {"d": [np.full((3, 2), 1.0, "float32"), np.zeros(2, "float32")],
               "e": [np.full((3, 2), 2.0, "float32"), np.ones(2, "float32")]}  # fmt: skip

    def group(name, arrays):
        kernel, bias = arrays
        inner = {"attrs": {}, "items": {"kernel:0": kernel, "bias:0": bias}}
        return {"attrs": {"weight_names": [f"{name}/kernel:0", f"{name}/bias:0"]}, "items": {name: inner}}

    none = {"attrs": {"weight_names": []}, "items": {}}
    saved = {"a": none, "inner": group("d", weights["d"]), "e": group("e", weights["e"]), "sum": none}
    root = {
        "attrs": {"model_config": json.dumps(config), "training_config": json.dumps(training), "keras_version": "2.15.0"},
        "items": {"model_weights": {"attrs": {"layer_names": list(saved)}, "items": saved}},
    }
    (tmp_path / "old.h5").write_bytes(_files.write_hdf5(root))
    model = keras.saving.load_model(tmp_path / "old.h5")
    np.testing.assert_allclose(model.predict(np.ones((1, 3)), verbose=0), [[3 + 7, 3 + 7]])
    assert float(model.optimizer.learning_rate) == 0.25
    model.fit(np.ones((2, 3)), np.ones((2, 2)), verbose=0)
    assert "mean_absolute_error" in model.history.history or "mae" in model.history.history


# --- Weights ---


@pytest.mark.parametrize("ending", [".weights.h5", ".safetensors", ".keras", ".h5"])
def test_weights_go_from_one_model_to_another(ending, tmp_path):
    model, x, y = keras_file_models.compiled("attentive", keras)
    model.fit(x, y, verbose=0)
    path = tmp_path / f"m{ending}"
    model.save_weights(path) if ending in (".weights.h5", ".safetensors") else model.save(path)
    other = keras_file_models.attentive(keras)
    other.load_weights(path)
    np.testing.assert_array_equal(other.predict(x, verbose=0), model.predict(x, verbose=0))


def test_weights_that_do_not_fit_leave_the_model_as_it_was(tmp_path):
    def make(units):
        return keras.Sequential([keras.Input((3,)), layers.Dense(4), layers.Dense(units), layers.Dense(units)])

    make(5).save_weights(tmp_path / "five.weights.h5")
    make(5).save_weights(tmp_path / "five.safetensors")
    make(5).save(tmp_path / "five.h5")
    model = make(2)
    before = model.get_weights()
    for name in ("five.weights.h5", "five.safetensors", "five.h5"):
        with pytest.raises(ValueError, match=r"\(4, 2\)"):
            model.load_weights(tmp_path / name)
        for ours, theirs in zip(model.get_weights(), before):
            np.testing.assert_array_equal(ours, theirs)
    with pytest.warns(UserWarning, match="A total of 2 objects could not be loaded"):
        model.load_weights(tmp_path / "five.weights.h5", skip_mismatch=True)
    assert (model.get_weights()[0] != before[0]).any() and (model.get_weights()[2] == before[2]).all()
    with pytest.raises(ValueError, match="A total of 3 objects|expected"):
        keras.Sequential([keras.Input((3,)), layers.Dense(4, use_bias=False)]).load_weights(tmp_path / "five.weights.h5")
    with pytest.raises(ValueError, match="has not yet been built"):
        keras.Sequential([layers.Dense(4)]).load_weights(tmp_path / "five.weights.h5")


def test_legacy_weights_are_loaded_by_name(tmp_path):
    keras.Sequential([keras.Input((3,)), layers.Dense(4, name="kept"), layers.Dense(2, name="other")]).save(tmp_path / "m.h5")
    model = keras.Sequential([keras.Input((3,)), layers.Dense(4, name="kept"), layers.Dense(7, name="new")])
    before = model.get_weights()
    model.load_weights(tmp_path / "m.h5", by_name=True)
    saved = keras.saving.load_model(tmp_path / "m.h5", compile=False).get_weights()
    np.testing.assert_array_equal(model.get_weights()[0], saved[0])
    np.testing.assert_array_equal(model.get_weights()[2], before[2])


# --- Custom parts ---


@keras.saving.register_keras_serializable(package="tests", name="Scale")
class Scale(layers.Layer):
    def __init__(self, by=2.0, **kwargs):
        super().__init__(**kwargs)
        self.by = by

    def call(self, x):
        return x * self.by

    def get_config(self):
        return {**super().get_config(), "by": self.by}


class Unregistered(Scale):
    pass


def test_custom_layers_come_back_by_their_registered_names(tmp_path):
    x = np.ones((1, 2), "float32")
    keras.Sequential([keras.Input((2,)), Scale(3.0)]).save(tmp_path / "m.keras")
    np.testing.assert_array_equal(keras.saving.load_model(tmp_path / "m.keras")(x), [[3, 3]])
    config, _ = contents(tmp_path / "m.keras")
    assert config["config"]["layers"][1]["registered_name"] == "tests>Scale"

    keras.Sequential([keras.Input((2,)), Unregistered(4.0)]).save(tmp_path / "u.keras")
    with pytest.raises(TypeError, match="Unregistered.*register_keras_serializable.*or pass custom_objects={'Unregistered'"):
        keras.saving.load_model(tmp_path / "u.keras")
    again = keras.saving.load_model(tmp_path / "u.keras", custom_objects={"Unregistered": Unregistered})
    np.testing.assert_array_equal(again(x), [[4, 4]])
    with keras.saving.custom_object_scope({"Unregistered": Unregistered}):
        np.testing.assert_array_equal(keras.saving.load_model(tmp_path / "u.keras")(x), [[4, 4]])


def test_code_in_files_runs_only_when_asked_for(tmp_path):
    keras.Sequential([keras.Input((2,)), layers.Lambda(lambda x: x + 1.0)]).save(tmp_path / "m.keras")
    with pytest.raises(ValueError, match="lambda.*safe_mode=False"):
        keras.saving.load_model(tmp_path / "m.keras")
    model = keras.saving.load_model(tmp_path / "m.keras", safe_mode=False)
    np.testing.assert_array_equal(model(np.zeros((1, 2), "float32")), [[1, 1]])


@keras.saving.register_keras_serializable(package="tests")
class Vocabulary(layers.Layer):
    words = ()

    def call(self, x):
        return x

    def save_assets(self, folder):
        Path(folder, "words.txt").write_text("\n".join(self.words))

    def load_assets(self, folder):
        self.words = Path(folder, "words.txt").read_text().split("\n")


def test_what_layers_keep_beside_their_variables_is_in_the_archive(tmp_path):
    model = keras.Sequential([keras.Input((2,)), Vocabulary()])
    model.layers[0].words = ["a", "b"]
    model.save(tmp_path / "m.keras")
    assert "assets/layers/vocabulary/words.txt" in zipfile.ZipFile(tmp_path / "m.keras").namelist()
    assert keras.saving.load_model(tmp_path / "m.keras").layers[0].words == ["a", "b"]


def test_vocabularies_lie_where_keras_puts_them(tmp_path):
    vectorize = layers.TextVectorization(output_sequence_length=3)
    vectorize.adapt(["the cat sat", "a dog"])
    keras.Sequential([keras.Input((1,), dtype="string"), vectorize]).save(tmp_path / "m.keras")
    entries = _files.read_zip(str(tmp_path / "m.keras"))
    folder = "assets/layers/text_vectorization"
    for name in (f"{folder}/vocabulary.txt", f"{folder}/_lookup_layer/vocabulary.txt"):
        assert bytes(entries[name]).decode() == "\n[UNK]\nthe\nsat\ndog\ncat\na"
    again = keras.saving.load_model(tmp_path / "m.keras").layers[0]
    assert again.get_vocabulary() == vectorize.get_vocabulary()


# --- Files ---


def test_the_same_model_gives_the_same_bytes(tmp_path):
    model, x, y = keras_file_models.compiled("branched", keras)
    model.fit(x, y, verbose=0)
    for name in ("m.keras", "m.h5", "m.weights.h5", "m.safetensors"):
        save = model.save if name in ("m.keras", "m.h5") else model.save_weights
        save(tmp_path / name)
        first = (tmp_path / name).read_bytes()
        save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == first
    dates = {entry.date_time for entry in zipfile.ZipFile(tmp_path / "m.keras").infolist()}
    assert dates == {(1980, 1, 1, 0, 0, 0)}


def test_a_save_that_fails_leaves_the_file_as_it_was(tmp_path):
    class NoConfig(layers.Layer):
        def call(self, x):
            return x

        def get_config(self):
            raise RuntimeError("no configuration")

    path = tmp_path / "m.keras"
    keras.Sequential([keras.Input((2,)), layers.Dense(1)]).save(path)
    before = path.read_bytes()
    with pytest.raises(RuntimeError, match="no configuration"):
        keras.Sequential([keras.Input((2,)), NoConfig()]).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["m.keras"]


def test_an_existing_file_is_kept_when_the_user_says_no(tmp_path, monkeypatch):
    model = keras.Sequential([keras.Input((2,)), layers.Dense(1)])
    path = tmp_path / "m.keras"
    path.write_text("mine")
    monkeypatch.setattr("builtins.input", lambda question: "n")
    model.save(path, overwrite=False)
    assert path.read_text() == "mine"
    monkeypatch.setattr("builtins.input", lambda question: "y")
    model.save(path, overwrite=False)
    assert zipfile.is_zipfile(path)


def test_names_of_files_that_say_nothing_are_refused(tmp_path):
    model = keras.Sequential([keras.Input((2,)), layers.Dense(1)])
    with pytest.raises(ValueError, match="Please add either a `.keras` extension.*filepath=.*m.model"):
        model.save(tmp_path / "m.model")
    with pytest.raises(ValueError, match="must end in `.weights.h5`"):
        model.save_weights(tmp_path / "m.h5")
    with pytest.raises(ValueError, match="File not found: filepath=.*none.keras"):
        keras.saving.load_model(tmp_path / "none.keras")
    with pytest.raises(ValueError, match="is a folder"):
        keras.saving.load_model(tmp_path)
    model.save_weights(tmp_path / "w.weights.h5")
    with pytest.raises(ValueError, match="No model config found.*it holds weights only: use model.load_weights"):
        keras.saving.load_model(tmp_path / "w.weights.h5")


def _archive(path, entries):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)


def test_files_of_later_versions_and_archives_that_are_no_models_are_refused(tmp_path):
    path = tmp_path / "m.keras"
    entries = {name: bytes(data) for name, data in _files.read_zip(str(FOLDER / "attentive.keras")).items()}
    _archive(path, {**entries, "metadata.json": '{"keras_version": "4.1.0"}'})
    with pytest.raises(ValueError, match="written by Keras 4.1.0; files of Keras 2 and 3 can be read here"):
        keras.saving.load_model(path)
    _archive(path, {**entries, "config.json": "[1, 2"})
    with pytest.raises(ValueError, match="config.json is damaged"):
        keras.saving.load_model(path)
    _archive(path, {"readme.txt": "hello"})
    with pytest.raises(ValueError, match="is no model file: it has no config.json"):
        keras.saving.load_model(path)
    _archive(path, {name: data for name, data in entries.items() if name != "model.weights.h5"})
    with pytest.raises(ValueError, match="Expected a model.weights.h5 file, got config.json, metadata.json"):
        keras.saving.load_model(path)
    _archive(path, {**entries, "model.weights.h5": bytes(600 << 20)})
    with pytest.raises(Exception, match="unpack|larger|times"):
        keras.saving.load_model(path)


def test_a_configuration_that_makes_no_sense_is_named_with_its_file(tmp_path):
    entries = {name: bytes(data) for name, data in _files.read_zip(str(FOLDER / "attentive.keras")).items()}
    config = json.loads(entries["config.json"])
    config["config"]["layers"][1]["inbound_nodes"] = [{"args": [], "kwargs": 7}]
    _archive(tmp_path / "m.keras", {**entries, "config.json": json.dumps(config)})
    with pytest.raises(ValueError, match="m.keras: no model can be made of its configuration"):
        keras.saving.load_model(tmp_path / "m.keras")


@pytest.mark.parametrize("name", ["attentive.keras", "branched.h5"])
def test_damaged_files_raise_and_nothing_else_happens(name, tmp_path):
    data = (FOLDER / name).read_bytes()
    path = tmp_path / name
    draw = random.Random(4)
    for _ in range(60):
        damaged = bytearray(data[: draw.choice([len(data), draw.randrange(len(data))])])
        for _ in range(draw.randrange(4)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256) if damaged else 0
        path.write_bytes(damaged)
        try:
            keras.saving.load_model(path)  # the damage may be in a number
        except (ValueError, TypeError, OSError, tf.errors.OpError) as error:
            assert str(error)


def test_a_damaged_file_of_weights_leaves_the_model_as_it_was(tmp_path):
    model, x, _ = keras_file_models.compiled("branched", keras)
    model.save_weights(tmp_path / "m.weights.h5")
    data = (tmp_path / "m.weights.h5").read_bytes()
    before = model.get_weights()
    other = keras_file_models.compiled("branched", keras)[0]
    other.set_weights([w + 1 for w in before])
    kept = other.get_weights()
    for size in range(0, len(data) - 1, len(data) // 40):
        (tmp_path / "cut.weights.h5").write_bytes(data[:size])
        try:
            other.load_weights(tmp_path / "cut.weights.h5")
        except Exception as error:
            assert str(error)
            for ours, theirs in zip(other.get_weights(), kept):
                np.testing.assert_array_equal(ours, theirs)
        else:
            raise AssertionError(f"a file cut to {size} of {len(data)} bytes was read")


@pytest.mark.parametrize("ending", [".weights.h5", ".h5"])
def test_a_flipped_bit_of_a_weight_is_found_by_the_checksum(ending, tmp_path):
    model, _, _ = keras_file_models.compiled("branched", keras)
    path = tmp_path / f"m{ending}"
    model.save(path) if ending == ".h5" else model.save_weights(path)
    kernel = next(w for w in model.get_weights() if w.size > 4 and w.any())
    data = bytearray(path.read_bytes())
    data[data.index(kernel.tobytes()) + 2] ^= 1
    path.write_bytes(data)
    before = model.get_weights()
    with pytest.raises(Exception, match=f"m{ending}: its contents do not fit its checksum"):
        model.load_weights(path)
    for ours, theirs in zip(model.get_weights(), before):
        np.testing.assert_array_equal(ours, theirs)


def test_three_dots_in_an_index_are_spelt_out_in_the_old_format(tmp_path):
    inputs = keras.Input((4, 3))
    model = keras.Model(inputs, [inputs[..., None], inputs[..., 1], inputs[:, 1, ...], inputs[...], inputs[None, ..., :2], inputs[:, 2]])
    model.save(tmp_path / "m.h5")
    assert b"__ellipsis__" not in (tmp_path / "m.h5").read_bytes()
    x = np.random.default_rng(0).random((2, 4, 3), np.float32)
    for got, wanted in zip(keras.models.load_model(tmp_path / "m.h5", compile=False)(x), model(x)):
        np.testing.assert_array_equal(got, wanted)
