// tensor[key], len(tensor), iteration.
#include <vector>

#include "tandem/op/arrays.h"
#include "tandem/op/open_size.h"
#include "tandem/python/convert.h"
#include "tandem/python/numpy_bridge.h"
#include "tandem/python/objects.h"
#include "tandem/python/open_sizes.h"
#include "tandem/python/string_operators.h"

namespace tandem::python {
namespace {

/// What is taken of one axis.
struct AxisPart {
  std::int64_t start = 0, step = 1, count = 0;
};

/// An index that is known when the traced function runs.
struct LateIndex {
  std::int64_t axis;  // of the tensor
  Tensor at;
};

/// A key, understood: a part an axis, and the shape of the result.
struct Selection {
  std::vector<AxisPart> parts;
  Ints shape;
  std::vector<LateIndex> late;  // their axes are taken whole, then picked from
};

class KeyReader {
 public:
  explicit KeyReader(const Shape& shape) : shape_(shape) {}

  Selection read(PyObject* key) {
    if (!PyTuple_Check(key)) return read_items({&key, 1});
    return read_items(
        {reinterpret_cast<PyTupleObject*>(key)->ob_item, static_cast<std::size_t>(PyTuple_GET_SIZE(key))});
  }

 private:
  Selection read_items(std::span<PyObject* const> items) {
    int named = 0;
    for (PyObject* item : items) named += item != Py_None && item != Py_Ellipsis;
    if (named > shape_.rank())
      fail(ErrorCode::index_out_of_range, "Index out of range using input dim ", shape_.rank(), "; input has only ",
           shape_.rank(), " dims");
    bool seen_ellipsis = false;
    for (PyObject* item : items) {
      if (item == Py_Ellipsis) {
        if (seen_ellipsis) raise(PyExc_ValueError, "Multiple ellipses in slice spec not allowed");
        seen_ellipsis = true;
        for (int i = named; i < shape_.rank(); ++i) take_all();
      } else if (item == Py_None) {
        selection_.shape.push_back(1);
      } else if (PySlice_Check(item)) {
        take_slice(item);
      } else {
        take_one(item);
      }
    }
    while (static_cast<int>(selection_.parts.size()) < shape_.rank()) take_all();
    return std::move(selection_);
  }

  std::int64_t axis_size() const { return shape_[static_cast<int>(selection_.parts.size())]; }

