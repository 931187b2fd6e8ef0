// The same functions on plain numbers: what a formula computes when it is called as the reference.
#pragma once
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace tandem::expr {

template <class T>
concept Plain = std::is_arithmetic_v<T>;

/// A constant beside a value takes its type, as with lanes.
template <Plain A, Plain B>
std::common_type_t<A, B> select(bool mask, A a, B b) {
  return mask ? a : b;
}

// Functions without meaning for integers return their argument there; records keep such dtypes out.
template <Plain T>
T abs(T x) {
  return x < 0 ? static_cast<T>(0 - x) : (x == 0 ? T{0} : x);
}
template <Plain T>
T sqrt(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::sqrt(x);
  else return x;
}
template <Plain T>
T exp(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::exp(x);
  else return x;
}
template <Plain T>
T log(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::log(x);
  else return x;
}
template <Plain T>
T tanh(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::tanh(x);
  else return x;
}
template <Plain T>
T erf(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::erf(x);
  else return x;
}
template <Plain T>
T sin(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::sin(x);
  else return x;
}
template <Plain T>
T cos(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::cos(x);
  else return x;
}
template <Plain T>
T floor(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::floor(x);
  else return x;
}
template <Plain A, Plain B>
B lesser(A a, B b) {
  return static_cast<B>(a) < b ? static_cast<B>(a) : b;
}
template <Plain A, Plain B>
B greater_of(A a, B b) {
  return static_cast<B>(a) > b ? static_cast<B>(a) : b;
}

template <Plain T>
T pow(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::pow(x, y);
  } else {
    using U = std::make_unsigned_t<T>;
    if (y < 0) return x == 1 ? T{1} : x == -1 ? (y % 2 ? T{-1} : T{1}) : T{0};
    U result = 1, base = static_cast<U>(x);
    for (; y > 0; y /= 2, base *= base)
      if (y % 2) result *= base;
    return static_cast<T>(result);
  }
}

// Integer arithmetic wraps, as the lanes do: the library is compiled with -fwrapv.

}  // namespace tandem::expr
