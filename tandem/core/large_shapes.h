// Shapes of more elements than can be counted: with numbers in the places of sizes that are not known yet.
#pragma once
#include <utility>

namespace tandem {

/// While true, on this thread: a shape may have more than 2^62 elements. How many they are is then a prime just below
/// that, so that nothing divides it.
bool& large_shapes_allowed();

/// Allows them while it lives.
class LargeShapes {
 public:
  LargeShapes() : before_(std::exchange(large_shapes_allowed(), true)) {}
  ~LargeShapes() { large_shapes_allowed() = before_; }
  LargeShapes(const LargeShapes&) = delete;

 private:
  bool before_;
};

}  // namespace tandem
