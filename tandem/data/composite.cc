#include "tandem/data/composite.h"

#include <algorithm>
#include <cstring>

#include "tandem/data/rows.h"

namespace tandem::data {
namespace {

/// A tensor, or the parts of one, among the leaves of an element.
struct Group {
  enum class Kind : std::uint8_t { dense, ragged, sparse } kind;
  std::size_t first, count;
};

void add_groups(const Structure& structure, std::vector<Group>& out, std::size_t& leaf) {
  const auto count = static_cast<std::size_t>(structure.leaves());
  if (structure.kind() == Structure::Kind::leaf || is_composite(structure)) {
    const bool dense = structure.kind() == Structure::Kind::leaf;
    const auto kind = dense                                   ? Group::Kind::dense
                      : structure.names()[0] == kRaggedValues ? Group::Kind::ragged
                                                              : Group::Kind::sparse;
    out.push_back({kind, leaf, count});
    leaf += count;
    return;
  }
  for (const StructureRef& child : structure.children()) add_groups(*child, out, leaf);
}

std::vector<Group> groups_of(const Structure& structure) {
  std::vector<Group> out;
  std::size_t leaf = 0;
  add_groups(structure, out, leaf);
  return out;
}

/// Values then `levels` splits.
StructureRef ragged_structure(std::size_t levels) {
  std::vector<std::string> names{std::string(kRaggedValues)};
  for (std::size_t i = 0; i < levels; ++i) names.push_back("~ragged/splits" + std::to_string(i));
  const std::vector<StructureRef> children(names.size(), Structure::leaf());
  return Structure::map(std::move(names), children);
}

/// The structure with the levels of its ragged tensors changed by `more`.
StructureRef with_levels(const StructureRef& structure, int more) {
  if (structure->kind() == Structure::Kind::leaf) return structure;
  if (is_composite(*structure)) {
    if (structure->names()[0] != kRaggedValues) return structure;
    return ragged_structure(static_cast<std::size_t>(structure->leaves() - 1 + more));
  }
  std::vector<StructureRef> children;
  for (const StructureRef& child : structure->children()) children.push_back(with_levels(child, more));
  return std::make_shared<Structure>(structure->kind(), structure->names(), std::move(children));
}

LeafSpec vector_of(DType dtype, std::int64_t size) { return {.dtype = dtype, .sizes = {size}}; }
std::int64_t plus(std::int64_t size, std::int64_t more) { return size < 0 ? size : size + more; }

std::vector<std::int64_t> integers(const Tensor& tensor) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(tensor.size()));
  const void* from = tensor.raw_data();
  if (tensor.dtype() == DType::i32) std::copy_n(static_cast<const std::int32_t*>(from), out.size(), out.begin());
  else if (tensor.dtype() == DType::i64) std::copy_n(static_cast<const std::int64_t*>(from), out.size(), out.begin());
  else fail(ErrorCode::dtype_mismatch, "row splits and indices must be int32 or int64, got ", tensor.dtype());
  return out;
}

Tensor integer_tensor(DType dtype, const std::vector<std::int64_t>& values, const Shape& shape) {
  Fresh out = fresh({dtype, shape});
  if (dtype == DType::i32) std::copy(values.begin(), values.end(), reinterpret_cast<std::int32_t*>(out.bytes));
  else std::copy(values.begin(), values.end(), reinterpret_cast<std::int64_t*>(out.bytes));
  return out.tensor;
}
Tensor integer_tensor(DType dtype, const std::vector<std::int64_t>& values) {
  return integer_tensor(dtype, values, Shape({static_cast<std::int64_t>(values.size())}));
}

/// Leaf `at` of each element, one after the other along the first axis.
Leaf joined(const std::vector<Element>& elements, std::size_t at) {
  std::vector<Element> pieces;
  for (const Element& element : elements)
    if (element[at].tensor.shape()[0] > 0 || pieces.empty()) pieces.push_back({element[at]});
  if (pieces.size() > 1 && pieces[0][0].tensor.shape()[0] == 0) pieces.erase(pieces.begin());
  Element out;
  if (pieces.size() == 1) return pieces[0][0];
  join_blocks(pieces, out);
  return out[0];
}

