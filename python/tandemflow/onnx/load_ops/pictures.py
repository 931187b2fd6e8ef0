"""Pictures in files."""
import numpy as np

import tandemflow as tf

from ..support import known, op


@op("ImageDecoder")
def image_decoder(node, encoded):
    """PNG, JPEG, BMP and GIF; [height, width, channels]."""
    data = np.asarray(known(encoded, node, "the picture"), np.uint8).tobytes()
    order = node.get("pixel_format", "RGB")
    picture = tf.io.decode_image(data, channels=1 if order == "Grayscale" else 3, expand_animations=False)
    return picture[..., ::-1] if order == "BGR" else picture
