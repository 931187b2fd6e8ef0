"""Writes what tests/python/test_applications.py expects, in an environment with Keras: keras_applications.py FILE"""
import hashlib
import json
import sys

import keras

SIZES = {"VGG16": 32, "VGG19": 32, "ResNet50": 64, "ResNet50V2": 64, "MobileNet": 64, "MobileNetV2": 64,
         "InceptionV3": 96, "Xception": 96, "EfficientNetB0": 64, "EfficientNetB3": 64, "DenseNet121": 64,
         "MobileNetV3Small": 64, "MobileNetV3Large": 64, "EfficientNetV2B0": 64, "EfficientNetV2B3": 64, "EfficientNetV2S": 64,
         "ConvNeXtTiny": 64, "InceptionResNetV2": 96, "NASNetMobile": 64, "NASNetLarge": 96}  # fmt: skip


def fact(name, size):
    keras.backend.clear_session()
    model = getattr(keras.applications, name)(weights=None, include_top=False, input_shape=(size, size, 3), pooling="avg")
    layers = [[layer.name, type(layer).__name__, [list(w.shape) for w in layer.weights], list(layer.output.shape)] for layer in model.layers]
    digest = hashlib.sha256(json.dumps(layers).encode()).hexdigest()
    return {"size": size, "params": model.count_params(), "layers": len(layers), "digest": digest}


if __name__ == "__main__":
    with open(sys.argv[1], "w") as file:
        json.dump({name: fact(name, size) for name, size in SIZES.items()}, file, indent=1)
