// NumPy's files, and pictures.
#include <nanobind/stl/string.h>

#include "tandem/files/npy.h"
#include "tandem/files/pictures.h"
#include "tandem/core/print.h"
#include "tandem/python/convert.h"
#include "tandem/python/module.h"

namespace tandem::python {
namespace {

nb::dict named(NamedTensors tensors) {
  nb::dict out;
  for (auto& [name, tensor] : tensors) out[name.c_str()] = to_object(std::move(tensor));
  return out;
}

/// Without the interpreter's lock: pictures take milliseconds.
nb::object decoded(const auto& decode, const nb::bytes& bytes, const auto& how) {
  Tensor picture;
  {
    const WithoutGil without;
    picture = decode(std::string_view(bytes.c_str(), bytes.size()), how);
  }
  return to_object(std::move(picture));
}

nb::bytes encoded(const auto& encode, nb::handle picture, const auto& how) {
  const Tensor tensor = to_tensor(picture.ptr());
  std::string bytes;
  {
    const WithoutGil without;
    bytes = encode(tensor, how);
  }
  return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

void add_files(nb::module_& module) {
  module.def("load_npy", [](const std::string& path) { return to_object(load_npy(path)); });
  module.def("save_npy", [](const std::string& path, nb::handle tensor) { save_npy(path, to_tensor(tensor.ptr())); });
  module.def("load_npz", [](const std::string& path) { return named(load_npz(path)); });
  module.def("save_npz", [](const std::string& path, nb::dict tensors, bool compressed) {
    NamedTensors all;
    for (auto [name, tensor] : tensors) all.emplace(nb::cast<std::string>(name), to_tensor(tensor.ptr()));
    save_npz(path, all, compressed);
  });
  module.def("decode_png", [](const nb::bytes& bytes, int channels, bool wide) {
    return decoded([wide](std::string_view file, int n) { return decode_png(file, n, wide ? DType::u16 : DType::u8); },
                   bytes, channels);
  });
  module.def(
      "decode_jpeg",
      [](const nb::bytes& bytes, int channels, int ratio, bool fancy, bool accurate, bool recover, double fraction) {
        return decoded(decode_jpeg, bytes, JpegReading{channels, ratio, fancy, accurate, recover, fraction});
      },
      nb::arg("bytes"), nb::arg("channels") = 0, nb::arg("ratio") = 1, nb::arg("fancy_upscaling") = true,
      nb::arg("accurate") = false, nb::arg("recover_truncated") = false, nb::arg("acceptable_fraction") = 1.0);
  module.def("encode_png",
             [](nb::handle picture, int compression) { return encoded(encode_png, picture, compression); });
  module.def("encode_jpeg", [](nb::handle picture, int quality, bool progressive, bool optimized, bool downsampled,
                               bool centimetres, int x_density, int y_density, const nb::bytes& metadata) {
    return encoded(encode_jpeg, picture,
                   JpegWriting{quality, progressive, optimized, downsampled, centimetres, x_density, y_density,
                               std::string(metadata.c_str(), metadata.size())});
  });
  module.def("picture_format", [](const nb::bytes& bytes) {
    constexpr const char* kNames[] = {"png", "jpeg", "other"};
    return kNames[static_cast<int>(picture_format({bytes.c_str(), bytes.size()}))];
  });
  module.def("numpy_str", [](nb::handle tensor) { return numpy_str(to_tensor(tensor.ptr())); });
  module.def("numpy_repr", [](nb::handle tensor) { return numpy_repr(to_tensor(tensor.ptr())); });
}

}  // namespace tandem::python
