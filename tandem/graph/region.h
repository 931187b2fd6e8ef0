// Which ops of a graph can run as one: a region of elementwise ops, with a reduction after it or a product before it.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "tandem/graph/graph.h"

namespace tandem {

class Region;

/// Who reads what each node makes, and what the regions found so far change: where in the order of the nodes a value is
/// there, and where a node reads.
struct Uses {
  explicit Uses(const Graph& graph);
  void note(const Region& region);

  std::vector<std::vector<std::int32_t>> by_nodes;  // a node that reads it twice is there twice
  std::vector<int> in_all;  // also by results and variables
  std::vector<bool> taken;  // part of a region
  std::vector<std::int32_t> available, read_at;  // a node
};

/// True of an op that a region may be made of.
bool is_elementwise(const Node& node);
/// True of a cast that generated code cannot do: between lanes of two widths, or between integers and floats of 64
/// bits.
bool is_hard_cast(const Graph& graph, const Node& node);
/// What an operand of a region really reads: a broadcast is part of how the loop walks.
GraphValue through_broadcast(const Graph& graph, GraphValue value);

/// For each node how many elementwise ops after a product it stands, as far as a region reaches; 0 when there is none.
std::vector<int> steps_behind_products(const Graph& graph);

/// One region on its way: nodes join from the end backwards.
class Region {
 public:
  /// With `root`, an elementwise node, as the last one.
  Region(const Graph& graph, const Uses& uses, std::int32_t root);
  /// With the reduction of `root` at the end; nothing but that is stored.
  static std::optional<Region> reduced(const Graph& graph, const Uses& uses, std::int32_t reduction);

  const std::set<std::int32_t>& members() const { return members_; }
  std::int32_t root() const { return *members_.rbegin(); }
  /// Members before the root that others read too.
  const std::vector<std::int32_t>& stored() const { return stored_; }
  /// The node before which the region has to run: its last, or the first that reads a stored value.
  std::int32_t position() const { return position_; }
  std::int32_t last() const { return reduction_ < 0 ? root() : reduction_; }
  std::int32_t reduction() const { return reduction_; }  // -1: none
  std::int32_t product() const { return product_; }  // -1: none

  /// Takes in the product that the region begins with, if there is one.
  void take_product();

 private:
  Region(const Graph& graph, const Uses& uses, std::int32_t root, std::int32_t reduction);
  const Node& node(std::int32_t at) const { return graph_->nodes[static_cast<std::size_t>(at)]; }
  void grow();
  bool fits(std::int32_t at) const;
  bool width_agrees(const Node& node) const;
  bool is_read_outside(std::int32_t at) const;
  std::int32_t first_reader(std::int32_t at) const;
  void add(std::int32_t at);
  bool can_be_reduced() const;
  bool serves_product(std::int32_t product) const;

  const Graph* graph_;
  const Uses* uses_;
  int width_ = 0;  // bytes of a lane, 0 while there are masks only
  std::set<std::int32_t> members_;
  std::vector<std::int32_t> stored_;
  std::int32_t position_, reduction_, product_ = -1;
  bool is_early_ = false;  // something it stores is read where it runs, or runs before its last node for that
  std::set<GraphValue> outside_;
  std::map<std::int32_t, int> uses_inside_;
};

}  // namespace tandem
