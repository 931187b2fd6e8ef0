// How much may be made of a packed file: small files that would fill the memory are refused.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

#include "tandem/base/error.h"

namespace tandem {

/// Weights seldom shrink to a half when packed; zeros shrink to a thousandth, and a small file of them is let pass.
class UnpackLimit {
 public:
  static constexpr std::uint64_t kAlways = 256 << 20;  // bytes that any archive may hold
  static constexpr std::uint64_t kRatio = 64;          // beyond them: so many times its size

  UnpackLimit(std::string name, std::uint64_t packed_bytes, std::uint64_t always = kAlways)
      : name_(std::move(name)),
        left_(std::max(always, packed_bytes > ~std::uint64_t{0} / kRatio ? packed_bytes : packed_bytes * kRatio)),
        most_(left_) {}

  /// Counts bytes before they are made; throws bad_file when they are too many.
  void spend(std::uint64_t bytes, std::string_view what) {
    if (bytes > left_)
      fail(ErrorCode::bad_file, name_, ": ", what, " would unpack to ", bytes, " bytes; the whole file may unpack to ",
           most_, ", ", kRatio, " times its size if that is more");
    left_ -= bytes;
  }

 private:
  std::string name_;
  std::uint64_t left_, most_;
};

}  // namespace tandem
