"""tf.strings: tensors of byte strings. In traced functions they are computed by Python when the function runs."""
import math
import re as _re

from . import _dtypes, _names, _tandem
from ._branch_values import is_tensor as _is_tensor
from ._ragged import RaggedTensor
from ._shape import TensorShape
from .errors import InvalidArgumentError


def _text(value):
    return _tandem.to_tensor(value, None if _is_tensor(value) or _tandem.is_numpy(value) else _dtypes.string)


def _array(tensor):
    """The elements as a NumPy array of objects."""
    import numpy

    values = tensor.numpy()
    out = numpy.empty(tensor.shape.as_list(), object)
    out[...] = values
    return out


def _tensor(array, dtype):
    if not array.size:  # lists of nothing do not tell their sizes
        return _tandem.to_tensor(array.astype(object if dtype == _dtypes.string else dtype.as_numpy_dtype), dtype)
    return _tandem.to_tensor(array.tolist(), dtype)


def _computed(function, tensors, shape, dtype):
    """function(*arrays) as a tensor, now or when the traced function runs."""
    def run(values):
        return [_tensor(function(*map(_array, values)), dtype)]

    if _tandem.executing_eagerly():
        return run(tensors)[0]
    return _tandem.python_call(run, tensors, [(shape, dtype)], None)[0]


def _each(function, value, dtype=_dtypes.string):
    """function of each string; of the values of a ragged tensor."""
    import numpy

    if isinstance(value, RaggedTensor):
        return value.with_flat_values(_each(function, value.flat_values, dtype))
    tensor = _text(value)
    kind = object if dtype == _dtypes.string else dtype.as_numpy_dtype
    return _computed(lambda array: numpy.vectorize(function, otypes=[kind])(array) if array.size else array.astype(kind), [tensor], tensor.shape, dtype)


def _known_unit(unit):
    if unit not in ("BYTE", "UTF8_CHAR"):
        raise InvalidArgumentError(f"unit must be 'BYTE' or 'UTF8_CHAR', got {unit!r}")
    return unit == "UTF8_CHAR"


def _as_bytes(value):
    value = value.numpy() if hasattr(value, "numpy") else value
    return value.encode() if isinstance(value, str) else bytes(value)


# --- String by string. ---


def lower(input, encoding="", name=None):
    """Small letters; with encoding='utf-8' also those beyond ASCII."""
    return _each((lambda s: s.decode().lower().encode()) if encoding else bytes.lower, input)


def upper(input, encoding="", name=None):
    """Capital letters; with encoding='utf-8' also those beyond ASCII."""
    return _each((lambda s: s.decode().upper().encode()) if encoding else bytes.upper, input)


def strip(input, name=None):
    """Without blanks at both ends."""
    return _each(bytes.strip, input)


def length(input, unit="BYTE", name=None):
    """How many bytes, or characters, each string has."""
    return _each((lambda s: len(s.decode("utf-8", "replace"))) if _known_unit(unit) else len, input, _dtypes.int32)


def substr(input, pos, len, unit="BYTE", name=None):  # noqa: A002  TensorFlow's name
    """`len` bytes, or characters, from `pos` on; a negative one counts from the end."""
    import numpy

    if isinstance(input, RaggedTensor):
        return input.with_flat_values(substr(input.flat_values, pos, len, unit))
    characters = _known_unit(unit)
    tensor, begin, count = _text(input), _tandem.to_tensor(pos), _tandem.to_tensor(len)

    def cut(s, start, size):
        whole = s.decode() if characters else s
        total = whole.__len__()
        if not -total <= start <= total:
            from .errors import InvalidArgumentError

            raise InvalidArgumentError(f"pos {start} out of range for string {s!r}")
        start = start + total if start < 0 else start
        part = whole[start:] if size < 0 else whole[start : start + size]
        return part.encode() if characters else part

    shape = numpy.broadcast_shapes(*[tuple(t.shape.as_list()) for t in (tensor, begin, count)])
    return _computed(lambda *arrays: numpy.vectorize(cut, otypes=[object])(*arrays), [tensor, begin, count], TensorShape(shape), _dtypes.string)