void stack_ragged(const Group& group, const std::vector<Element>& elements, Element& out) {
  const std::size_t levels = group.count - 1;
  const DType dtype = levels ? elements[0][group.first + 1].tensor.dtype() : DType::i64;
  out.push_back(joined(elements, group.first));
  std::vector<std::int64_t> outer{0};
  for (const Element& element : elements) {
    const std::int64_t rows = element[group.first + (levels ? 1 : 0)].tensor.shape()[0] - (levels ? 1 : 0);
    outer.push_back(outer.back() + rows);
  }
  out.emplace_back(integer_tensor(dtype, outer));
  for (std::size_t level = 0; level < levels; ++level) {
    std::vector<std::int64_t> splits{0};
    for (const Element& element : elements) {
      const std::vector<std::int64_t> own = integers(element[group.first + 1 + level].tensor);
      const std::int64_t before = splits.back();
      for (std::size_t i = 1; i < own.size(); ++i) splits.push_back(before + own[i]);
    }
    out.emplace_back(integer_tensor(dtype, splits));
  }
}

void stack_sparse(const Group& group, const std::vector<Element>& elements, Element& out) {
  const std::int64_t axes = elements[0][group.first + 2].tensor.size();
  std::vector<std::int64_t> places, sizes(static_cast<std::size_t>(axes) + 1, 0);
  sizes[0] = static_cast<std::int64_t>(elements.size());
  for (std::size_t e = 0; e < elements.size(); ++e) {
    const std::vector<std::int64_t> own = integers(elements[e][group.first].tensor),
                                    shape = integers(elements[e][group.first + 2].tensor);
    if (static_cast<std::int64_t>(shape.size()) != axes)
      fail(ErrorCode::shape_mismatch, "batch: a sparse tensor has ", axes, " axes in one element and ", shape.size(),
           " in another");
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (i % shape.size() == 0) places.push_back(static_cast<std::int64_t>(e));
      places.push_back(own[i]);
    }
    for (std::size_t axis = 0; axis < shape.size(); ++axis) sizes[axis + 1] = std::max(sizes[axis + 1], shape[axis]);
  }
  const Shape shape({static_cast<std::int64_t>(places.size()) / (axes + 1), axes + 1});
  out.emplace_back(integer_tensor(DType::i64, places, shape));
  out.push_back(joined(elements, group.first + 1));
  out.emplace_back(integer_tensor(DType::i64, sizes));
}

void stack_dense(const Group& group, const std::vector<Element>& elements, Element& out) {
  std::vector<Element> column;
  for (const Element& element : elements) column.push_back({element[group.first]});
  Element stacked;
  stack(std::span<const Element>(column), stacked);
  out.push_back(std::move(stacked[0]));
}

/// Row `index` of a ragged tensor: its values, and the splits below the outermost.
void ragged_row(const Group& group, const Element& element, std::int64_t index, Element& out) {
  if (group.count == 1) {  // already a row: its values are a tensor
    out.emplace_back(row(element[group.first].tensor, index));
    return;
  }
  std::vector<Tensor> below;
  std::vector<std::int64_t> splits = integers(element[group.first + 1].tensor);
  std::int64_t begin = splits[static_cast<std::size_t>(index)], end = splits[static_cast<std::size_t>(index) + 1];
  for (std::size_t level = 1; level + 1 < group.count; ++level) {
    const Tensor& tensor = element[group.first + 1 + level].tensor;
    splits = integers(tensor);
    std::vector<std::int64_t> own(splits.begin() + begin, splits.begin() + end + 1);
    begin = own.front(), end = own.back();
    for (std::int64_t& place : own) place -= begin;
    below.push_back(integer_tensor(tensor.dtype(), own));
  }
  out.emplace_back(rows(element[group.first].tensor, begin, end - begin));
  for (Tensor& tensor : below) out.emplace_back(std::move(tensor));
}

void sparse_row(const Group& group, const Element& element, std::int64_t index, Element& out) {
  const std::vector<std::int64_t> places = integers(element[group.first].tensor),
                                  shape = integers(element[group.first + 2].tensor);
  std::vector<std::int64_t> own, numbers;
  for (std::size_t i = 0; i < places.size(); i += shape.size()) {
    if (places[i] != index) continue;
    numbers.push_back(static_cast<std::int64_t>(i / shape.size()));
    own.insert(own.end(), places.begin() + static_cast<std::ptrdiff_t>(i) + 1,
               places.begin() + static_cast<std::ptrdiff_t>(i + shape.size()));
  }
  const Shape sizes({static_cast<std::int64_t>(numbers.size()), static_cast<std::int64_t>(shape.size()) - 1});
  out.emplace_back(integer_tensor(DType::i64, own, sizes));
  out.emplace_back(gather_rows(element[group.first + 1].tensor, numbers));
  out.emplace_back(integer_tensor(DType::i64, {shape.begin() + 1, shape.end()}));
}

}  // namespace

bool is_composite(const Structure& structure) {
  return structure.kind() == Structure::Kind::map && !structure.names().empty() &&
         structure.names()[0].starts_with(kPart);
}

