#include "tandem/data/rows.h"

#include <algorithm>
#include <cstring>

#include "tandem/base/cores.h"
#include "tandem/core/tensor.h"

namespace tandem::data {
namespace {

const Decision* data_decision() {
  static const Decision* decision =
      intern({.op = "dataset", .device = "/CPU:0", .kernel = "", .reason = ReasonCode::host_value});
  return decision;
}

Shape row_shape(const Tensor& block) {
  if (block.rank() == 0)
    fail(ErrorCode::shape_mismatch, "a tensor without axes has no rows: ", block.spec(),
         " cannot be cut into elements");
  return Shape(block.shape().sizes().subspan(1));
}

Tensor gather_strings(const Tensor& block, const Shape& row, std::span<const std::int64_t> numbers) {
  const auto& all = block.strings();
  const auto each = static_cast<std::size_t>(row.elements());
  std::vector<std::string> out;
  out.reserve(numbers.size() * each);
  for (std::int64_t number : numbers) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(number) * each);
    out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(each));
  }
  return Tensor::from_strings(std::move(out), with_first_axis(static_cast<std::int64_t>(numbers.size()), row));
}

/// Copies rows of a fixed size; a random row misses the caches, so rows further on are asked for early: into the second
/// cache, since the first can wait for few lines at a time (3 kB rows on one core: 21 GB/s, 12 into the first).
template <class Copy>
void copy_rows(std::byte* to, const std::byte* from, std::size_t bytes, std::span<const std::int64_t> numbers,
               Copy copy) {
  const std::size_t ahead = bytes >= 1024 ? 2 : 6;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i + ahead < numbers.size()) {
      const std::byte* soon = from + static_cast<std::size_t>(numbers[i + ahead]) * bytes;
      for (std::size_t line = 0; line < bytes && line < 4096; line += 64) __builtin_prefetch(soon + line, 0, 2);
    }
    copy(to + i * bytes, from + static_cast<std::size_t>(numbers[i]) * bytes);
  }
}

void gather_piece(std::byte* to, const std::byte* from, std::size_t bytes, std::span<const std::int64_t> numbers) {
  switch (bytes) {  // labels and the like: a plain load and store
    case 1: return copy_rows(to, from, 1, numbers, [](auto* t, auto* f) { std::memcpy(t, f, 1); });
    case 4: return copy_rows(to, from, 4, numbers, [](auto* t, auto* f) { std::memcpy(t, f, 4); });
    case 8: return copy_rows(to, from, 8, numbers, [](auto* t, auto* f) { std::memcpy(t, f, 8); });
    default: return copy_rows(to, from, bytes, numbers, [bytes](auto* t, auto* f) { std::memcpy(t, f, bytes); });
  }
}

const std::byte* bytes_at(const Tensor& tensor) { return static_cast<const std::byte*>(tensor.raw_data()); }

/// Tensors one after the other along the first axis they have (join) or get (stack).
Tensor append(std::span<const Tensor* const> parts, const Shape& shape) {
  const DType dtype = parts[0]->dtype();
  if (dtype == DType::string) {
    std::vector<std::string> all;
    all.reserve(static_cast<std::size_t>(shape.elements()));
    for (const Tensor* part : parts) all.insert(all.end(), part->strings().begin(), part->strings().end());
    return Tensor::from_strings(std::move(all), shape);
  }
  Fresh out = fresh({dtype, shape});
  std::byte* at = out.bytes;
  for (const Tensor* part : parts) {
    const std::size_t bytes = part->spec().bytes();
    if (bytes) std::memcpy(at, part->raw_data(), bytes);
    at += bytes;
  }
  return out.tensor;
}

const Tensor& tensor_of(const Leaf& leaf, std::size_t component) {
  if (leaf.dataset)
    fail(ErrorCode::invalid_argument, "component ", component,
         " is a dataset, which cannot be batched; use flat_map with batch to turn each window into a tensor");
  return leaf.tensor;
}

}  // namespace

void gather_bytes(std::byte* to, const std::byte* from, std::size_t bytes, std::span<const std::int64_t> numbers) {
  // One thread does not use all of the memory's bandwidth: large blocks are shared with the pool.
  constexpr std::size_t kPiece = std::size_t{256} << 10;
  const std::size_t each = std::max<std::size_t>(kPiece / std::max<std::size_t>(bytes, 1), 1);
  const std::size_t pieces = (numbers.size() + each - 1) / each;
  parallel(static_cast<std::int64_t>(pieces), [&](std::int64_t piece) {
    const std::size_t begin = static_cast<std::size_t>(piece) * each;
    gather_piece(to + begin * bytes, from, bytes, numbers.subspan(begin, std::min(each, numbers.size() - begin)));
  });
}

Fresh fresh(const TensorSpec& spec) {
  Tensor tensor = Tensor::uninitialized(spec, host_memory(), data_decision());
  auto* bytes = static_cast<std::byte*>(tensor.impl()->storage->address());
  return {std::move(tensor), bytes};
}

Shape with_first_axis(std::int64_t first, const Shape& shape) {
  std::array<std::int64_t, kMaxRank + 1> sizes{first};
  std::copy(shape.begin(), shape.end(), sizes.begin() + 1);
  return Shape(std::span<const std::int64_t>(sizes.data(), static_cast<std::size_t>(shape.rank() + 1)));
}