def _replacement(rewrite):
    """RE2's \\1 as Python's \\g<1>."""
    return _re.sub(r"\\(\d)", r"\\g<\1>", _characters(_as_bytes(rewrite)))


def _characters(data):
    """Bytes as characters, as RE2 sees them; what is no UTF-8 comes back as it was."""
    return data.decode("utf-8", "surrogateescape")


def _bytes_of(text):
    return text.encode("utf-8", "surrogateescape")


def _compiled(pattern):
    try:
        return _re.compile(_characters(_as_bytes(pattern)), _re.ASCII)  # classes such as \\w are those of ASCII in RE2
    except _re.error as error:
        raise InvalidArgumentError(f"E0104 Invalid pattern: {pattern}, error: {error}") from None


def regex_replace(input, pattern, rewrite, replace_global=True, name=None):
    """What matches the pattern replaced; \\1 stands for the first group."""
    compiled, new = _compiled(pattern), _replacement(rewrite)
    if any(int(number) > compiled.groups for number in _re.findall(r"\\g<(\d)>", new)):
        return _tandem.to_tensor(_text(input))  # RE2 leaves strings as they are when the rewrite names a group that is not there
    return _each(lambda s: _bytes_of(_replaced(compiled, new, _characters(s), 0 if replace_global else 1)), input)


def _replaced(compiled, new, text, count):
    """As RE2 does it: nothing, found at the end of what was just replaced, is not replaced again."""
    end = -1

    def rewritten(match):
        nonlocal end
        again = match.start() == match.end() == end
        end = match.end()
        return "" if again else match.expand(new)

    return compiled.sub(rewritten, text, count=count)


def regex_full_match(input, pattern, name=None):
    """Whether the whole string matches."""
    compiled = _compiled(pattern)
    return _each(lambda s: compiled.fullmatch(_characters(s)) is not None, input, _dtypes.bool)


def to_number(input, out_type=_dtypes.float32, name=None):
    """The numbers that the strings spell."""
    dtype = _dtypes.as_dtype(out_type)

    def read(s):
        try:
            number = (float if dtype.is_floating else int)(s)
            if dtype.is_integer and not dtype.min <= number <= dtype.max:
                raise ValueError
            return number
        except ValueError:
            raise InvalidArgumentError(f"StringToNumberOp could not correctly convert string: {s.decode('utf-8', 'replace')}") from None

    return _each(read, input, dtype)


def to_hash_bucket_fast(input, num_buckets, name=None):
    """A number below num_buckets for each string, by its fingerprint; TensorFlow's numbers."""
    from .keras._engine.farmhash import fingerprint64

    buckets = _bucket_count(num_buckets)
    return _each(lambda s: fingerprint64(s) % buckets, input, _dtypes.int64)


def _bucket_count(number):
    if int(number) < 1:
        raise InvalidArgumentError(f"num_buckets must be at least 1, got {number}")
    return int(number)


def to_hash_bucket_strong(input, num_buckets, key, name=None):
    """The bucket of each string by a keyed hash; TensorFlow's numbers."""
    from .keras._engine.siphash import siphash

    buckets = _bucket_count(num_buckets)
    return _each(lambda s: siphash(s, key) % buckets, input, _dtypes.int64)


def to_hash_bucket(input, num_buckets, name=None):
    """A number below num_buckets for each string, by MurmurHash; TensorFlow's numbers."""
    buckets = _bucket_count(num_buckets)
    return _each(lambda s: _murmur64(s) % buckets, input, _dtypes.int64)


def _murmur64(data, seed=0xDECAFCAFFE):
    """MurmurHash64A."""
    mask, factor = 2**64 - 1, 0xC6A4A7935BD1E995
    value = seed ^ (len(data) * factor & mask)
    whole = len(data) & ~7
    for at in range(0, whole, 8):
        part = int.from_bytes(data[at : at + 8], "little") * factor & mask
        part = (part ^ part >> 47) * factor & mask
        value = (value ^ part) * factor & mask
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * factor & mask
    value = (value ^ value >> 47) * factor & mask
    return value ^ value >> 47


