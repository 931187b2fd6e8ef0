"""tf.TensorArray: tensors by number. Outside loops of traced functions a list; inside one tensor with a row an element."""
from . import _dtypes, _ops, _tandem
from ._branch_values import at_once, loop_depth
from ._open_size import OpenSize
from ._shape import TensorShape
from .errors import DTypeError, OpByOpError, OutOfRangeError


class TensorArray:
    """Elements of one dtype, written and read by index. write() returns the array to go on with."""

    def __init__(self, dtype, size=None, dynamic_size=None, clear_after_read=None, tensor_array_name=None, handle=None, flow=None,
                 infer_shape=True, element_shape=None, colocate_with_first_write_call=True, name=None):  # fmt: skip
        self._dtype = _dtypes.as_dtype(dtype)
        self._dynamic = bool(dynamic_size)
        self._infer_shape = infer_shape
        self._element_shape = None if element_shape is None else TensorShape(element_shape)
        size = 0 if size is None else self._known_size(size)
        self._open_size = size if isinstance(size, OpenSize) else None  # instead of the list
        self._elements = [None] * size if self._open_size is None else []
        self._grown = None  # for how deep a loop it was given all its places beforehand
        self._buffer = None  # [size, *element_shape] instead of the list, once an index is symbolic

    @staticmethod
    def _known_size(size):
        open_size = _tandem.open_size_in(size)
        if open_size is not None:
            return open_size
        if _tandem.is_symbolic(size):
            raise OpByOpError(
                "E0702 tf.TensorArray: the size must be known while a function is traced, got a symbolic tensor; x.shape[0] is a "
                "number where tf.shape(x)[0] of a traced function may not be"
            )
        return int(size)

    @property
    def dtype(self):
        return self._dtype

    @property
    def dynamic_size(self):
        return self._dynamic

    @property
    def element_shape(self):
        return self._element_shape if self._element_shape is not None else TensorShape(None)

    @property
    def flow(self):
        return self._whole()

    @property
    def handle(self):
        return None

    def size(self, name=None):
        if self._dynamic and not _tandem.executing_eagerly():
            raise OpByOpError("E0702 tf.TensorArray: how far an array of dynamic_size has grown is not known while a function is traced")
        return _tandem.to_tensor(self._count())

    def _count(self):
        if self._buffer is not None:
            return self._buffer.shape[0]
        return len(self._elements) if self._open_size is None else self._open_size

    def _is_list(self):
        return self._buffer is None and self._open_size is None

    def __len__(self):
        return self._count()

    # --- One element. ---

    def _index(self, index):
        """The number, when it is known, else the tensor."""
        return index if _tandem.is_symbolic(index) else int(index)

    def _copy(self, elements=None, buffer=None):
        copy = object.__new__(TensorArray)
        copy.__dict__.update(self.__dict__)
        copy._elements, copy._buffer = elements, buffer
        return copy

    def write(self, index, value, name=None):
        """The array with element `index` set."""
        value = _tandem.to_tensor(value, None if hasattr(value, "dtype") else self._dtype)
        if value.dtype != self._dtype:
            raise DTypeError(f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype {value.dtype.name}")
        self._check_shape(value.shape)
        index = self._index(index)
        if isinstance(index, int) and self._is_list():
            self._grow(index)
            if _tandem.executing_eagerly():
                self._elements[index] = value
                return self
            return self._copy([*self._elements[:index], value, *self._elements[index + 1 :]])
        buffer = self._with_places()._whole()
        place = _ops.reshape(_tandem.to_tensor(index), [1, 1])
        return self._copy(buffer=_ops.tensor_scatter_nd_update(buffer, place, _ops.expand_dims(value, 0)))

    def _with_places(self):
        """The array with a place for an element whose number is not known."""
        if not self._dynamic or self._grown is not None:
            return self
        if self._count():
            raise OpByOpError("E0702 tf.TensorArray: how far an array of dynamic_size grows is not known while a function is traced; give size=")
        array = self._copy([None])  # while it is found out what one turn of a loop writes
        array._grown = loop_depth()
        return array

    def _check_shape(self, shape):
        if self._element_shape is None or not self._element_shape.is_fully_defined():
            if self._element_shape is not None and not self._element_shape.is_compatible_with(shape):
                raise ValueError(f"Incompatible shape for value ({shape}), expected ({self._element_shape})")
            if self._infer_shape:
                self._element_shape = TensorShape(shape)
        elif self._infer_shape and self._element_shape != TensorShape(shape):
            raise ValueError(f"Incompatible shape for value ({shape}), expected ({self._element_shape})")

    def _grow(self, index):
        if index < 0:
            raise OutOfRangeError(f"Writing to negative indices ({index}) is not allowed.")
        if index >= len(self._elements):
            if not self._dynamic:
                raise OutOfRangeError(f"Tried to write to index {index} but array is not resizeable and size is: {len(self._elements)}")
            self._elements = [*self._elements, *[None] * (index + 1 - len(self._elements))]

    def read(self, index, name=None):
        """Element `index`."""
        index = self._index(index)
        if isinstance(index, int) and self._is_list():
            if not 0 <= index < len(self._elements):
                raise OutOfRangeError(f"Tried to read from index {index} but array size is: {len(self._elements)}")
            return self._filled(self._elements[index])
        return _ops.gather(self._whole(), index)

    def _filled(self, element):
        if element is not None:
            return element
        if self._element_shape is None or not self._element_shape.is_fully_defined():
            raise ValueError("tf.TensorArray: an element was never written and its shape is not known; give element_shape")
        return at_once(lambda: _ops.zeros(self._element_shape, self._dtype))

    # --- All of them. ---

    def _whole(self):
        """All elements as one tensor; zeros where none was written."""
        if self._buffer is not None:
            return self._buffer
        if self._open_size is not None:
            return _ops.zeros([self._open_size, *self._known_element_shape()], self._dtype)
        if not self._elements:
            return at_once(lambda: _ops.zeros([0, *(self._element_shape or [])], self._dtype))
        if all(element is None for element in self._elements):
            return at_once(lambda: _ops.zeros([len(self._elements), *self._known_element_shape()], self._dtype))
        written = [i for i, element in enumerate(self._elements) if element is not None]
        if len(written) < len(self._elements) // 2 and self._dtype.name != "string":
            return self._few(written)
        return _ops.stack([self._filled(element) for element in self._elements])

    def _known_element_shape(self):
        if self._element_shape is None or not self._element_shape.is_fully_defined():
            raise ValueError(
                "tf.TensorArray: the shape of its elements must be known before a loop of a traced function writes them; give element_shape="
            )
        return self._element_shape

    def _few(self, written):
        """Rows of zeros with those set that were written: an op for each of many zeros would take long to trace."""
        rows = _ops.stack([self._elements[i] for i in written])
        places = _tandem.to_tensor([[i] for i in written])
        return _ops.tensor_scatter_nd_update(at_once(lambda: _ops.zeros([len(self._elements), *rows.shape[1:]], self._dtype)), places, rows)

    def stack(self, name=None):
        """All elements along a new first axis."""
        self._refuse_inside_loop()
        return self._whole()

    def _refuse_inside_loop(self):
        if self._grown is not None and loop_depth() > self._grown:
            raise OpByOpError("E0702 tf.TensorArray: an array of dynamic_size is read as a whole while a loop lets it grow; give size=")

    def concat(self, name=None):
        """All elements joined along their first axis."""
        self._refuse_inside_loop()
        if self._buffer is not None:
            sizes = self._buffer.shape.as_list()
            return _ops.reshape(self._buffer, [sizes[0] * sizes[1], *sizes[2:]])
        return _ops.concat([self._filled(element) for element in self._elements], 0)

    def gather(self, indices, name=None):
        """The elements of the indices along a new first axis."""
        return _ops.gather(self._whole(), indices)

    def unstack(self, value, name=None):
        """The array of the rows of `value`."""
        rows = _tandem.to_tensor(value)
        if rows.dtype != self._dtype:
            raise DTypeError(f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype {rows.dtype.name}")
        self._check_shape(rows.shape[1:])
        if not _tandem.executing_eagerly():
            return self._copy(buffer=rows)
        self._elements = _ops.unstack(rows)
        return self

    def scatter(self, indices, value, name=None):
        """The array with the rows of `value` written to the indices."""
        array = self
        for number, row in zip(_tandem.as_ints(indices), _ops.unstack(_tandem.to_tensor(value))):
            array = array.write(number, row)
        return array

    def split(self, value, lengths, name=None):
        """The array of the parts of `value` along its first axis, which may have different lengths."""
        array = self._copy(self._elements, self._buffer)
        array._infer_shape = False
        for number, part in enumerate(_ops.split(_tandem.to_tensor(value), _tandem.as_ints(lengths))):
            array = array.write(number, part)
        return array

    def identity(self):
        return self._copy(list(self._elements) if self._buffer is None else None, self._buffer)

    def mark_used(self):
        return None

    def close(self, name=None):
        self._elements, self._buffer = [], None

    # --- As a value that a loop carries. ---

    def _tandem_parts(self):
        return (self._dtype.name, self._count()), [self._whole()]

    def _tandem_unknown(self):
        """True while the size or the shape of the elements is not known, so that no loop can carry it."""
        if self._buffer is not None or any(element is not None for element in self._elements):
            return False
        shape = self._element_shape
        return shape is None or not shape.is_fully_defined() or self._is_to_grow()

    def _is_to_grow(self):
        return self._dynamic and self._open_size is None and not self._elements

    def _tandem_like(self, after, turns):
        """The array to begin a loop with, of which one turn made `after`."""
        array = self._copy(list(self._elements))
        array._element_shape = after._element_shape
        if self._is_to_grow():
            if turns < 0:
                raise OpByOpError(
                    "E0702 tf.TensorArray: dynamic_size=True grows only in traced loops whose number of turns is known, without break; give size="
                )
            array._elements, array._grown = [None] * turns, loop_depth()
        return array

    def _tandem_from_parts(self, parts):
        array = self._copy(buffer=parts[0])
        array._element_shape = parts[0].shape[1:]
        return array

    def __repr__(self):
        return f"<tf.TensorArray dtype={self._dtype.name} size={self._count()} element_shape={self.element_shape}>"
