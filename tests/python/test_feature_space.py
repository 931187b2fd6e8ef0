"""keras.utils.FeatureSpace; the numbers are Keras'."""
import numpy as np
import pytest

import tandemflow as tf
from tandemflow import keras
from tandemflow.keras.utils import FeatureSpace

DRAW = np.random.RandomState(0)
DATA = {
    "age": DRAW.randint(20, 60, 40).astype("int64"),
    "fare": DRAW.rand(40).astype("float32"),
    "town": DRAW.choice(["a", "b", "c"], 40),
    "cls": DRAW.randint(1, 4, 40).astype("int64"),
    "x": DRAW.rand(40).astype("float32"),
}


@pytest.fixture(scope="module")
def space():
    space = FeatureSpace(
        features={
            "age": "integer_hashed", "fare": "float_normalized", "town": FeatureSpace.string_categorical(num_oov_indices=0),
            "cls": "integer_categorical", "x": FeatureSpace.float_discretized(num_bins=3),
        },
        crosses=[("town", "cls"), FeatureSpace.cross(("age", "town"), 8)],
        crossing_dim=16,
        hashing_dim=5,
    )  # fmt: skip
    space.adapt(tf.data.Dataset.from_tensor_slices(DATA))
    return space


def test_columns_become_rows_of_numbers(space):
    row = space({name: column[0] for name, column in DATA.items()})
    assert row.shape == (40,) and float(tf.reduce_sum(row)) == pytest.approx(6.066999912261963, abs=1e-3)
    rows = space({name: column[:4] for name, column in DATA.items()}).numpy()
    np.testing.assert_allclose(rows.sum(axis=1), [6.066999912261963, 6.88100004196167, 4.479000091552734, 5.831999778747559], atol=1e-3)
    assert rows.argmax(axis=1).tolist() == [1, 2, 2, 0]


def test_datasets_and_models_use_a_space(space):
    batches = tf.data.Dataset.from_tensor_slices(DATA).batch(8).map(space)
    assert [tuple(batch.shape) for batch in batches.take(1)] == [(8, 40)]
    encoded = space.get_encoded_features()
    model = keras.Model(space.get_inputs(), keras.layers.Dense(1)(encoded))
    assert model({name: column[:4] for name, column in DATA.items()}).shape == (4, 1)


def test_a_space_is_written_and_read_with_what_it_learned(space, tmp_path):
    rows = {name: column[:4] for name, column in DATA.items()}
    space.save(tmp_path / "space.keras")
    again = keras.models.load_model(tmp_path / "space.keras")
    assert isinstance(again, FeatureSpace) and [cross.name for cross in again.crosses] == ["town_X_cls", "age_X_town"]
    np.testing.assert_array_equal(again(rows), space(rows))
    part = again.get_config()["features"]["fare"]
    assert (part["module"], part["class_name"]) == ("keras.src.layers.preprocessing.feature_space", "Feature")  # as Keras' files have it


def test_columns_stay_apart_in_a_dict():
    space = FeatureSpace(
        {"fare": "float", "town": FeatureSpace.string_hashed(num_bins=4, output_mode="int"), "x": FeatureSpace.float_rescaled(2.0)}, output_mode="dict"
    )
    rows = space({name: DATA[name][:3] for name in ("fare", "town", "x")})
    assert {name: tuple(value.shape) for name, value in rows.items()} == {"fare": (3, 1), "town": (3, 1), "x": (3, 1)}
    np.testing.assert_allclose(rows["x"][:, 0], 2 * DATA["x"][:3], rtol=1e-6)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="adapt"):
        FeatureSpace({"a": "float_normalized"})({"a": [1.0]})
    with pytest.raises(ValueError, match="Invalid feature type: floats"):
        FeatureSpace({"a": "floats"})
    with pytest.raises(ValueError, match="unknown: b"):
        FeatureSpace({"a": "float"}, crosses=[("a", "b")])
    with pytest.raises(ValueError, match="has not been encoded"):
        FeatureSpace({"a": FeatureSpace.string_hashed(4, output_mode="int"), "b": "float"})({"a": ["x"], "b": [1.0]})
    with pytest.raises(ValueError, match="called with a dict"):
        FeatureSpace({"a": "float"})([1.0])
