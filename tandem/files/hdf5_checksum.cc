#include "tandem/files/hdf5_checksum.h"

#include "tandem/base/error.h"
#include "tandem/files/crc32c.h"

namespace tandem::hdf5 {
namespace {

constexpr const char* kAttribute = "tandem_crc32c";

class Sum {
 public:
  void object(const Hdf5Object& object) {
    bytes(object.is_group() ? "G" : "A");
    if (!object.is_group()) value(object.value);
    number(object.attributes.size());
    for (const auto& [name, tensor] : object.attributes) {
      text(name);
      value(tensor);
    }
    number(object.items.size());
    for (const auto& [name, item] : object.items) {
      text(name);
      this->object(item);
    }
  }
  std::uint32_t result() const { return crc_; }

 private:
  void bytes(std::string_view some) { crc_ = crc32c(some, crc_); }
  void number(std::size_t value) {
    const auto wide = static_cast<std::int64_t>(value);
    bytes({reinterpret_cast<const char*>(&wide), sizeof wide});
  }
  void text(std::string_view some) {
    number(some.size());
    bytes(some);
  }
  void value(const Tensor& tensor) {
    text(dtype_name(tensor.dtype()));
    number(static_cast<std::size_t>(tensor.rank()));
    for (const std::int64_t size : tensor.shape()) number(static_cast<std::size_t>(size));
    if (tensor.dtype() != DType::string)
      return bytes({static_cast<const char*>(tensor.raw_data()), tensor.spec().bytes()});
    for (const std::string& one : tensor.strings()) text(one);
  }

  std::uint32_t crc_ = 0;
};

std::int64_t checksum(const Hdf5Object& root) {
  Sum sum;
  sum.object(root);
  return sum.result();
}

}  // namespace

Hdf5Object with_checksum(Hdf5Object root) {
  root.attributes.erase(kAttribute);
  root.attributes[kAttribute] = Tensor::scalar(checksum(root), DType::i64);
  return root;
}

void check_and_drop_checksum(Hdf5Object& root, const std::string& file) {
  const auto found = root.attributes.find(kAttribute);
  if (found == root.attributes.end()) return;
  const Tensor stored = found->second;
  root.attributes.erase(found);
  if (stored.dtype() != DType::i64 || stored.size() != 1 || stored.item<std::int64_t>() != checksum(root))
    fail(ErrorCode::bad_file, file, ": its contents do not fit its checksum (the attribute ", kAttribute,
         "): the file is damaged, or another program changed it; after a change that was meant, delete the attribute");
}

}  // namespace tandem::hdf5
