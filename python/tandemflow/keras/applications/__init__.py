"""keras.applications: known architectures, with Keras' names of layers, so that its files of weights fit."""
from ... import _names

_MODULES = """convnext densenet efficientnet efficientnet_v2 imagenet_utils inception_resnet_v2 inception_v3 mobilenet mobilenet_v2
mobilenet_v3 nasnet resnet resnet50 resnet_v2 vgg16 vgg19 xception""".split()
__getattr__, __dir__ = _names.lazy(
    __name__,
    {
        name: f"keras.applications.{module}"
        for module, names in {
            "convnext": ["ConvNeXtTiny", "ConvNeXtSmall", "ConvNeXtBase", "ConvNeXtLarge", "ConvNeXtXLarge"],
            "densenet": ["DenseNet121", "DenseNet169", "DenseNet201"],
            "efficientnet": [f"EfficientNetB{i}" for i in range(8)],
            "efficientnet_v2": [f"EfficientNetV2{size}" for size in ("B0", "B1", "B2", "B3", "S", "M", "L")],
            "inception_resnet_v2": ["InceptionResNetV2"],
            "inception_v3": ["InceptionV3"],
            "mobilenet": ["MobileNet"],
            "mobilenet_v2": ["MobileNetV2"],
            "mobilenet_v3": ["MobileNetV3Large", "MobileNetV3Small"],
            "nasnet": ["NASNetLarge", "NASNetMobile"],
            "resnet": ["ResNet50", "ResNet101", "ResNet152"],
            "resnet_v2": ["ResNet50V2", "ResNet101V2", "ResNet152V2"],
            "vgg16": ["VGG16"],
            "vgg19": ["VGG19"],
            "xception": ["Xception"],
        }.items()
        for name in names
    },
    _MODULES,
)
