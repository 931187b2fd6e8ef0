// Readers and writers of data files: TFRecord and Example, CSV, text lines, IDX, mapped arrays, images.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "tandem/data/csv.h"
#include "tandem/data/example.h"
#include "tandem/data/idx.h"
#include "tandem/data/images.h"
#include "tandem/data/npy_dataset.h"
#include "tandem/data/records.h"
#include "tandem/files/crc32c.h"
#include "tandem/python/convert.h"
#include "tandem/python/module.h"

namespace tandem::python {
namespace {

std::string_view bytes_view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

/// Of anything that shows its bytes, as they lie in memory.
std::uint32_t checksum(nb::handle bytes, std::uint32_t before) {
  Py_buffer view;
  if (PyObject_GetBuffer(bytes.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  std::uint32_t crc;
  {
    const WithoutGil without;
    crc = crc32c({static_cast<const char*>(view.buf), static_cast<std::size_t>(view.len)}, before);
  }
  PyBuffer_Release(&view);
  return crc;
}

/// (name, dtype, shape, variable, default or None) of each feature.
std::vector<FeatureSpec> features_of(nb::handle list) {
  std::vector<FeatureSpec> features;
  for (nb::handle item : list) {
    FeatureSpec feature{.name = nb::cast<std::string>(item[0]),
                        .dtype = to_dtype(nb::object(item[1]).ptr()),
                        .variable = nb::cast<bool>(item[3])};
    std::vector<std::int64_t> sizes;
    append_ints(nb::object(item[2]).ptr(), sizes);
    feature.shape = Shape(std::span<const std::int64_t>(sizes));
    const nb::object value = item[4];
    if (!value.is_none()) feature.default_value = to_tensor(value.ptr(), feature.dtype);
    features.push_back(std::move(feature));
  }
  return features;
}

nb::list tensor_list(Tensors tensors) {
  nb::list out;
  for (Tensor& tensor : tensors) out.append(to_object(std::move(tensor)));
  return out;
}

void add_feature(nb::handle kind_and_values, Features& out, const std::string& name) {
  const auto kind = nb::cast<std::string>(kind_and_values[0]);
  const nb::object values = kind_and_values[1];
  if (kind == "bytes_list") {
    std::vector<std::string> strings;
    for (nb::handle value : values) strings.emplace_back(bytes_view(nb::cast<nb::bytes>(value)));
    out[name] = std::move(strings);
  } else if (kind == "float_list") {
    out[name] = nb::cast<std::vector<float>>(values);
  } else {
    out[name] = nb::cast<std::vector<std::int64_t>>(values);
  }
}

nb::bytes serialize(nb::dict features) {
  Features all;
  for (auto [name, list] : features) add_feature(list, all, nb::cast<std::string>(name));
  const std::string bytes = serialize_example(all);
  return nb::bytes(bytes.data(), bytes.size());
}

nb::dict read(const nb::bytes& bytes) {
  nb::dict out;
  for (const auto& [name, values] : read_example(bytes_view(bytes))) {
    nb::list list;
    if (const auto* strings = std::get_if<0>(&values))
      for (const std::string& value : *strings) list.append(nb::bytes(value.data(), value.size()));
    else if (const auto* floats = std::get_if<1>(&values))
      for (float value : *floats) list.append(value);
    else
      for (std::int64_t value : std::get<2>(values)) list.append(value);
    constexpr const char* kKinds[] = {"bytes_list", "float_list", "int64_list"};
    out[name.c_str()] = nb::make_tuple(kKinds[values.index()], list);
  }
  return out;
}

/// (dtype, default or None, name) of each column.
CsvOptions csv_options(nb::handle columns, std::vector<std::int64_t> select, const std::string& delimiter, bool header,
                       bool quotes, std::string na, std::string compression) {
  if (delimiter.size() != 1)
    fail(ErrorCode::invalid_argument, "field_delim must be one character, got \"", delimiter, "\"");
  CsvOptions options{.select = std::move(select),
                     .delimiter = delimiter[0],
                     .header = header,
                     .quotes = quotes,
                     .na_value = std::move(na),
                     .compression = std::move(compression)};
  for (nb::handle column : columns) {
    CsvColumn one{.dtype = to_dtype(nb::object(column[0]).ptr()), .name = nb::cast<std::string>(column[2])};
    const nb::object value = column[1];
    if (!value.is_none()) one.default_value = to_tensor(value.ptr(), one.dtype);
    options.columns.push_back(std::move(one));
  }
  return options;
}

void add_csv(nb::module_& module) {
  module.def("csv_dataset",
             [](std::vector<std::string> files, nb::handle columns, std::vector<std::int64_t> select,
                const std::string& delimiter, bool header, bool quotes, std::string na, std::string compression) {
               return csv_dataset(std::move(files), csv_options(columns, std::move(select), delimiter, header, quotes,
                                                                std::move(na), std::move(compression)));
             });
  module.def("infer_csv", [](const std::string& file, const std::string& delimiter, bool header, bool quotes,
                             std::string na, std::string compression, std::int64_t rows) {
    nb::list out;
    for (const CsvColumn& column : infer_csv(
             file, csv_options(nb::list(), {}, delimiter, header, quotes, std::move(na), std::move(compression)), rows))
      out.append(nb::make_tuple(nb::steal(dtype_object(column.dtype)), to_object(column.default_value), column.name));
    return out;
  });
}

}  // namespace

void add_readers(nb::module_& module) {
  module.def("tfrecord_dataset", [](std::vector<std::string> files, const std::string& compression) {
    return tfrecord_dataset(std::move(files), compression);
  });
  module.def("text_line_dataset", [](std::vector<std::string> files, const std::string& compression) {
    return text_line_dataset(std::move(files), compression);
  });
  nb::class_<RecordWriter>(module, "RecordWriter")
      .def(nb::init<std::string, std::string_view>())
      .def("write", [](RecordWriter& writer, const nb::bytes& record) { writer.write(bytes_view(record)); })
      .def("flush", &RecordWriter::flush)
      .def("close", &RecordWriter::close);
  module.def("parse_single_example", [](nb::handle serialized, nb::handle features) {
    return tensor_list(parse_single_example(to_tensor(serialized.ptr()), features_of(features)));
  });
  module.def("parse_example", [](nb::handle serialized, nb::handle features) {
    return tensor_list(parse_example(to_tensor(serialized.ptr()), features_of(features)));
  });
  module.def("serialize_example", serialize);
  module.def("read_example", read);
  module.def("crc32c", checksum, nb::arg("bytes"), nb::arg("before") = 0);
  module.def("npy_dataset", npy_dataset);
  module.def("npz_dataset", npz_dataset);
  module.def("read_images",
             [](const Dataset& paths, int channels, std::int64_t height, std::int64_t width, bool nearest, bool crop) {
               return read_images(paths, {.channels = channels,
                                          .height = height,
                                          .width = width,
                                          .interpolation = nearest ? Interpolation::nearest : Interpolation::bilinear,
                                          .crop_to_aspect_ratio = crop});
             });
  module.def("load_idx", [](const std::string& path) { return to_object(load_idx(path)); });
  add_csv(module);
}

}  // namespace tandem::python
