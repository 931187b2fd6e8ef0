"""Files of real Keras for the tests, and a look at ours with real Keras' eyes.

In an environment with tensorflow-cpu:
  python tools/keras_files.py              writes tests/data/keras/<model>.keras, .h5 and .npz (inputs and predictions)
  python tools/keras_files.py --keras2     writes tests/data/keras/keras2.h5, .keras and .npz with tf_keras
  python tools/keras_files.py FOLDER       loads <model>.keras, .h5 and .weights.h5 of FOLDER and compares with <model>.npz there
"""
import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))

import keras  # noqa: E402
import keras_file_models  # noqa: E402
import numpy as np  # noqa: E402


def flat(value):
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    return list(value) if isinstance(value, (list, tuple)) else [value]


def write(folder):
    for name in keras_file_models.NAMES:
        model, x, y = keras_file_models.compiled(name, keras)
        model.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0)
        model.save(folder / f"{name}.keras")
        if name == "branched":
            model.save(folder / f"{name}.h5")
        outputs = {f"y{i}": p for i, p in enumerate(flat(model.predict(x, verbose=0)))}
        state = {f"s{i}": v.numpy() for i, v in enumerate(model.optimizer.variables)}
        np.savez(folder / f"{name}.npz", **{f"x{i}": v for i, v in enumerate(flat(x))}, **outputs, **state)


def compare(folder):
    for name in keras_file_models.NAMES:
        arrays = np.load(folder / f"{name}.npz")
        _, x, y = keras_file_models.compiled(name, keras)
        for ending in (".keras", ".h5"):
            model = keras.saving.load_model(folder / (name + ending))
            worst = [np.abs(p - arrays[f"y{i}"]).max() for i, p in enumerate(flat(model.predict(x, verbose=0)))]
            state = [np.abs(v.numpy() - arrays[f"s{i}"]).max() for i, v in enumerate(model.optimizer.variables)]
            print(f"{name}{ending}: predictions differ by {max(worst):.1e}, {len(state)} variables of the optimizer by "
                  f"{max(state):.1e}, loss {model.loss}")  # fmt: skip
            if ending == ".keras":
                model.fit(x, y, verbose=0)
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    model.load_weights(folder / f"{name}.weights.h5")
                worst = [np.abs(p - arrays[f"y{i}"]).max() for i, p in enumerate(flat(model.predict(x, verbose=0)))]
                print(f"{name}.weights.h5: predictions differ by {max(worst):.1e}")


def write_keras2(folder):
    import tf_keras

    layers = tf_keras.layers
    random = np.random.RandomState(0)
    words = tf_keras.Input((5,), dtype="int32")
    x = layers.Embedding(7, 4, input_length=5)(words)
    x = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(x)
    x = layers.BatchNormalization()(x)
    x = layers.GRU(2)(x)
    inner = tf_keras.Sequential([layers.Dense(4, input_shape=(2,), kernel_regularizer="l2"), layers.LayerNormalization()])
    joined = layers.Concatenate()([layers.Add()([inner(x), layers.Dense(4)(x)]), x])
    model = tf_keras.Model(words, layers.Dense(1)(joined))
    model.compile(tf_keras.optimizers.Adam(0.01), tf_keras.losses.MeanSquaredError(), metrics=["mae", tf_keras.metrics.MeanSquaredError()])
    data = random.randint(0, 7, (8, 5)).astype("int32")
    model.fit(data, random.rand(8, 1), batch_size=4, verbose=0)
    model.save(folder / "keras2.h5")
    model.save(folder / "keras2.keras")
    moments = [model.optimizer._momentums[0].numpy(), model.optimizer._velocities[-1].numpy()]
    np.savez(folder / "keras2.npz", x=data, y=model.predict(data, verbose=0), m=moments[0], v=moments[1])


if __name__ == "__main__":
    if sys.argv[1:] == ["--keras2"]:
        write_keras2(ROOT / "tests" / "data" / "keras")
        sys.exit()
    compare(Path(sys.argv[1])) if len(sys.argv) > 1 else write(ROOT / "tests" / "data" / "keras")
