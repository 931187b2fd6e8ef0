"""keras.distillation, keras.export and helpers around data that few programs use."""
import numpy as np
import pytest

import tandemflow as tf

keras = tf.keras


def student(name, units=4):
    return keras.Sequential([keras.Input((6,)), keras.layers.Dense(units, activation="tanh", name=f"{name}_hidden"), keras.layers.Dense(3, name=f"{name}_out")])


def test_a_student_comes_nearer_to_its_teacher_which_stays_as_it_is():
    keras.utils.set_random_seed(0)
    teacher, small = student("teacher"), student("small")
    losses = [keras.distillation.LogitsDistillation(2.0), keras.distillation.FeatureDistillation("mse", "teacher_hidden", "small_hidden")]
    distiller = keras.distillation.Distiller(teacher, small, losses, [1.0, 0.5], student_loss_weight=0.2)
    distiller.compile(keras.optimizers.Adam(0.05), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    x = np.random.RandomState(0).randn(64, 6).astype("float32")
    before = teacher.get_weights()
    history = distiller.fit(x, teacher.predict(x, verbose=0).argmax(-1), epochs=20, verbose=0).history
    assert sorted(history) == ["accuracy", "distillation_loss", "loss", "student_loss", "total_loss"]
    assert history["distillation_loss"][-1] < 0.3 * history["distillation_loss"][0]
    for a, b in zip(before, teacher.get_weights()):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(distiller.predict(x, verbose=0), small.predict(x, verbose=0))


def test_models_and_layers_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="In teacher model: .*nowhere"):
        keras.distillation.Distiller(student("a"), student("b"), keras.distillation.FeatureDistillation("mse", "nowhere", "b_hidden"))
    other = keras.Sequential([keras.Input((5,)), keras.layers.Dense(3)])
    with pytest.raises(ValueError, match="input shapes are incompatible"):
        keras.distillation.Distiller(student("c"), other, keras.distillation.LogitsDistillation())


def test_an_archive_holds_several_functions_and_lists_of_variables(tmp_path):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    archive = keras.export.ExportArchive()
    archive.track(model)
    archive.add_endpoint("serve", model.call, input_signature=[keras.InputSpec(shape=(None, 3), dtype="float32")])
    archive.add_endpoint("twice", lambda x: model(x) * 2, input_signature=[tf.TensorSpec((None, 3), tf.float32)])
    archive.add_variable_collection("learnt", model.trainable_variables)
    archive.write_out(tmp_path / "archive", verbose=False)
    loaded = tf.saved_model.load(str(tmp_path / "archive"))
    x = np.random.RandomState(0).randn(5, 3).astype("float32")
    np.testing.assert_allclose(loaded.serve(x), model(x), rtol=1e-6)
    np.testing.assert_allclose(loaded.twice(x), model(x) * 2, rtol=1e-6)
    assert len(loaded.learnt) == 2
    with pytest.raises(ValueError, match="'serve' is already taken"):
        archive.add_endpoint("serve", model.call)
    with pytest.raises(ValueError, match="must provide an `input_signature`"):
        archive.add_endpoint("other", lambda x: x)


def test_bounding_boxes_change_their_format_and_back():
    boxes = np.array([[1, 2, 5, 8], [0, 0, 4, 4]], "float32")
    convert = keras.utils.bounding_boxes.convert_format
    for name in ("yxyx", "xywh", "center_xywh", "center_yxhw", "rel_xyxy", "rel_yxyx", "rel_xywh", "rel_center_xywh"):
        there = convert(boxes, "xyxy", name, height=10, width=20)
        np.testing.assert_allclose(convert(there, name, "xyxy", height=10, width=20), boxes, rtol=1e-5)
    np.testing.assert_allclose(convert(boxes, "xyxy", "center_yxhw")[0], [5, 3, 6, 4])
    np.testing.assert_allclose(keras.utils.bounding_boxes.compute_iou(boxes, boxes, "xyxy"), [[1, 6 / 34], [6 / 34, 1]], rtol=1e-5)
    anchors = boxes + 0.5
    deltas = keras.utils.bounding_boxes.encode_box_to_deltas(anchors, boxes, "xyxy", "xyxy", variance=[0.1, 0.1, 0.2, 0.2])
    back = keras.utils.bounding_boxes.decode_deltas_to_boxes(anchors, deltas, "xyxy", "xyxy", variance=[0.1, 0.1, 0.2, 0.2])
    np.testing.assert_allclose(back, boxes, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="must receive `height` and `width`"):
        convert(boxes, "rel_xyxy", "xyxy")