  void take_all() {
    selection_.shape.push_back(axis_size());
    selection_.parts.push_back({0, 1, axis_size()});
  }
  void take_slice(PyObject* item) {
    if (is_open(shape_) || is_open_slice(item)) return take_open_slice(item);
    refuse_late_bounds(reinterpret_cast<PySliceObject*>(item));
    refuse_no_step(reinterpret_cast<PySliceObject*>(item)->step);
    Py_ssize_t start, stop, step;
    if (PySlice_Unpack(item, &start, &stop, &step) != 0) throw PythonErrorSet{};
    const Py_ssize_t count = PySlice_AdjustIndices(axis_size(), &start, &stop, step);
    selection_.shape.push_back(count);
    selection_.parts.push_back({start, step, count});
  }
  static void refuse_late_bounds(const PySliceObject* slice) {
    for (PyObject* bound : {slice->start, slice->stop, slice->step})
      if (is_tensor(bound) && tensor_of(bound).is_symbolic())
        fail(ErrorCode::cannot_trace,
             "a slice ends at a tensor that has no value yet: its size depends on values, so it cannot be part of a "
             "traced function; "
             "use tf.gather, or a mask");
  }
  static void refuse_no_step(PyObject* step) {
    if (PyLong_Check(step) && PyLong_AsLongLong(step) == 0)
      fail(ErrorCode::invalid_argument, "strides must be non-zero: a slice with step 0 has no end");
    PyErr_Clear();  // of a number that is too large, which is another mistake
  }
  static bool is_open_slice(PyObject* item) {
    auto* slice = reinterpret_cast<PySliceObject*>(item);
    return open_size_in(slice->start) || open_size_in(slice->stop);
  }
  /// As Python adjusts indices, but so that what is compared is noted.
  void take_open_slice(PyObject* item) {
    auto* slice = reinterpret_cast<PySliceObject*>(item);
    refuse_no_step(slice->step);
    const std::int64_t size = axis_size(), step = slice->step == Py_None ? 1 : to_integer(slice->step);
    const std::int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
    const auto bound = [&](PyObject* given, std::int64_t missing) {
      if (given == Py_None) return missing;
      std::int64_t at = to_integer(given);
      if (is_smaller_size(at, 0)) at += size;
      return is_smaller_size(at, low) ? low : is_smaller_size(high, at) ? high : at;
    };
    const std::int64_t start = bound(slice->start, step < 0 ? high : low),
                       stop = bound(slice->stop, step < 0 ? low : high);
    const bool some = step < 0 ? is_smaller_size(stop, start) : is_smaller_size(start, stop);
    const std::int64_t count =
        !some ? 0 : floor_of_sizes(step < 0 ? start - stop - 1 : stop - start - 1, std::abs(step)) + 1;
    selection_.shape.push_back(count);
    selection_.parts.push_back({start, step, count});
  }
  void take_one(PyObject* item) {
    if (PyBool_Check(item) || !PyIndex_Check(item)) {
      const Object text(checked(PyObject_Repr(item)));
      raise(PyExc_TypeError,
            "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 "
            "tensors "
            "are valid indices, got ",
            PyUnicode_AsUTF8(text.get()), "; tf.gather takes lists of indices");
    }
    if (is_tensor(item) && tensor_of(item).is_symbolic() && !open_size_in(item)) return take_later(tensor_of(item));
    const std::int64_t index = to_integer(item), size = axis_size();
    const std::int64_t at = index < 0 ? index + size : index;
    if (is_smaller_size(at, 0) || !is_smaller_size(at, size))
      fail(ErrorCode::index_out_of_range, "slice index ", index, " of dimension ", selection_.parts.size(),
           " out of bounds: its size is ", size);
    selection_.parts.push_back({at, 1, 1});
  }

  void take_later(const Tensor& index) {
    if ((index.dtype() != DType::i32 && index.dtype() != DType::i64) || index.rank() != 0)
      raise(PyExc_TypeError, "an index must be a scalar of int32 or int64, got ", index.spec(),
            "; tf.gather takes lists of indices");
    selection_.late.push_back({static_cast<std::int64_t>(selection_.parts.size()), index});
    selection_.parts.push_back({0, 1, 1});
  }