def as_string(input, precision=-1, scientific=False, shortest=False, width=-1, fill="", name=None):
    """The values written out: floats with six digits after the point, unless told otherwise."""
    import numpy

    if isinstance(input, RaggedTensor):
        return input.with_flat_values(as_string(input.flat_values, precision, scientific, shortest, width, fill))
    tensor = _tandem.to_tensor(input)
    if len(fill) > 1:
        raise InvalidArgumentError(f"as_string: Fill string must be one or fewer characters, got {fill!r}")
    if scientific and shortest:
        raise InvalidArgumentError("as_string: Cannot select both scientific and shortest notation")
    if precision >= 0 and not tensor.dtype.is_floating:
        raise InvalidArgumentError(f"as_string: precision not supported for datatype {tensor.dtype.name}")
    pad = f"{fill}{width}" if width > 0 else fill
    digits = f".{precision}" if precision >= 0 else ""
    form = f"%{pad}{digits}{'e' if scientific else 'g' if shortest else 'f'}"

    def show(value):
        if isinstance(value, bytes):
            return value
        if tensor.dtype.is_bool:
            return b"true" if value else b"false"
        if tensor.dtype.is_floating and not math.isfinite(value):  # which zeros do not fill
            return (form.replace("%0", "%") % value).encode()
        return (form % value if tensor.dtype.is_floating else f"%{pad}d" % value).encode()

    return _computed(lambda array: numpy.vectorize(show, otypes=[object])(array) if array.size else array, [tensor], tensor.shape, _dtypes.string)


def format(template, inputs, placeholder="{}", summarize=3, name=None):
    """The template with the values in place, as tf.print shows them; strings in quotes."""
    from ._print import _text as shown

    values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if template.count(placeholder) != len(values):
        raise ValueError(f"{template.count(placeholder)} placeholder(s) in template does not match {len(values)} tensor(s) provided as input")
    tensors = [_tandem.to_tensor(value) for value in values]

    def fill(tensors):
        pieces = template.split(placeholder)
        text = "".join(piece + mid for piece, mid in zip(pieces, [*(shown(t, summarize) for t in tensors), ""]))
        return [_tandem.to_tensor(text.encode())]

    if _tandem.executing_eagerly():
        return fill(tensors)[0]
    return _tandem.python_call(fill, tensors, [(TensorShape([]), _dtypes.string)], None)[0]


# --- Several strings to one. ---


def join(inputs, separator="", name=None):
    """Strings of several tensors joined, element by element."""
    import numpy

    ragged = [value for value in inputs if isinstance(value, RaggedTensor)]
    if ragged:
        return ragged[0].with_flat_values(join([value.flat_values if isinstance(value, RaggedTensor) else value for value in inputs], separator))
    if not inputs:
        return _tandem.to_tensor("")
    tensors = [_text(value) for value in inputs]
    shapes = {tuple(t.shape.as_list()) for t in tensors if t.ndim}
    if len(shapes) > 1:
        raise InvalidArgumentError(f"join: tensors must have one shape or be scalars, got {', '.join(str(t.shape) for t in tensors)}")
    shape = next(iter(shapes), ())
    glue = _as_bytes(separator)
    return _computed(lambda *arrays: numpy.vectorize(lambda *parts: glue.join(parts), otypes=[object])(*arrays), tensors, TensorShape(shape), _dtypes.string)


