// Turns an order and an assignment into a timeline: each node, and each copy it needs, at the earliest time that is
// free.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/place/lane.h"
#include "tandem/place/memory_profile.h"
#include "tandem/place/problem.h"

namespace tandem::placer {

using Order = std::vector<std::int32_t>;        // every node once, inputs first
using Assignment = std::vector<std::uint8_t>;  // [node] device

/// A value's way to another device.
struct Copy {
  std::int32_t node;
  std::uint8_t from, to;
  std::int64_t bytes;
  double start, end;
};

/// What kept an order from being carried out.
struct Shortage {
  std::int32_t node = -1;
  std::uint8_t device = 0;
  std::int64_t missing = 0;  // bytes
};

/// Keeps its arrays between runs: a search decodes thousands of times.
class Decoder {
 public:
  explicit Decoder(const Problem& problem);

  /// The makespan; kNever when links or memory do not allow it, or once it is certain not to fall below `bound`.
  /// A node whose inputs lie elsewhere brings its copies with it, each inserted into the first gap of its link.
  double run(std::span<const std::int32_t> order, std::span<const std::uint8_t> assignment, double bound = kNever);

  /// Whether links and memory allow it with nothing waiting for memory; then the timeline is the same as without
  /// limits.
  bool fits_without_waiting(std::span<const std::int32_t> order, std::span<const std::uint8_t> assignment);

  // Of the last run that was carried to its end.
  std::span<const double> starts() const { return start_; }
  std::span<const double> ends() const { return end_; }
  std::span<const Copy> copies() const { return copies_; }
  /// Nodes decoded so far, in all runs: the measure of a search's effort.
  std::int64_t work() const { return work_; }
  /// Why the last run returned kNever, when memory was the cause; its node is -1 otherwise.
  const Shortage& shortage() const { return shortage_; }

 private:
  double decode(std::span<const std::int32_t> order, std::span<const std::uint8_t> assignment, double bound);
  bool fits_memory(std::span<const std::uint8_t> assignment);
  void note_reads(std::span<const std::uint8_t> assignment);
  void reset(std::span<const std::uint8_t> assignment);
  void count_readers(std::span<const std::uint8_t> assignment);
  double arrive(int node, int device, std::span<const std::uint8_t> assignment);
  double fits_from(int node, int device, double ready);
  void release_inputs(int node, int device, std::span<const std::uint8_t> assignment);
  void read_done(int value, int device, double time);

  const Problem& problem_;
  std::vector<Lane> device_lanes_, link_lanes_;
  std::vector<MemoryProfile> profiles_;     // [device]
  std::vector<double> start_, end_;         // [node]
  std::vector<double> arrival_;             // [node, device]; negative: not there
  std::vector<std::int32_t> readers_;       // [node, device]: consumers and copies still to come
  std::vector<double> last_read_;           // [node, device]
  bool waits_ = false;                      // for memory
  struct Change {
    double time;
    std::int64_t bytes;
  };
  std::vector<Change> changes_;             // of what a device holds
  std::vector<Copy> copies_;
  Shortage shortage_;
  std::int64_t work_ = 0;
};

}  // namespace tandem::placer
