// Steps of a search that put nodes on other devices, and take that back.
#pragma once
#include <array>
#include <bit>

#include "tandem/place/search_parts.h"

namespace tandem::placer {

/// For a search `Self` that has `assignment`, which is changed, and `about_to_move(node, device)`, called before a node
/// is assigned.
template <class Self>
class DeviceMoves {
 protected:
  DeviceMoves(const Problem& problem, std::uint64_t seed)
      : p_(problem),
        random_(seed),
        clusters_{Clusters(problem, 4), Clusters(problem, 12), Clusters(problem, 36)} {}

  static std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

  /// Mostly one without slack.
  std::int32_t some_node() {
    if (random_.below(4) == 0) return static_cast<std::int32_t>(random_.below(at(p_.nodes)));
    return critical_[random_.below(critical_.size())];
  }

  void elsewhere_with_cluster(std::int32_t node) {
    const int device = other_device(node);
    if (device < 0) return;
    for (const std::int32_t v : clusters_[random_.below(clusters_.size())].of(node))
      if (device_of(v) != device && p_.may(v, device)) assign(v, device);
  }

  /// With all on its present device that it reaches over edges of at least some size, up to some number of nodes: what
  /// then crosses is small.
  void elsewhere_with_component(std::int32_t node) {
    const int device = other_device(node);
    if (device < 0 || p_.consumers.list.empty()) return;
    const int home = device_of(node);
    const std::int64_t least = p_.consumers.list[random_.below(p_.consumers.list.size())].bytes;
    const std::size_t most = std::size_t{2}
                             << random_.below(static_cast<std::size_t>(std::bit_width(at(p_.nodes))) - 1);
    reached_.assign(1, node);
    assign(node, device);
    for (std::size_t i = 0; i < reached_.size(); ++i)
      for (const Adjacency* edges : {&p_.inputs, &p_.consumers})
        for (const Neighbour& n : (*edges)[reached_[i]]) {
          if (n.bytes < least || reached_.size() >= most || device_of(n.node) != home || !p_.may(n.node, device))
            continue;
          assign(n.node, device);
          reached_.push_back(n.node);
        }
  }

  /// Together with what it talks to on its present device: one node alone would pay for crossings both ways.
  void elsewhere_with_neighbours(std::int32_t node) {
    const int device = other_device(node);
    if (device < 0) return;
    const int home = device_of(node);
    assign(node, device);
    const bool forth = random_.below(2) == 0, far = random_.below(2) == 0;
    for (int steps = far ? 4 : 1; steps > 0 && node >= 0; --steps) {
      const auto around = forth ? p_.consumers[node] : p_.inputs[node];
      node = -1;
      for (const Neighbour& n : around) {
        if (device_of(n.node) != home || !p_.may(n.node, device)) continue;
        assign(n.node, device);
        node = n.node;
      }
    }
  }

  /// Where links are missing, what the moved nodes talk to follows them to where there is a way; false: there is none
  /// nearby.
  bool follow_links() {
    if (p_.all_linked) return true;
    for (std::size_t i = 0; i < changed_.size(); ++i) {
      if (i > kMostFollowing) return false;
      for (const std::int32_t v : p_.members[at(changed_[i].group)]) {
        for (const Neighbour& input : p_.inputs[v])
          if (!p_.linked(device_of(input.node), device_of(v)) && !bring_near(input.node, v, true)) return false;
        for (const Neighbour& c : p_.consumers[v])
          if (!p_.linked(device_of(v), device_of(c.node)) && !bring_near(c.node, v, false)) return false;
      }
    }
    return true;
  }

  void take_back_devices() {
    for (auto it = changed_.rbegin(); it != changed_.rend(); ++it)
      for (const std::int32_t v : p_.members[at(it->group)]) self().assignment()[at(v)] = it->device;
  }

  /// With all that has to be on the same device.
  void assign(std::int32_t node, int device) {
    const std::int32_t group = p_.group[at(node)];
    changed_.push_back({group, static_cast<std::uint8_t>(device_of(p_.members[at(group)][0]))});
    for (const std::int32_t v : p_.members[at(group)]) {
      self().about_to_move(v, device);
      self().assignment()[at(v)] = static_cast<std::uint8_t>(device);
    }
  }

  /// Of a mask of devices, at random; -1: of none.
  int one_of(std::uint64_t mask) {
    const int count = __builtin_popcountll(mask);
    if (count == 0) return -1;
    for (std::uint32_t skip = random_.below(at(count)); skip > 0; --skip) mask &= mask - 1;
    return __builtin_ctzll(mask);
  }

  struct Changed {
    std::int32_t group;
    std::uint8_t device;  // before
  };

  const Problem& p_;
  Random random_;
  std::vector<std::int32_t> critical_;  // nodes without slack
  std::vector<Changed> changed_;  // by the present step

 private:
  static constexpr std::size_t kMostFollowing = 32;

  Self& self() { return static_cast<Self&>(*this); }
  int device_of(std::int32_t node) { return self().assignment()[at(node)]; }

  /// Puts `node` on a device from which there is a link to that of `other`, or the other way round; often on the same.
  bool bring_near(std::int32_t node, std::int32_t other, bool is_input) {
    std::uint64_t mask = 0;
    for (int d = 0; d < p_.devices; ++d)
      if (p_.may(node, d) && (is_input ? p_.linked(d, device_of(other)) : p_.linked(device_of(other), d)))
        mask |= std::uint64_t{1} << d;
    const bool together = random_.below(2) == 0 && mask >> device_of(other) & 1;
    const int device = together ? device_of(other) : one_of(mask);
    if (device < 0 || device == device_of(node)) return false;
    assign(node, device);
    return true;
  }

  int other_device(std::int32_t node) { return one_of(p_.allowed[at(node)] & ~(std::uint64_t{1} << device_of(node))); }

  std::array<Clusters, 3> clusters_;
  std::vector<std::int32_t> reached_;
};

}  // namespace tandem::placer
