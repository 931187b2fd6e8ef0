"""keras.preprocessing.image"""
from ..utils.images import array_to_img, img_to_array, load_img, save_img, smart_resize
from .image_generator import DirectoryIterator, ImageDataGenerator, Iterator, NumpyArrayIterator, apply_affine_transform

__all__ = [
    "DirectoryIterator", "ImageDataGenerator", "Iterator", "NumpyArrayIterator", "apply_affine_transform", "array_to_img", "img_to_array", "load_img",
    "save_img", "smart_resize",
]  # fmt: skip