def reduce_join(inputs, axis=None, keepdims=False, separator="", name=None):
    """Strings joined along axes, one after the other; along all, the last first, when none is named."""
    import numpy

    glue = _as_bytes(separator)
    if isinstance(inputs, RaggedTensor):
        return _tandem.to_tensor([glue.join(row) for row in inputs.to_list()], _dtypes.string)
    tensor = _text(inputs)
    rank = tensor.ndim
    axes = list(range(rank - 1, -1, -1)) if axis is None else _tandem.as_ints(axis)
    if any(not -rank <= a < rank for a in axes):
        raise InvalidArgumentError(f"reduce_join: the axes {axes} must lie in [{-rank}, {rank}) for a tensor of shape {tensor.shape}")
    axes = [a % rank for a in axes]
    kept = [i for i in range(rank) if i not in axes]
    sizes = tensor.shape.as_list()
    shape = [1 if i in axes else sizes[i] for i in range(rank)] if keepdims else [sizes[i] for i in kept]

    def run(array):
        rows, joined = (int(numpy.prod([sizes[i] for i in which])) for which in (kept, axes))
        flat = numpy.transpose(array, kept + axes[::-1]).reshape(rows, joined)
        out = numpy.empty(len(flat), object)
        out[:] = [glue.join(row) for row in flat]
        return out.reshape(shape)

    return _computed(run, [tensor], TensorShape(shape), _dtypes.string)


# --- One string to several. ---


def _rows(function, value):
    """A list for each string: a tensor for one string, a ragged tensor for more."""
    if not _tandem.executing_eagerly():
        from .errors import OpByOpError

        raise OpByOpError("E0702 tf.strings: how many parts a string has is not known while a function is traced; split it outside")
    if isinstance(value, RaggedTensor):
        return value.with_flat_values(_rows(function, value.flat_values))
    tensor = _text(value)
    if tensor.ndim == 0:
        return _tandem.to_tensor(function(tensor.numpy()), _dtypes.string)
    parts = [function(s) for s in _array(tensor).ravel()]
    flat = [part for row in parts for part in row]
    rows = RaggedTensor.from_row_lengths(_tandem.to_tensor(flat, _dtypes.string), [len(row) for row in parts])
    sizes = tensor.shape.as_list()
    for axis in range(len(sizes) - 1, 0, -1):
        rows = RaggedTensor.from_row_lengths(rows, [sizes[axis]] * math.prod(sizes[:axis]))
    return rows


def split(input, sep=None, maxsplit=-1, name=None):
    """The parts between separators, or between blanks when none is given."""
    separator = _as_bytes(sep) if sep is not None and _as_bytes(sep) else None
    return _rows(lambda text: _parts(text, separator, int(maxsplit)), input)


def _parts(text, separator, maxsplit):
    """As TensorFlow has it: 0 sets no limit, and what is left between blanks after the last part is one, even if it is empty."""
    parts = text.split(separator, maxsplit if maxsplit > 0 else -1)
    return [*parts, b""] if separator is None and len(parts) == maxsplit > 0 else parts


def bytes_split(input, name=None):
    """The single bytes."""
    return _rows(lambda s: [s[i : i + 1] for i in range(len(s))], input)


def unicode_split(input, input_encoding="UTF-8", errors="replace", replacement_char=65533, name=None):
    """The single characters."""
    return _rows(lambda s: [c.encode() for c in s.decode(input_encoding, errors)], input)


def unicode_decode(input, input_encoding="UTF-8", errors="replace", replacement_char=65533, replace_control_characters=False, name=None):
    """The numbers of the characters."""
    parts = unicode_split(input, input_encoding, errors)
    number = lambda s: ord(s.decode())  # noqa: E731
    return _each(number, parts, _dtypes.int32)


def _offsets(input, input_encoding, errors):
    """Where each character begins, in bytes of UTF-8."""
    lengths = unicode_split(input, input_encoding, errors)

    def begins(row):
        sizes = [len(character) for character in row]
        return [sum(sizes[:i]) for i in range(len(sizes))]

    if isinstance(lengths, RaggedTensor):
        rows = [begins(row) for row in lengths.to_list()]
        return lengths.with_flat_values(_tandem.to_tensor([at for row in rows for at in row], _dtypes.int64))
    return _tandem.to_tensor(begins(lengths.numpy()), _dtypes.int64)