  const Shape& shape_;
  Selection selection_;
};

/// The tensor with an axis of size 1, what the index picks of it.
Tensor picked(const Tensor& tensor, const LateIndex& index) {
  const std::int64_t size = tensor.shape()[static_cast<int>(index.axis)];
  const Tensor zero = Tensor::scalar(std::int64_t{0}, index.at.dtype()),
               length = ratio_of_sizes(size, 1, index.at.dtype());
  const Tensor at = where(less(index.at, zero), add(index.at, length), index.at);  // counted from the end
  return gather(tensor, reshape(at, Shape{1}), index.axis);
}

bool takes_all(const Shape& shape, const std::vector<AxisPart>& parts) {
  for (int i = 0; i < shape.rank(); ++i)
    if (parts[static_cast<std::size_t>(i)].count != shape[i] || parts[static_cast<std::size_t>(i)].step != 1)
      return false;
  return true;
}

/// Ops have no strings to slice: done here, on the host.
Tensor select_strings(const Tensor& tensor, const Selection& selection) {
  std::vector<std::int64_t> places{0};
  for (std::size_t axis = 0; axis < selection.parts.size(); ++axis) {
    const AxisPart& part = selection.parts[axis];
    std::vector<std::int64_t> next;
    for (std::int64_t place : places)
      for (std::int64_t i = 0; i < part.count; ++i)
        next.push_back(place * tensor.shape()[static_cast<int>(axis)] + part.start + i * part.step);
    places = std::move(next);
  }
  std::vector<std::string> strings;
  for (std::int64_t place : places) strings.push_back(tensor.strings()[static_cast<std::size_t>(place)]);
  return Tensor::from_strings(std::move(strings), Shape(std::span<const std::int64_t>(selection.shape)));
}

Tensor select(const Tensor& tensor, const Selection& selection) {
  if (tensor.dtype() == DType::string) return select_strings(tensor, selection);
  Ints begin, size, strides;
  bool steps = false;
  for (const AxisPart& part : selection.parts) {
    begin.push_back(part.count > 0 ? part.start : 0);
    size.push_back(part.count);
    strides.push_back(part.count > 1 ? part.step : 1);
    steps |= strides.back() != 1;
  }
  const Shape block{std::span<const std::int64_t>(size)};
  Tensor out = tensor;
  if (steps) out = strided_slice(tensor, begin, size, strides);
  else if (tensor.shape() != block) out = slice(tensor, begin, size);
  const Shape shape{std::span<const std::int64_t>(selection.shape)};
  return out.shape() == shape ? out : reshape(out, shape);
}

Py_ssize_t length(PyObject* self) {
  return guarded(
      [&]() -> Py_ssize_t {
        const Shape shape = is_tensor(self) ? tensor_of(self).shape() : variable_of(self).shape();
        if (shape.rank() == 0) raise(PyExc_TypeError, "Scalar tensor has no `len()`");
        require_known("len()", shape[0]);
        return shape[0];
      },
      -1);
}

PyObject* indexed(const Tensor& tensor, PyObject* key) {
  const bool later = tensor.dtype() == DType::string && tensor.is_symbolic();
  return later ? strings_indexed(tensor, key) : wrap(index_tensor(tensor, key));
}

/// variable[key], which can be assigned to: v[0, 1].assign(42).
PyObject* variable_part(PyObject* variable, PyObject* key) {
  const Object part(indexed(value_of(variable), key));
  const Object module(checked(PyImport_ImportModule("tandemflow._methods")));
  return checked(PyObject_CallMethod(module.get(), "assignable", "OOO", part.get(), variable, key));
}

bool is_mask(PyObject* key) {
  if (is_tensor(key)) return tensor_of(key).dtype() == DType::boolean;
  return is_numpy(key) && to_tensor(key).dtype() == DType::boolean;
}

/// tensor[tensor > 0]: the elements, or the rows, where a mask is true.
PyObject* masked(PyObject* self, PyObject* mask) {
  const Object module(checked(PyImport_ImportModule("tandemflow")));
  return checked(PyObject_CallMethod(module.get(), "boolean_mask", "OO", self, mask));
}

PyObject* subscript(PyObject* self, PyObject* key) {
  if (is_mask(key)) return guarded([&] { return masked(self, key); });
  return guarded([&] { return is_variable(self) ? variable_part(self, key) : indexed(value_of(self), key); });
}

PyObject* item_at(PyObject* self, Py_ssize_t index) {
  return guarded([&] {
    const Object key(checked(PyLong_FromSsize_t(index)));
    return indexed(value_of(self), key.get());
  });
}

}  // namespace

Tensor index_tensor(const Tensor& tensor, PyObject* key) {
  const Selection selection = KeyReader(tensor.shape()).read(key);
  if (!selection.late.empty()) {
    Tensor part = tensor;
    for (const LateIndex& index : selection.late) part = picked(part, index);
    return select(part, selection);
  }
  if (takes_all(tensor.shape(), selection.parts) &&
      Shape(std::span<const std::int64_t>(selection.shape)) == tensor.shape())
    return tensor;
  return select(tensor, selection);
}

PyObject* iterate(PyObject* self) {
  return guarded([&] {
    const Shape shape = is_tensor(self) ? tensor_of(self).shape() : variable_of(self).shape();
    if (shape.rank() == 0) raise(PyExc_TypeError, "Cannot iterate over a scalar tensor.");
    require_known("a loop in Python", shape[0]);
    return checked(PySeqIter_New(self));
  });
}

PyMappingMethods indexing_methods = {.mp_length = length, .mp_subscript = subscript};
PySequenceMethods sequence_methods = {.sq_length = length, .sq_item = item_at};

}  // namespace tandem::python
