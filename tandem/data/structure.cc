#include "tandem/data/structure.h"

#include <algorithm>
#include <ostream>

#include "tandem/data/dataset.h"
#include "tandem/data/node.h"

namespace tandem {

LeafSpec LeafSpec::of(const TensorSpec& spec) {
  return {.dtype = spec.dtype(), .sizes = {spec.shape().begin(), spec.shape().end()}};
}

bool LeafSpec::is_static() const { return !dataset && ranked && !std::ranges::count(sizes, kUnknown); }

TensorSpec LeafSpec::tensor_spec() const {
  TANDEM_CHECK(is_static(), "the spec ", *this, " is not static");
  return {dtype, Shape(std::span<const std::int64_t>(sizes))};
}

LeafSpec LeafSpec::batched(std::int64_t count) const {
  LeafSpec out = *this;
  if (ranked) out.sizes.insert(out.sizes.begin(), count);
  return out;
}

LeafSpec LeafSpec::row() const {
  LeafSpec out = *this;
  if (out.ranked && !out.sizes.empty()) out.sizes.erase(out.sizes.begin());
  return out;
}

LeafSpec LeafSpec::widened(const LeafSpec& other) const {
  if (!ranked || !other.ranked || sizes.size() != other.sizes.size()) return unranked(dtype);
  LeafSpec out = *this;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != other.sizes[i]) out.sizes[i] = kUnknown;
  return out;
}

bool LeafSpec::accepts(const TensorSpec& spec) const {
  if (dataset || spec.dtype() != dtype) return false;
  if (!ranked) return true;
  if (static_cast<std::size_t>(spec.shape().rank()) != sizes.size()) return false;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != kUnknown && sizes[i] != spec.shape()[static_cast<int>(i)]) return false;
  return true;
}

bool operator==(const LeafSpec& a, const LeafSpec& b) {
  if (!a.dataset != !b.dataset) return false;
  if (a.dataset) return *a.dataset == *b.dataset;
  return a.dtype == b.dtype && a.ranked == b.ranked && a.sizes == b.sizes;
}

std::ostream& operator<<(std::ostream& out, const LeafSpec& spec) {
  if (spec.dataset) return out << "dataset of " << spec.dataset->to_string();
  out << spec.dtype << " ";
  if (!spec.ranked) return out << "?";
  const char* gap = "[";
  for (std::int64_t size : spec.sizes) {
    out << gap;
    if (size == LeafSpec::kUnknown) out << "?";
    else out << size;
    gap = ", ";
  }
  return out << (spec.sizes.empty() ? "[]" : "]");
}

// --- Structure. ---

Structure::Structure(Kind kind, std::vector<std::string> names, std::vector<StructureRef> children)
    : kind_(kind),
      leaves_(kind == Kind::leaf),
      names_(std::move(names)),
      children_(std::move(children)) {
  for (const StructureRef& child : children_) leaves_ += child->leaves();
}

StructureRef Structure::leaf() {
  static const StructureRef one =
      std::make_shared<Structure>(Kind::leaf, std::vector<std::string>{}, std::vector<StructureRef>{});
  return one;
}

StructureRef Structure::tuple(std::vector<StructureRef> children) {
  return std::make_shared<Structure>(Kind::tuple, std::vector<std::string>{}, std::move(children));
}

StructureRef Structure::map(std::vector<std::string> names, std::vector<StructureRef> children) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::count(names.begin(), names.end(), names[i]) > 1)
      fail(ErrorCode::invalid_argument, "a map names its items; '", names[i], "' is there twice");
  return std::make_shared<Structure>(Kind::map, std::move(names), std::move(children));
}

std::string Structure::to_string() const {
  if (kind_ == Kind::leaf) return ".";
  if (children_.empty() && names_.size() == 1) return names_[0];  // None
  std::string out(1, kind_ == Kind::tuple ? '(' : '{');
  for (std::size_t i = 0; i < children_.size(); ++i) {
    if (i) out += ", ";
    if (kind_ == Kind::map) out += names_[i] + ": ";
    out += children_[i]->to_string();
  }
  return out + (kind_ == Kind::tuple ? ')' : '}');
}

