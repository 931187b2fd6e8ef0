// What the searches share: random numbers that are the same everywhere, and nodes that should move together.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/place/problem.h"

namespace tandem::placer {

/// SplitMix64: small, good enough, and the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint32_t below(std::size_t count) {
    return static_cast<std::uint32_t>((static_cast<unsigned __int128>(next()) * count) >> 64);
  }
  /// -log of a number between 0 and 1.
  double exponential() { return -std::log((static_cast<double>(next() >> 11) + 0.5) * 0x1p-53); }

 private:
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

/// Nodes that talk much to each other, in clusters of at most `most`: what should move together.
class Clusters {
  static std::size_t index(std::int32_t node) { return static_cast<std::size_t>(node); }

 public:
  Clusters(const Problem& problem, std::size_t most)
      : cluster_(static_cast<std::size_t>(problem.nodes)),
        members_(static_cast<std::size_t>(problem.nodes)) {
    struct Edge {
      std::int64_t bytes;
      std::int32_t from, to;
    };
    std::vector<Edge> edges;
    for (int v = 0; v < problem.nodes; ++v) {
      cluster_[index(v)] = v;
      members_[index(v)] = {v};
      for (const Neighbour& c : problem.consumers[v]) edges.push_back({c.bytes, v, c.node});
    }
    std::ranges::stable_sort(edges, [](const Edge& a, const Edge& b) { return a.bytes > b.bytes; });
    for (const Edge& e : edges) {
      std::int32_t large = cluster_[index(e.from)], small = cluster_[index(e.to)];
      if (large == small || members_[index(large)].size() + members_[index(small)].size() > most) continue;
      if (members_[index(large)].size() < members_[index(small)].size()) std::swap(large, small);
      for (const std::int32_t v : members_[index(small)]) cluster_[index(v)] = large;
      members_[index(large)].insert(members_[index(large)].end(), members_[index(small)].begin(),
                                    members_[index(small)].end());
      members_[index(small)].clear();
    }
  }
  std::span<const std::int32_t> of(std::int32_t node) const { return members_[index(cluster_[index(node)])]; }

 private:
  std::vector<std::int32_t> cluster_;  // [node]
  std::vector<std::vector<std::int32_t>> members_;
};

}  // namespace tandem::placer
