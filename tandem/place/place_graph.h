// What the placer reads: nodes with their cost per device, the values between them, and what was asked for.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/place/cost.h"

namespace tandem {

/// A node runs on the devices of its costs, each given in µs; with `work` instead of costs, on every device that
/// does not refuse it, for what the cost model says.
struct PlaceNode {
  struct Cost {
    std::string device;
    double us = 0;
  };
  struct Refusal {
    std::string device;
    std::string reason;  // "no kernel for float64"
  };
  std::string id;
  std::vector<Cost> costs{};
  std::optional<OpWork> work{};
  std::vector<Refusal> refusals{};
  std::int64_t memory = 0;                  // bytes of its output
  std::string requested{};                  // device asked for; empty when nobody asked
  std::optional<std::int32_t> together{};   // index of a node whose device it must share
  bool host_value = false;                  // small and made from host data: stays on the first CPU unless asked
};

/// `to` reads the output of `from`; `bytes` cross when they are on different devices.
struct PlaceEdge {
  std::int32_t from = 0, to = 0;
  std::int64_t bytes = 0;
};

struct PlaceGraph {
  std::vector<PlaceNode> nodes{};
  std::vector<PlaceEdge> edges{};
};

/// What holds beside the graph's own requests.
struct Constraints {
  bool soft = false;                   // a request that cannot be met gives way, with the reason
  std::vector<std::string> visible{};  // devices that may be used; empty: all
  struct Slowdown {
    std::string device;
    double factor = 1;  // measured / predicted: above 1 when others use the device too
  };
  std::vector<Slowdown> contention{};
  bool thorough = false;  // search longer than a program that waits for its plan may: some 70 ms for 100 nodes
};

inline constexpr std::size_t kMostPlaceNodes = 200'000;
inline constexpr std::size_t kMostPlaceEdges = 2'000'000;

/// Throws bad_file with the place when `json` is no graph; `source` is the name for messages.
PlaceGraph parse_place_graph(std::string_view json, std::string_view source);
PlaceGraph read_place_graph(const std::string& path);
std::string to_json(const PlaceGraph& graph);

}  // namespace tandem