bool has_composites(const Structure& structure) {
  return is_composite(structure) ||
         std::ranges::any_of(structure.children(), [](const StructureRef& child) { return has_composites(*child); });
}

ElementSpec batched(const ElementSpec& spec, std::int64_t count) {
  ElementSpec out{with_levels(spec.structure, 1), {}};
  for (const Group& group : groups_of(*spec.structure)) {
    const LeafSpec* own = &spec.leaves[group.first];
    if (group.kind == Group::Kind::dense) {
      out.leaves.push_back(own->batched(count));
    } else if (group.kind == Group::Kind::ragged) {
      out.leaves.push_back(*own);
      if (out.leaves.back().ranked) out.leaves.back().sizes[0] = LeafSpec::kUnknown;
      const DType dtype = group.count > 1 ? own[1].dtype : DType::i64;
      out.leaves.push_back(vector_of(dtype, plus(count, 1)));
      for (std::size_t level = 1; level < group.count; ++level)
        out.leaves.push_back(vector_of(dtype, LeafSpec::kUnknown));
    } else {
      const std::int64_t axes =
          own[2].ranked && own[2].sizes.size() == 1 ? plus(own[2].sizes[0], 1) : LeafSpec::kUnknown;
      out.leaves.push_back({.dtype = DType::i64, .sizes = {LeafSpec::kUnknown, axes}});
      out.leaves.push_back(vector_of(own[1].dtype, LeafSpec::kUnknown));
      out.leaves.push_back(vector_of(DType::i64, axes));
    }
  }
  return out;
}

void stack(const Structure& structure, const std::vector<Element>& elements, Element& out) {
  out.clear();
  for (const Group& group : groups_of(structure)) {
    if (group.kind == Group::Kind::dense) stack_dense(group, elements, out);
    else if (group.kind == Group::Kind::ragged) stack_ragged(group, elements, out);
    else stack_sparse(group, elements, out);
  }
}

ElementSpec row_of(const ElementSpec& spec) {
  ElementSpec out{with_levels(spec.structure, -1), {}};
  for (const Group& group : groups_of(*spec.structure)) {
    const LeafSpec* own = &spec.leaves[group.first];
    if (group.kind == Group::Kind::sparse) {
      const std::int64_t axes =
          own[2].ranked && own[2].sizes.size() == 1 ? plus(own[2].sizes[0], -1) : LeafSpec::kUnknown;
      out.leaves.push_back({.dtype = DType::i64, .sizes = {LeafSpec::kUnknown, axes}});
      out.leaves.push_back(vector_of(own[1].dtype, LeafSpec::kUnknown));
      out.leaves.push_back(vector_of(DType::i64, axes));
      continue;
    }
    if (group.kind == Group::Kind::dense && own->ranked && own->sizes.empty())
      fail(ErrorCode::shape_mismatch, "unbatch: a component has no axes: ", *own);
    if (group.kind == Group::Kind::dense) {
      out.leaves.push_back(own->row());
      continue;
    }
    if (group.count == 1)
      fail(ErrorCode::shape_mismatch, "unbatch: a row of a ragged tensor is ", *own,
           "; unbatch it after map(lambda row: row + 0), which makes a tensor of it");
    out.leaves.push_back(*own);
    if (out.leaves.back().ranked) out.leaves.back().sizes[0] = LeafSpec::kUnknown;
    for (std::size_t level = 2; level < group.count; ++level)
      out.leaves.push_back(vector_of(own[level].dtype, LeafSpec::kUnknown));
  }
  return out;
}

std::int64_t count_rows(const Structure& structure, const Element& element) {
  std::int64_t count = -1;
  for (const Group& group : groups_of(structure)) {
    const bool ragged = group.kind == Group::Kind::ragged && group.count > 1;
    const std::int64_t own = group.kind == Group::Kind::sparse ? integers(element[group.first + 2].tensor)[0]
                             : ragged                          ? element[group.first + 1].tensor.size() - 1
                                                               : element[group.first].tensor.shape()[0];
    if (count >= 0 && own != count)
      fail(ErrorCode::shape_mismatch, "the parts of an element must have equally many rows, got ", count, " and ", own);
    count = own;
  }
  return std::max<std::int64_t>(count, 0);
}

void row(const Structure& structure, const Element& element, std::int64_t index, Element& out) {
  out.clear();
  for (const Group& group : groups_of(structure)) {
    if (group.kind == Group::Kind::dense) out.emplace_back(row(element[group.first].tensor, index));
    else if (group.kind == Group::Kind::ragged) ragged_row(group, element, index, out);
    else sparse_row(group, element, index, out);
  }
}

}  // namespace tandem::data
