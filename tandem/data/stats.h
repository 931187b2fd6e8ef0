// What a pass over a dataset did, stage by stage.
#pragma once
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace tandem {

struct StageStats {
  std::string name;                  // "Map"
  int depth = 0;                     // 0: what the consumer reads; inputs are one deeper
  std::uint64_t elements = 0;
  double elements_per_second = 0;
  double busy_seconds = 0;           // in the stage itself, over all its threads
  double wait_seconds = 0;           // its reader waited for the buffer to fill
  std::int64_t buffered = 0;         // elements in the buffer now
  std::int64_t capacity = 0;         // of the buffer; 0: none
  std::int64_t errors_skipped = 0;   // by ignore_errors
  int workers = 0;                   // threads; 0: the reader's own
  double cores = 0;                  // kept busy on average
};

struct DatasetStats {
  std::vector<StageStats> stages;  // what the consumer reads first
  double seconds = 0;              // since the pass began
  double consumer_wait = 0;        // share of that which the consumer spent waiting for input, 0 … 1
  std::string bottleneck;          // name of the stage that takes longest
  std::string remedy;              // what to do about it
  std::string to_string() const;
};
std::ostream& operator<<(std::ostream& out, const DatasetStats& stats);

}  // namespace tandem
