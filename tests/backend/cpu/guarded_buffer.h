// Operands for the tests of generated code: buffers that end at a forbidden page, and hard values.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tandem/expr/lane_ops.h"
#include "tandem/expr/program.h"

namespace tandem::cpu {

/// Bytes whose end is the end of the memory that may be touched; before them lies a filling that must stay.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t bytes) : bytes_(bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    mapped_ = (bytes / page + 2) * page;
    void* memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    base_ = static_cast<unsigned char*>(memory);
    mprotect(base_ + mapped_ - page, page, PROT_NONE);
    front_ = mapped_ - page - bytes;
    std::memset(base_, 0xA5, front_ + bytes);
  }
  ~GuardedBuffer() { munmap(base_, mapped_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  unsigned char* data() { return base_ + front_; }
  std::vector<unsigned char> bytes() { return {data(), data() + bytes_}; }
  bool front_unharmed() const {
    for (std::size_t i = 0; i < front_; ++i)
      if (base_[i] != 0xA5) return false;
    return true;
  }

 private:
  unsigned char* base_;
  std::size_t bytes_, mapped_, front_;
};

/// An element: a hard case, a small number or any bits.
template <class T>
T any_value(std::mt19937_64& random) {
  T value{};
  if constexpr (std::is_same_v<T, bool>) {
    return random() % 2 == 0;
  } else if (const auto kind = random() % 3; kind == 0) {
    const std::uint64_t bits = random();
    std::memcpy(static_cast<void*>(&value), &bits, sizeof(T));
  } else if constexpr (std::is_integral_v<T>) {
    constexpr T hard[] = {0, 1, static_cast<T>(-1), 2, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
    value = kind == 1 ? hard[random() % std::size(hard)] : static_cast<T>(static_cast<int>(random() % 200) - 100);
  } else {
    using F = expr::LaneType<T>;
    const F infinity = std::numeric_limits<F>::infinity();
    using Limits = std::numeric_limits<F>;
    const F hard[] = {0,
                      -F{0},
                      1,
                      -1,
                      infinity,
                      -infinity,
                      Limits::quiet_NaN(),
                      F(0.5),
                      F(2.5),
                      F(-3.5),
                      Limits::denorm_min(),
                      -Limits::denorm_min(),
                      Limits::min(),
                      Limits::max(),
                      Limits::lowest(),
                      F(6e-8),
                      F(65504),
                      F(65519.99),
                      F(65520),
                      F(2147483648.0),
                      F(-2147483648.0),
                      F(2147483520.0)};
    const auto small = static_cast<F>(static_cast<double>(random() % 20001) / 100 - 100);
    value = T(kind == 1 ? hard[random() % std::size(hard)] : small);
  }
  return value;
}

inline void fill(DType dtype, void* to, std::mt19937_64& random) {
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    const T value = any_value<T>(random);
    std::memcpy(to, &value, sizeof(T));
  });
}

inline bool same_bits_or_both_nan(DType dtype, const void* a, const void* b) {
  const std::size_t size = dtype_size(dtype);
  if (std::memcmp(a, b, size) == 0) return true;
  if (!is_floating(dtype)) return false;
  const ScalarValue x = expr::load_value(dtype, a), y = expr::load_value(dtype, b);
  return dtype == DType::f64 ? std::isnan(x.f64) && std::isnan(y.f64) : std::isnan(x.f32) && std::isnan(y.f32);
}

}  // namespace tandem::cpu
