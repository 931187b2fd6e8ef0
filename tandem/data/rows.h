// Rows of stacked tensors: copied, gathered, joined. Everything that moves elements of datasets is here.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "tandem/data/structure.h"

namespace tandem::data {

/// An uninitialised host tensor, and where to write its values (not for strings).
struct Fresh {
  Tensor tensor;
  std::byte* bytes;
};
Fresh fresh(const TensorSpec& spec);

/// `first` in front of the sizes of `shape`.
Shape with_first_axis(std::int64_t first, const Shape& shape);
/// The same bytes under a shape with or without the first axis.
Tensor without_first_axis(const Tensor& tensor);
Tensor under_shape(const Tensor& tensor, const Shape& shape);

Tensor row(const Tensor& block, std::int64_t index);
Tensor rows(const Tensor& block, std::int64_t begin, std::int64_t count);
/// Rows by number; numbers must be in range.
Tensor gather_rows(const Tensor& block, std::span<const std::int64_t> numbers);

/// Rows of `bytes` each, by number.
void gather_bytes(std::byte* to, const std::byte* from, std::size_t bytes, std::span<const std::int64_t> numbers);

/// The same for every leaf.
void rows(const Element& block, std::int64_t begin, std::int64_t count, Element& out);
void row(const Element& block, std::int64_t index, Element& out);
void gather_rows(const Element& block, std::span<const std::int64_t> numbers, Element& out);
/// Elements of equal shape under a new first axis; throws shape_mismatch naming the component otherwise.
void stack(std::span<const Element> elements, Element& out);
/// Blocks one after the other.
void join_blocks(std::span<const Element> blocks, Element& out);
/// Rows of a block, which all leaves must agree on.
std::int64_t block_rows(const Element& block);

/// Bytes of all tensors, for budgets.
std::size_t bytes_of(const Element& element);

}  // namespace tandem::data
