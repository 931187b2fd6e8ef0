#include "tandem/core/dtype.h"

#include <array>
#include <ostream>

namespace tandem {
namespace {

struct Info {
  std::string_view name;
  std::string_view short_name;
  std::size_t size;
};
constexpr std::array<Info, kDTypeCount> kInfo{{{"float16", "f16", 2},
                                               {"bfloat16", "bf16", 2},
                                               {"float32", "f32", 4},
                                               {"float64", "f64", 8},
                                               {"int8", "i8", 1},
                                               {"uint8", "u8", 1},
                                               {"int32", "i32", 4},
                                               {"int64", "i64", 8},
                                               {"int16", "i16", 2},
                                               {"uint16", "u16", 2},
                                               {"uint32", "u32", 4},
                                               {"uint64", "u64", 8},
                                               {"bool", "boolean", 1},
                                               {"string", "str", 0}}};

}  // namespace

std::string_view dtype_name(DType dtype) { return kInfo[static_cast<int>(dtype)].name; }
std::size_t dtype_size(DType dtype) { return kInfo[static_cast<int>(dtype)].size; }

std::optional<DType> parse_dtype(std::string_view name) {
  if (name == "half") return DType::f16;
  if (name == "double") return DType::f64;
  for (int i = 0; i < kDTypeCount; ++i)
    if (kInfo[i].name == name || kInfo[i].short_name == name) return static_cast<DType>(i);
  return std::nullopt;
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << dtype_name(dtype); }

std::string DTypeSet::to_string() const {
  std::string names;
  for (int i = 0; i < kDTypeCount; ++i) {
    if (!contains(static_cast<DType>(i))) continue;
    if (!names.empty()) names += ", ";
    names += kInfo[i].name;
  }
  return names;
}

}  // namespace tandem