def test_an_embedding_read_backwards_gives_logits_for_each_number():
    layer = keras.layers.ReversibleEmbedding(5, 3, logit_soft_cap=2.0)
    there = layer(np.array([[1, 4]]))
    np.testing.assert_allclose(layer(there, reverse=True), np.tanh(there.numpy() @ layer.embeddings.numpy().T / 2) * 2, rtol=1e-5)
    assert [v.name for v in keras.layers.ReversibleEmbedding(5, 3, tie_weights=False).weights] == []
    inputs = keras.Input((7,), dtype="int32")
    model = keras.Model(inputs, layer(layer(inputs), reverse=True))
    assert model.output_shape == (None, 7, 5)


def test_limits_for_trying_programs_out_shorten_every_fit():
    keras.config.set_max_epochs(2)
    keras.config.set_max_steps_per_epoch(3)
    try:
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        assert model.fit(np.ones((50, 2)), np.ones((50, 1)), batch_size=5, epochs=9, verbose=0).epoch == [0, 1]
        assert int(model.optimizer.iterations) == 6
    finally:
        keras.config.set_max_epochs(None)
        keras.config.set_max_steps_per_epoch(None)


def test_settings_are_attributes_and_may_be_frozen():
    config = keras.utils.Config(rate=0.1)
    config.units = 3
    assert config["units"] == 3 and list(config) == ["rate", "units"] and len(config) == 2
    config.freeze()
    with pytest.raises(ValueError, match="frozen"):
        config.rate = 1
    with pytest.raises(AttributeError, match="Did you mean 'rate'"):
        config.rat


def test_axes_are_rearranged_by_their_names():
    x = np.arange(2 * 6 * 4, dtype="float32").reshape(2, 6, 4)
    out = keras.ops.rearrange(x, "b (h w) c -> (b c) w h", h=3)
    np.testing.assert_array_equal(out, x.reshape(2, 3, 2, 4).transpose(0, 3, 2, 1).reshape(8, 2, 3))
    with pytest.raises(ValueError, match="does not say how an axis of 6 becomes \\(h w\\)"):
        keras.ops.rearrange(x, "b (h w) c -> b h w c", h=4)


def test_a_name_that_is_not_there_names_the_nearest_one():
    for module, name, nearest in (("losses", "BinaryCrossEntropy", "BinaryCrossentropy"), ("metrics", "BinaryAcuracy", "BinaryAccuracy"),
                                  ("callbacks", "EarlyStoping", "EarlyStopping"), ("ops", "meann", "mean")):  # fmt: skip
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'; did you mean tf.keras.{module}.{nearest}"):
            getattr(getattr(keras, module), name)


def test_pictures_are_seen_from_elsewhere_and_compared():
    images = np.random.RandomState(0).rand(2, 12, 13, 3).astype("float32")
    corners = np.array([[0, 0], [12, 0], [0, 11], [12, 11]], "float32")
    moved = keras.ops.image.perspective_transform(images, corners, corners + [2, 1])
    np.testing.assert_allclose(moved[:, 1:, 2:], images[:, :-1, :-2], atol=1e-5)
    np.testing.assert_allclose(keras.ops.image.ssim(images, images), [1, 1], rtol=1e-5)
    np.testing.assert_allclose(keras.ops.image.sobel_edges(images), tf.image.sobel_edges(images))
    patches = keras.ops.image.extract_patches_3d(np.arange(64, dtype="float32").reshape(1, 4, 4, 4, 1), 2)
    np.testing.assert_array_equal(patches[0, 0, 0, 1], [2, 3, 6, 7, 18, 19, 22, 23])
