// What the elements of a dataset look like: tensors (or datasets) in nested tuples and maps, kept flat.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

namespace data {
class Node;
using NodeRef = std::shared_ptr<const Node>;
}  // namespace data
struct ElementSpec;

/// Dtype and shape of one leaf; sizes, or the whole shape, may be unknown until elements arrive.
struct LeafSpec {
  static constexpr std::int64_t kUnknown = -1;

  DType dtype = DType::f32;
  bool ranked = true;                          // false: not even the number of axes is known
  std::vector<std::int64_t> sizes;             // kUnknown where an element decides
  std::shared_ptr<const ElementSpec> dataset;  // set: the leaf is a dataset of such elements

  static LeafSpec of(const TensorSpec& spec);
  static LeafSpec unranked(DType dtype) { return {.dtype = dtype, .ranked = false}; }
  bool is_static() const;
  /// Of a static leaf only.
  TensorSpec tensor_spec() const;
  /// With a first axis of `count` in front.
  LeafSpec batched(std::int64_t count) const;
  /// Without the first axis.
  LeafSpec row() const;
  /// What both fit into: sizes that differ become unknown.
  LeafSpec widened(const LeafSpec& other) const;
  /// True when a tensor of this spec may stand here.
  bool accepts(const TensorSpec& spec) const;
  friend bool operator==(const LeafSpec& a, const LeafSpec& b);
};
/// "float32 [?, 784]"
std::ostream& operator<<(std::ostream& out, const LeafSpec& spec);

/// A tree of tuples and maps; its leaves are numbered from left to right. Tuples may have names too: named tuples of
/// Python.
class Structure {
 public:
  enum class Kind : std::uint8_t { leaf, tuple, map };

  static std::shared_ptr<const Structure> leaf();
  static std::shared_ptr<const Structure> tuple(std::vector<std::shared_ptr<const Structure>> children);
  /// Names stay in the order given.
  static std::shared_ptr<const Structure> map(std::vector<std::string> names,
                                              std::vector<std::shared_ptr<const Structure>> children);
  Structure(Kind kind, std::vector<std::string> names, std::vector<std::shared_ptr<const Structure>> children);

  Kind kind() const { return kind_; }
  int leaves() const { return leaves_; }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<std::shared_ptr<const Structure>>& children() const { return children_; }
  /// "(., {x: ., y: .})"
  std::string to_string() const;
  friend bool operator==(const Structure& a, const Structure& b);

 private:
  Kind kind_;
  int leaves_ = 0;
  std::vector<std::string> names_;
  std::vector<std::shared_ptr<const Structure>> children_;
};
using StructureRef = std::shared_ptr<const Structure>;

/// What a dataset's elements are known to be before they are there.
struct ElementSpec {
  StructureRef structure = Structure::leaf();
  std::vector<LeafSpec> leaves;

  bool is_static() const;
  ElementSpec batched(std::int64_t count) const;
  std::string to_string() const;
  friend bool operator==(const ElementSpec& a, const ElementSpec& b);
};

/// A tensor, or a dataset: what window() puts into its elements.
struct Leaf {
  Tensor tensor;
  data::NodeRef dataset;

  Leaf() = default;
  Leaf(Tensor value) : tensor(std::move(value)) {}              // NOLINT: an element is mostly tensors
  explicit Leaf(data::NodeRef value) : dataset(std::move(value)) {}
};

/// The leaves of one element, or of a block of elements stacked along a first axis.
using Element = std::vector<Leaf>;

class Dataset;

/// One element with its structure: what map functions take and give, and what iterating yields.
class Value {
 public:
  Value() = default;
  Value(Tensor tensor);           // NOLINT: a tensor is an element
  Value(const Dataset& dataset);  // NOLINT: so is a dataset, for flat_map
  Value(StructureRef structure, Element leaves) : structure_(std::move(structure)), leaves_(std::move(leaves)) {}
  static Value tuple(std::vector<Value> items);
  static Value map(std::vector<std::pair<std::string, Value>> items);

  const StructureRef& structure() const { return structure_; }
  const Element& leaves() const { return leaves_; }
  Element& leaves() { return leaves_; }
  /// Items of a tuple or map; 1 for a leaf.
  std::size_t size() const;
  /// The only tensor; throws when there are several or it is a dataset.
  const Tensor& tensor() const;
  Dataset dataset() const;
  Value operator[](std::size_t item) const;
  Value operator[](std::string_view name) const;
  ElementSpec spec() const;

 private:
  StructureRef structure_ = Structure::leaf();
  Element leaves_;
};

}  // namespace tandem