def unicode_split_with_offsets(input, input_encoding="UTF-8", errors="replace", replacement_char=65533, name=None):
    """The single characters, and where each begins."""
    return unicode_split(input, input_encoding, errors), _offsets(input, input_encoding, errors)


def unicode_decode_with_offsets(input, input_encoding="UTF-8", errors="replace", replacement_char=65533, replace_control_characters=False, name=None):
    """The numbers of the characters, and where each begins."""
    return unicode_decode(input, input_encoding, errors), _offsets(input, input_encoding, errors)


def unicode_transcode(input, input_encoding, output_encoding, errors="replace", replacement_char=65533, replace_control_characters=False, name=None):
    """The strings in another encoding; characters that are none in theirs are replaced, left out or refused."""
    def again(text):
        decoded = text.decode(input_encoding, errors).replace("\ufffd", chr(replacement_char))
        return decoded.encode(output_encoding, "replace" if errors == "strict" else errors)

    return _each(again, input)


def unsorted_segment_join(inputs, segment_ids, num_segments, separator="", name=None):
    """The strings of each segment, joined."""
    words, ids = _tandem.to_tensor(inputs).numpy(), _tandem.as_ints(segment_ids)
    if len(words) != len(ids):
        raise ValueError(f"unsorted_segment_join: {len(words)} strings, but {len(ids)} segment_ids")
    parts = [[] for _ in range(int(num_segments))]
    for word, number in zip(words, ids):
        if number >= len(parts):
            raise InvalidArgumentError(f"E0105 unsorted_segment_join: the segment id {number} is not below num_segments, {len(parts)}")
        if number >= 0:
            parts[number].append(word)
    return _tandem.to_tensor([_as_bytes(separator).join(part) for part in parts], _dtypes.string)


def unicode_encode(input, output_encoding="UTF-8", errors="replace", replacement_char=65533, name=None):
    """Strings of the numbers of characters."""
    if isinstance(input, RaggedTensor):
        return _tandem.to_tensor(["".join(map(chr, row)).encode() for row in input.to_list()], _dtypes.string)
    rows = _tandem.to_tensor(input).numpy()
    if rows.ndim == 1:
        return _tandem.to_tensor("".join(map(chr, rows)).encode())
    return _tandem.to_tensor(["".join(map(chr, row)).encode() for row in rows], _dtypes.string)


def ngrams(data, ngram_width, separator=" ", pad_values=None, padding_width=None, preserve_short_sequences=False, name=None):
    """Neighbours joined, so many at a time."""
    widths = [ngram_width] if isinstance(ngram_width, int) else list(ngram_width)
    pads = None if pad_values is None else [_as_bytes(pad) for pad in ((pad_values,) * 2 if isinstance(pad_values, (str, bytes)) else pad_values)]
    glue = _as_bytes(separator)
    ragged = isinstance(data, RaggedTensor)
    rows = data.to_list() if ragged else _array(_text(data)).tolist()
    single = bool(rows) and isinstance(rows[0], bytes)
    made = [_ngrams_of(row, widths, glue, pads, padding_width, preserve_short_sequences) for row in ([rows] if single else rows)]
    if single:
        return _tandem.to_tensor(made[0], _dtypes.string)
    flat = [part for row in made for part in row]
    return RaggedTensor.from_row_lengths(_tandem.to_tensor(flat, _dtypes.string), [len(row) for row in made])


def _ngrams_of(row, widths, glue, pads, most, keep_short):
    """`most`: how many pads stand at either end at most; there are never so many that one of the joined has nothing else."""
    out = []
    for width in widths:
        padded = _padded(row, pads, width - 1 if most is None else min(most, width - 1))
        out += [glue.join(padded[i : i + width]) for i in range(len(padded) - width + 1)]
    return [glue.join(_padded(row, pads, most or 0))] if not out and keep_short and row else out


def _padded(row, pads, count):
    return row if pads is None else [pads[0]] * count + row + [pads[1]] * count


__getattr__, __dir__ = _names.lazy(__name__)
