// Graphs as JSON: what a file of saved functions holds, next to the tensors and variables that the graphs refer to.
#pragma once
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tandem/autodiff/graph_function.h"
#include "tandem/files/npy.h"
#include "tandem/place/json_document.h"

namespace tandem {

/// What graphs of one file share.
struct SavedValues {
  NamedTensors tensors;          // constants, by the names that graphs give them
  std::vector<Ref<Cell>> cells;  // variables, by number
};

/// Writes graphs and gathers what they refer to.
class GraphWriter {
 public:
  /// The graphs of a function, those it calls first: {"graphs": [{"nodes": …, "parameters": …, "results": …, "writes":
  /// …}]}. Throws invalid_argument naming an op that only this process can run.
  nlohmann::ordered_json write(const GraphFunction& function);
  /// Has a number from now on, whether a graph refers to it or not.
  std::size_t number_of(const Ref<Cell>& cell);
  const SavedValues& values() const { return values_; }

 private:
  friend class FunctionWriter;
  std::string name_of(const Tensor& constant);

  SavedValues values_;
  std::map<const Cell*, std::size_t> numbers_;
  std::multimap<std::uint32_t, std::string> names_;  // by checksum
};

/// The function whose graphs `json` lists. Throws bad_file with the place for what no writer wrote.
std::shared_ptr<const GraphFunction> read_graphs(const placer::JsonValue& json, const SavedValues& values);

/// More nodes are refused, in a file that was written or is read.
inline constexpr std::size_t kMostSavedNodes = 500'000;

}  // namespace tandem
