"""keras.applications.resnet50: the name from before there were deeper ones."""
from .resnet import ResNet50, decode_predictions, preprocess_input  # noqa: F401