bool operator==(const Structure& a, const Structure& b) {
  if (&a == &b) return true;
  return a.kind_ == b.kind_ && a.names_ == b.names_ &&
         std::ranges::equal(a.children_, b.children_, [](const auto& x, const auto& y) { return *x == *y; });
}

bool ElementSpec::is_static() const {
  return std::ranges::all_of(leaves, [](const LeafSpec& leaf) { return leaf.is_static(); });
}

ElementSpec ElementSpec::batched(std::int64_t count) const {
  ElementSpec out{structure, {}};
  for (const LeafSpec& leaf : leaves) out.leaves.push_back(leaf.batched(count));
  return out;
}

std::string ElementSpec::to_string() const {
  if (structure->kind() == Structure::Kind::leaf) return text(leaves[0]);
  return structure->to_string() + " of " + join(leaves);
}

bool operator==(const ElementSpec& a, const ElementSpec& b) {
  return *a.structure == *b.structure && a.leaves == b.leaves;
}

// --- Value. ---

Value::Value(Tensor tensor) { leaves_.emplace_back(std::move(tensor)); }
Value::Value(const Dataset& dataset) { leaves_.emplace_back(dataset.node()); }

Value Value::tuple(std::vector<Value> items) {
  std::vector<StructureRef> children;
  Element leaves;
  for (Value& item : items) {
    children.push_back(item.structure_);
    std::ranges::move(item.leaves_, std::back_inserter(leaves));
  }
  return {Structure::tuple(std::move(children)), std::move(leaves)};
}

Value Value::map(std::vector<std::pair<std::string, Value>> items) {
  std::vector<std::string> names;
  std::vector<StructureRef> children;
  Element leaves;
  for (auto& [name, item] : items) {
    names.push_back(std::move(name));
    children.push_back(item.structure_);
    std::ranges::move(item.leaves_, std::back_inserter(leaves));
  }
  return {Structure::map(std::move(names), std::move(children)), std::move(leaves)};
}

std::size_t Value::size() const {
  return structure_->kind() == Structure::Kind::leaf ? 1 : structure_->children().size();
}

const Tensor& Value::tensor() const {
  if (leaves_.size() != 1 || !leaves_[0].tensor.defined())
    fail(ErrorCode::invalid_argument, "a single tensor was needed, the element is ", spec().to_string());
  return leaves_[0].tensor;
}

Dataset Value::dataset() const {
  if (leaves_.size() != 1 || !leaves_[0].dataset)
    fail(ErrorCode::invalid_argument, "a dataset was needed, the element is ", spec().to_string());
  return Dataset(leaves_[0].dataset);
}

Value Value::operator[](std::size_t item) const {
  if (structure_->kind() == Structure::Kind::leaf || item >= structure_->children().size())
    fail(ErrorCode::index_out_of_range, "item ", item, " of an element with structure ", structure_->to_string());
  std::size_t first = 0;
  for (std::size_t i = 0; i < item; ++i) first += static_cast<std::size_t>(structure_->children()[i]->leaves());
  const StructureRef& child = structure_->children()[item];
  const auto begin = leaves_.begin() + static_cast<std::ptrdiff_t>(first);
  return {child, Element(begin, begin + child->leaves())};
}

Value Value::operator[](std::string_view name) const {
  const auto& names = structure_->names();
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    fail(ErrorCode::index_out_of_range, "no item '", name, "' in an element with structure ", structure_->to_string());
  return (*this)[static_cast<std::size_t>(found - names.begin())];
}

ElementSpec Value::spec() const {
  ElementSpec out{structure_, {}};
  for (const Leaf& leaf : leaves_) {
    if (leaf.dataset) out.leaves.push_back({.dataset = std::make_shared<ElementSpec>(leaf.dataset->spec())});
    else out.leaves.push_back(LeafSpec::of(leaf.tensor.spec()));
  }
  return out;
}

}  // namespace tandem
