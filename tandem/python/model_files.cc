// Files that hold models and weights: HDF5, safetensors, zip; and writing any file atomically.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include "tandem/files/file_bytes.h"
#include "tandem/files/hdf5.h"
#include "tandem/files/safetensors.h"
#include "tandem/files/zip.h"
#include "tandem/python/convert.h"
#include "tandem/python/module.h"

namespace tandem::python {
namespace {

std::string_view bytes_view(nb::handle object) {
  return {PyBytes_AS_STRING(object.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(object.ptr()))};
}
nb::bytes to_bytes(const std::string& bytes) { return nb::bytes(bytes.data(), bytes.size()); }

/// Text that is no UTF-8 comes back as it went.
nb::object to_text(std::string_view bytes) {
  return nb::steal(
      checked(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape")));
}
std::string from_text(nb::handle text) {
  const Object bytes(checked(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape")));
  return std::string(bytes_view(bytes.get()));
}

/// Calls `from_path` or `from_bytes`, whichever `source` is; without the interpreter's lock.
template <class F, class G>
auto read_either(nb::handle source, F from_path, G from_bytes) {
  if (PyBytes_Check(source.ptr())) {
    const std::string_view bytes = bytes_view(source);
    const WithoutGil others;
    return from_bytes(bytes);
  }
  const auto path = nb::cast<std::string>(nb::str(nb::steal(checked(PyOS_FSPath(source.ptr())))));
  const WithoutGil others;
  return from_path(path);
}

/// A text, a list of texts, a number, or a tensor.
nb::object attribute_object(const Tensor& value) {
  if (value.dtype() == DType::string) {
    if (value.rank() == 0) return to_text(value.strings()[0]);
    nb::list out;
    for (const std::string& one : value.strings()) out.append(to_text(one));
    return out;
  }
  if (value.rank() > 0) return to_object(value);
  if (value.dtype() == DType::boolean) return nb::bool_(value.item<bool>());
  if (is_integer(value.dtype())) return nb::int_(value.item<std::int64_t>());
  return nb::float_(value.item<double>());
}

nb::object tree_object(Hdf5Object object) {
  if (!object.is_group()) return to_object(std::move(object.value));
  nb::dict attributes, items, out;
  for (const auto& [name, value] : object.attributes) attributes[to_text(name)] = attribute_object(value);
  for (auto& [name, item] : object.items) items[to_text(name)] = tree_object(std::move(item));
  out["attrs"] = attributes;
  out["items"] = items;
  return out;
}

std::string text_or_bytes(nb::handle value, const std::string& name) {
  if (PyUnicode_Check(value.ptr())) return from_text(value);
  if (PyBytes_Check(value.ptr())) return std::string(bytes_view(value));
  raise(PyExc_TypeError, "attribute '", name, "' mixes text with ", Py_TYPE(value.ptr())->tp_name);
}

Tensor attribute_of(nb::handle value, const std::string& name) {
  PyObject* object = value.ptr();
  if (PyUnicode_Check(object) || PyBytes_Check(object)) return Tensor::from_strings({text_or_bytes(value, name)}, {});
  if (PyBool_Check(object)) return Tensor(object == Py_True);
  if (PyLong_Check(object)) return to_tensor(object, DType::i64);
  if (PyFloat_Check(object)) return to_tensor(object, DType::f64);
  const bool list = PyList_Check(object) || PyTuple_Check(object);
  if (!list || nb::len(value) == 0) return to_tensor(object);
  const nb::object first = value[0];
  if (!PyUnicode_Check(first.ptr()) && !PyBytes_Check(first.ptr())) return to_tensor(object);
  std::vector<std::string> texts;
  for (nb::handle one : value) texts.push_back(text_or_bytes(one, name));
  const auto count = static_cast<std::int64_t>(texts.size());
  return Tensor::from_strings(std::move(texts), {count});
}

/// A dict with "attrs" or "items" is a group, anything else an array.
Hdf5Object tree_of(nb::handle value, const std::string& path) {
  Hdf5Object out;
  if (!PyDict_Check(value.ptr())) {
    out.value = to_tensor(value.ptr());
    return out;
  }
  for (auto [key, part] : nb::borrow<nb::dict>(value)) {
    const std::string word = from_text(key);
    if ((word != "attrs" && word != "items") || !PyDict_Check(part.ptr()))
      raise(PyExc_ValueError, "the group ", path, " must be {\"attrs\": {...}, \"items\": {...}}, got the key '", word,
            "'");
    for (auto [name, item] : nb::borrow<nb::dict>(part)) {
      const std::string own = from_text(name);
      if (word == "attrs") out.attributes.emplace(own, attribute_of(item, own));
      else out.items.emplace(own, tree_of(item, path == "/" ? path + own : path + "/" + own));
    }
  }
  return out;
}

nb::bytes write_hdf5(nb::dict tree) {
  const Hdf5Object root = tree_of(tree, "/");
  std::string bytes;
  {
    const WithoutGil others;
    bytes = hdf5_to_bytes(root);
  }
  return to_bytes(bytes);
}

nb::tuple read_safetensors(nb::handle source) {
  Safetensors file =
      read_either(source, load_safetensors, [](std::string_view bytes) { return safetensors_from_bytes(bytes); });
  nb::dict tensors, metadata;
  for (auto& [name, tensor] : file.tensors) tensors[to_text(name)] = to_object(std::move(tensor));
  for (const auto& [name, value] : file.metadata) metadata[to_text(name)] = to_text(value);
  return nb::make_tuple(tensors, metadata);
}

nb::bytes write_safetensors(nb::dict tensors, nb::dict metadata) {
  Safetensors file;
  for (auto [name, tensor] : tensors) file.tensors.emplace(from_text(name), to_tensor(tensor.ptr()));
  for (auto [name, value] : metadata) file.metadata.emplace(from_text(name), from_text(value));
  return to_bytes(safetensors_to_bytes(file));
}

nb::dict read_zip(nb::handle source) {
  nb::dict out;
  for (const auto& [name, bytes] :
       read_either(source, load_zip, [](std::string_view given) { return zip_from_bytes(given); }))
    out[to_text(name)] = to_bytes(bytes);
  return out;
}

nb::bytes write_zip(nb::dict entries, bool compressed) {
  ZipEntries all;
  for (auto [name, bytes] : entries) {
    if (!PyBytes_Check(bytes.ptr()))
      raise(PyExc_TypeError, "entry '", from_text(name), "' must be bytes, got ", Py_TYPE(bytes.ptr())->tp_name);
    all.emplace(from_text(name), bytes_view(bytes));
  }
  return to_bytes(zip_to_bytes(all, compressed));
}

}  // namespace

void add_model_files(nb::module_& module) {
  module.def("hdf5_read", [](nb::handle source) {
    return tree_object(read_either(source, load_hdf5, [](std::string_view bytes) { return hdf5_from_bytes(bytes); }));
  });
  module.def("hdf5_write", write_hdf5);
  module.def("safetensors_read", read_safetensors);
  module.def("safetensors_write", write_safetensors);
  module.def("zip_read", read_zip);
  module.def("zip_write", write_zip);
  module.def("write_file_atomically", [](nb::handle path, const nb::bytes& bytes) {
    const auto name = nb::cast<std::string>(nb::str(nb::steal(checked(PyOS_FSPath(path.ptr())))));
    const std::string_view view{bytes.c_str(), bytes.size()};
    const WithoutGil others;
    write_file_atomically(name, view);
  });
}

}  // namespace tandem::python
