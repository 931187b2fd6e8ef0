// What kernels were measured to take: per op, dtype, size bucket and device, kept with the machine.
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tandem/core/dtype.h"

namespace tandem {

/// Sizes within a factor of two share a bucket: the exponent of the work (flops + bytes).
int size_bucket(double flops, double bytes);

struct HistoryKey {
  std::string op;
  DType dtype = DType::f32;
  int bucket = 0;
  std::string device;
  auto operator<=>(const HistoryKey&) const = default;
};

/// Measured time as a ratio to the model's prediction: within a bucket the time scales with the work.
struct Measured {
  double ratio = 1;  // measured / predicted
  std::int64_t samples = 0;
  bool operator==(const Measured&) const = default;

  /// How much it counts against the model: 0 without samples, 1/2 after 2, 0.96 after 50.
  double weight() const { return weight_of(static_cast<double>(samples)); }
  static double weight_of(double samples) { return samples / (samples + 2); }
};

/// A ratio that was not measured, and how much it counts against the model.
struct Nearby {
  double ratio = 1, weight = 0;
};

class CostHistory {
 public:
  /// Notes one run. Young entries take the mean; old ones forget, so that a changed machine is learnt again.
  void add(const HistoryKey& key, double predicted_us, double measured_us);
  void set(const HistoryKey& key, const Measured& measured) { entries_[key] = measured; }
  /// Null when nothing was measured.
  const Measured* find(const HistoryKey& key) const;
  /// What the same op's next smaller and next larger sizes that were measured say of this one, the less the farther off
  /// they are.
  Nearby nearby(const HistoryKey& key) const;
  const std::map<HistoryKey, Measured>& entries() const { return entries_; }
  bool operator==(const CostHistory&) const = default;

 private:
  std::map<HistoryKey, Measured> entries_;
};

/// The entries as a JSON array; parse_history throws bad_file with the place.
std::string to_json(const CostHistory& history);
CostHistory parse_history(std::string_view json, std::string_view source);

}  // namespace tandem