Tensor under_shape(const Tensor& tensor, const Shape& shape) {
  return Tensor(Ref<TensorImpl>(
      new TensorImpl({tensor.dtype(), shape}, tensor.impl()->storage, data_decision(), {next_value_id()})));
}

Tensor without_first_axis(const Tensor& tensor) { return under_shape(tensor, row_shape(tensor)); }

Tensor row(const Tensor& block, std::int64_t index) { return without_first_axis(rows(block, index, 1)); }

Tensor rows(const Tensor& block, std::int64_t begin, std::int64_t count) {
  const Shape row = row_shape(block), shape = with_first_axis(count, row);
  if (begin == 0 && count == block.shape()[0]) return block;
  if (block.dtype() == DType::string) {
    const auto first = block.strings().begin() + begin * row.elements();
    return Tensor::from_strings({first, first + shape.elements()}, shape);
  }
  Fresh out = fresh({block.dtype(), shape});
  const std::size_t bytes = out.tensor.spec().bytes();
  if (bytes)
    std::memcpy(out.bytes, bytes_at(block) + bytes / static_cast<std::size_t>(count) * static_cast<std::size_t>(begin),
                bytes);
  return out.tensor;
}

Tensor gather_rows(const Tensor& block, std::span<const std::int64_t> numbers) {
  const Shape row = row_shape(block);
  if (block.dtype() == DType::string) return gather_strings(block, row, numbers);
  const TensorSpec spec{block.dtype(), with_first_axis(static_cast<std::int64_t>(numbers.size()), row)};
  Fresh out = fresh(spec);
  if (spec.bytes()) gather_bytes(out.bytes, bytes_at(block), spec.bytes() / numbers.size(), numbers);
  return out.tensor;
}

void rows(const Element& block, std::int64_t begin, std::int64_t count, Element& out) {
  out.resize(block.size());
  for (std::size_t i = 0; i < block.size(); ++i) out[i] = Leaf(rows(block[i].tensor, begin, count));
}

void row(const Element& block, std::int64_t index, Element& out) {
  out.resize(block.size());
  for (std::size_t i = 0; i < block.size(); ++i) out[i] = Leaf(row(block[i].tensor, index));
}

void gather_rows(const Element& block, std::span<const std::int64_t> numbers, Element& out) {
  out.resize(block.size());
  for (std::size_t i = 0; i < block.size(); ++i) out[i] = Leaf(gather_rows(block[i].tensor, numbers));
}

void stack(std::span<const Element> elements, Element& out) {
  const std::size_t leaves = elements[0].size();
  out.resize(leaves);
  std::vector<const Tensor*> parts(elements.size());
  for (std::size_t c = 0; c < leaves; ++c) {
    const Tensor& first = tensor_of(elements[0][c], c);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      parts[i] = &elements[i][c].tensor;
      if (!(parts[i]->spec() == first.spec()))
        fail(ErrorCode::shape_mismatch, "Cannot batch tensors with different shapes in component ", c,
             ". First element had ", first.spec(), " and element ", i, " had ", parts[i]->spec(),
             "; padded_batch pads them to one shape");
    }
    out[c] = Leaf(append(parts, with_first_axis(static_cast<std::int64_t>(elements.size()), first.shape())));
  }
}

void join_blocks(std::span<const Element> blocks, Element& out) {
  out.resize(blocks[0].size());
  std::vector<const Tensor*> parts(blocks.size());
  for (std::size_t c = 0; c < blocks[0].size(); ++c) {
    std::int64_t count = 0;
    const Shape row = row_shape(blocks[0][c].tensor);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      parts[i] = &blocks[i][c].tensor;
      count += parts[i]->shape()[0];
      if (row_shape(*parts[i]) != row || parts[i]->dtype() != parts[0]->dtype())
        fail(ErrorCode::shape_mismatch, "Cannot batch tensors with different shapes in component ", c,
             ". First element had shape ", row, " and a later one ", row_shape(*parts[i]), "; padded_batch pads them");
    }
    out[c] = Leaf(append(parts, with_first_axis(count, row)));
  }
}

std::int64_t block_rows(const Element& block) {
  TANDEM_CHECK(!block.empty(), "an element without leaves");
  std::int64_t count = -1;
  for (std::size_t c = 0; c < block.size(); ++c) {
    const Tensor& tensor = tensor_of(block[c], c);
    if (tensor.rank() == 0)
      fail(ErrorCode::shape_mismatch, "component ", c, " has no axis to cut into elements: it is ", tensor.spec());
    if (count >= 0 && tensor.shape()[0] != count)
      fail(ErrorCode::shape_mismatch, "the components must have equally many rows; component 0 has ", count,
           ", component ", c, " has ", tensor.shape()[0]);
    count = tensor.shape()[0];
  }
  return count;
}

std::size_t bytes_of(const Element& element) {
  std::size_t bytes = 0;
  for (const Leaf& leaf : element) {
    if (leaf.dataset) continue;
    bytes += leaf.tensor.spec().bytes() + 64;
    if (leaf.tensor.dtype() == DType::string)
      for (const std::string& value : leaf.tensor.strings()) bytes += value.size() + 32;
  }
  return bytes;
}

}  // namespace tandem::data
