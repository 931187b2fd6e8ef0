#include "tandem/place/history.h"

#include <algorithm>
#include <cmath>

namespace tandem {
namespace {

constexpr std::int64_t kMemory =
    16;  // samples that the mean is about: what was learnt under other load is forgotten within 50
constexpr std::int64_t kKnown = 8;    // samples after which one that is far off is taken for a disturbance
constexpr double kFar = 1.5;  // and counts as this much: a machine that changed fourfold is still learnt within 50

}  // namespace

int size_bucket(double flops, double bytes) {
  const double work = flops + bytes;
  return work < 1 ? 0 : static_cast<int>(std::floor(std::log2(work))) + 1;
}

void CostHistory::add(const HistoryKey& key, double predicted_us, double measured_us) {
  if (!(predicted_us > 0) || !(measured_us >= 0) || !std::isfinite(measured_us))
    return;  // a broken clock teaches nothing
  Measured& entry = entries_[key];
  entry.samples += 1;
  const double share = 1.0 / static_cast<double>(std::min(entry.samples, kMemory));
  double ratio = measured_us / predicted_us;
  if (entry.samples > kKnown) ratio = std::clamp(ratio, entry.ratio / kFar, entry.ratio * kFar);
  entry.ratio += (ratio - entry.ratio) * share;
}

Nearby CostHistory::nearby(const HistoryKey& key) const {
  double logs = 0, counts = 0;
  const auto consider = [&](const HistoryKey& other, const Measured& measured) {
    if (other.device != key.device || other.bucket == key.bucket || !(measured.ratio > 0)) return false;
    // A size twice as far from this one says half as much.
    const double count = std::ldexp(static_cast<double>(measured.samples), -std::abs(other.bucket - key.bucket));
    logs += count * std::log(measured.ratio);
    counts += count;
    return true;
  };
  const auto of_this_op = [&](const HistoryKey& other) { return other.op == key.op && other.dtype == key.dtype; };
  const auto here = entries_.lower_bound(key);
  for (auto larger = here; larger != entries_.end() && of_this_op(larger->first); ++larger)
    if (consider(larger->first, larger->second)) break;
  for (auto smaller = here; smaller != entries_.begin() && of_this_op((--smaller)->first);)
    if (consider(smaller->first, smaller->second)) break;
  return counts > 0 ? Nearby{std::exp(logs / counts), Measured::weight_of(counts)} : Nearby{};
}

const Measured* CostHistory::find(const HistoryKey& key) const {
  const auto at = entries_.find(key);
  return at == entries_.end() ? nullptr : &at->second;
}

}  // namespace tandem
