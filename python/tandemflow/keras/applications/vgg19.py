"""keras.applications.vgg19."""
from . import imagenet_utils
from ._vgg import vgg
from .imagenet_utils import decode_predictions  # noqa: F401


def VGG19(include_top=True, weights="imagenet", input_tensor=None, input_shape=None, pooling=None, classes=1000,
          classifier_activation="softmax", name="vgg19"):  # fmt: skip
    """The network of 19 layers of Simonyan and Zisserman, 2014."""
    return vgg("vgg19", (2, 2, 4, 4, 4), include_top, weights, input_tensor, input_shape, pooling, classes, classifier_activation, name)


def preprocess_input(x, data_format=None):
    """Pictures of 0 to 255 as this network expects them: blue, green, red, less ImageNet's mean."""
    return imagenet_utils.preprocess_input(x, data_format, "caffe")
