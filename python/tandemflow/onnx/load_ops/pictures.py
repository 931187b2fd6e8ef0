"""Pictures in files."""
import re
import struct

import numpy as np

import tandemflow as tf

from ..support import known, op

# Words of a PNM file's head end with white space, after which a remark may stand.
_WORD = rb"\s+(?:#[^\n]*\n\s*)*(\d+)"
_PNM = re.compile(rb"P([56])" + _WORD * 3 + rb"\s")


def _pnm(data, head):
    """The bytes of a PNM file (P5, grey, or P6, colours) as they stand."""
    depth, (width, height, most) = 3 if head[1] == b"6" else 1, map(int, head.groups()[1:])
    if most != 255:
        raise ValueError(f"a PNM file of bytes has values of 0 to 255, got 0 to {most}")
    return _cut(data[head.end() :], height, width, depth)


def _cut(data, height, width, depth):
    if len(data) < height * width * depth:
        raise ValueError(f"a picture of {height} x {width} x {depth} needs {height * width * depth} bytes, the file has {len(data)}")
    return np.frombuffer(data, np.uint8, height * width * depth).reshape(height, width, depth)


def _tiff_fields(data):
    """The numbers of a TIFF file's first directory by their tag."""
    order = "<" if data[:2] == b"II" else ">"
    try:
        (at,) = struct.unpack_from(order + "I", data, 4)
        fields = {}
        for i in range(struct.unpack_from(order + "H", data, at)[0]):
            tag, kind, count = struct.unpack_from(order + "HHI", data, at + 2 + 12 * i)
            code = {3: "H", 4: "I"}.get(kind)
            if code:
                place = at + 10 + 12 * i
                if count * struct.calcsize(code) > 4:
                    (place,) = struct.unpack_from(order + "I", data, place)
                fields[tag] = struct.unpack_from(f"{order}{min(count, len(data))}{code}", data, place)
        return fields
    except struct.error as error:
        raise ValueError(f"the TIFF file breaks off: {error}") from None


def _tiff(data):
    """A TIFF file of whole pixels, a byte a colour, that is not compressed."""
    fields = _tiff_fields(data)
    width, height, depth = (fields.get(tag, (fallback,))[0] for tag, fallback in ((256, 0), (257, 0), (277, 1)))
    bits, compression, planes = fields.get(258, (1,)), fields.get(259, (1,))[0], fields.get(284, (1,))[0]
    if set(bits) != {8} or compression != 1 or planes != 1 or depth not in (1, 3, 4):
        raise ValueError(f"read are TIFF files without compression of 1, 3 or 4 bytes a pixel, got bits {bits}, compression {compression}, planes {planes}")
    strips = [data[at : at + size] for at, size in zip(fields.get(273, ()), fields.get(279, ()))]
    return _cut(b"".join(strips), height, width, depth)[..., :3]


def _decoded(data):
    """[height, width, 1 or 3]"""
    if head := _PNM.match(data):
        return _pnm(data, head)
    if data[:4] in (b"II*\0", b"MM\0*"):
        return _tiff(data)
    if data[:3] == b"\xff\xd8\xff":  # JPEG, as exactly as the standard's reference reads it
        return tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE").numpy()
    return tf.io.decode_image(data, channels=3, expand_animations=False).numpy()


def _grey(picture):
    """What ITU-R 601 says of red, green and blue, in 16 bits, as the standard's reference has it."""
    if picture.shape[-1] == 1:
        return picture
    return ((picture.astype(np.int32) @ np.array([19595, 38470, 7471], np.int32) + 0x8000) >> 16).astype(np.uint8)[..., None]


@op("ImageDecoder")
def image_decoder(node, encoded):
    """PNG, JPEG, BMP, GIF, PNM and TIFF without compression; [height, width, channels]."""
    picture = _decoded(np.asarray(known(encoded, node, "the picture"), np.uint8).tobytes())
    order = node.get("pixel_format", "RGB")
    if order == "Grayscale":
        return _grey(picture)
    picture = np.repeat(picture, 3, -1) if picture.shape[-1] == 1 else picture
    return np.ascontiguousarray(picture[..., ::-1] if order == "BGR" else picture)
