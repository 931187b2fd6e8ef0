// Element types of tensors.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "tandem/core/half.h"

namespace tandem {

enum class DType : std::uint8_t { f16, bf16, f32, f64, i8, u8, i32, i64, i16, u16, u32, u64, boolean, string };
inline constexpr int kDTypeCount = 14;

/// TensorFlow's name: "float32".
std::string_view dtype_name(DType dtype);
/// Accepts TensorFlow's, NumPy's and our own spellings; nothing when unknown.
std::optional<DType> parse_dtype(std::string_view name);
/// Bytes of an element; 0 for string.
std::size_t dtype_size(DType dtype);
std::ostream& operator<<(std::ostream& out, DType dtype);

constexpr bool is_floating(DType d) { return d <= DType::f64; }
constexpr bool is_integer(DType d) { return d >= DType::i8 && d <= DType::u64; }
constexpr bool is_unsigned(DType d) { return d == DType::u8 || (d >= DType::u16 && d <= DType::u64); }

/// A set of dtypes, as an op record states them.
class DTypeSet {
 public:
  constexpr DTypeSet(std::initializer_list<DType> dtypes) {
    for (DType d : dtypes) bits_ |= 1u << static_cast<int>(d);
  }
  constexpr bool contains(DType d) const { return bits_ >> static_cast<int>(d) & 1; }
  constexpr DTypeSet operator|(DTypeSet other) const {
    DTypeSet both{};
    both.bits_ = bits_ | other.bits_;
    return both;
  }
  std::string to_string() const;

 private:
  std::uint32_t bits_ = 0;
};

inline constexpr DTypeSet kFloating{DType::f16, DType::bf16, DType::f32, DType::f64};
inline constexpr DTypeSet kIntegers{DType::i8,  DType::u8,  DType::i16, DType::u16,
                                    DType::i32, DType::u32, DType::i64, DType::u64};
inline constexpr DTypeSet kNumeric = kFloating | kIntegers;
inline constexpr DTypeSet kFixedSize = kNumeric | DTypeSet{DType::boolean};  // all but strings

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, Half>) return DType::f16;
  else if constexpr (std::is_same_v<T, BFloat16>) return DType::bf16;
  else if constexpr (std::is_same_v<T, float>) return DType::f32;
  else if constexpr (std::is_same_v<T, double>) return DType::f64;
  else if constexpr (std::is_same_v<T, std::int8_t>) return DType::i8;
  else if constexpr (std::is_same_v<T, std::uint8_t>) return DType::u8;
  else if constexpr (std::is_same_v<T, std::int32_t>) return DType::i32;
  else if constexpr (std::is_same_v<T, std::int64_t>) return DType::i64;
  else if constexpr (std::is_same_v<T, std::int16_t>) return DType::i16;
  else if constexpr (std::is_same_v<T, std::uint16_t>) return DType::u16;
  else if constexpr (std::is_same_v<T, std::uint32_t>) return DType::u32;
  else if constexpr (std::is_same_v<T, std::uint64_t>) return DType::u64;
  else if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  else static_assert(sizeof(T) == 0, "no dtype holds this type");
}

template <class T>
struct TypeTag {
  using type = T;
};

/// Calls f(TypeTag<T>{}) with the C++ type of `dtype`, which must not be string.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f16: return f(TypeTag<Half>{});
    case DType::bf16: return f(TypeTag<BFloat16>{});
    case DType::f32: return f(TypeTag<float>{});
    case DType::f64: return f(TypeTag<double>{});
    case DType::i8: return f(TypeTag<std::int8_t>{});
    case DType::u8: return f(TypeTag<std::uint8_t>{});
    case DType::i32: return f(TypeTag<std::int32_t>{});
    case DType::i64: return f(TypeTag<std::int64_t>{});
    case DType::i16: return f(TypeTag<std::int16_t>{});
    case DType::u16: return f(TypeTag<std::uint16_t>{});
    case DType::u32: return f(TypeTag<std::uint32_t>{});
    case DType::u64: return f(TypeTag<std::uint64_t>{});
    default: return f(TypeTag<bool>{});
  }
}

}  // namespace tandem
