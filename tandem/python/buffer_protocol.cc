// Python's buffer protocol: memoryview(tensor) and whatever else reads memory see the values where they are.
#include "tandem/python/errors.h"
#include "tandem/python/objects.h"

namespace tandem::python {
namespace {

const char* format_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return "e";
    case DType::f32: return "f";
    case DType::f64: return "d";
    case DType::i8: return "b";
    case DType::u8: return "B";
    case DType::i32: return "i";
    case DType::i64: return "q";
    case DType::i16: return "h";
    case DType::u16: return "H";
    case DType::u32: return "I";
    case DType::u64: return "Q";
    case DType::boolean: return "?";
    default: return nullptr;
  }
}

/// Sizes, then strides in bytes, of a row-major block.
std::unique_ptr<Py_ssize_t[]> layout_of(const Shape& shape, Py_ssize_t item) {
  const int rank = shape.rank();
  auto layout = std::make_unique<Py_ssize_t[]>(static_cast<std::size_t>(2 * rank));
  for (int i = rank - 1; i >= 0; --i) {
    layout[i] = shape[i];
    layout[rank + i] = item;
    item *= shape[i];
  }
  return layout;
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guarded(
      [&] {
        const Tensor& tensor = tensor_of(self);
        if (tensor.is_symbolic()) raise(PyExc_BufferError, "a tensor of a traced function has no values yet");
        const char* format = format_of(tensor.dtype());
        if (!format) raise(PyExc_BufferError, "no buffer holds ", tensor.dtype(), "; .numpy() gives an array");
        if (flags & PyBUF_WRITABLE)
          raise(PyExc_BufferError, "tensors do not change: ask for a read-only buffer, or use .numpy().copy()");
        const auto item = static_cast<Py_ssize_t>(dtype_size(tensor.dtype()));
        auto layout = layout_of(tensor.shape(), item);
        view->buf = const_cast<void*>(tensor.raw_data());
        view->len = static_cast<Py_ssize_t>(tensor.spec().bytes());
        view->readonly = 1;
        view->itemsize = item;
        view->format = flags & PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
        view->ndim = tensor.rank();
        view->shape = flags & PyBUF_ND ? layout.get() : nullptr;
        view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? layout.get() + tensor.rank() : nullptr;
        view->suboffsets = nullptr;
        view->internal = layout.release();
        Py_INCREF(self);
        view->obj = self;
        return 0;
      },
      -1);
}

void release_buffer(PyObject*, Py_buffer* view) { delete[] static_cast<Py_ssize_t*>(view->internal); }

}  // namespace

PyBufferProcs buffer_procedures = {get_buffer, release_buffer};

}  // namespace tandem::python
