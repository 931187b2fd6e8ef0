#include "tandem/data/table.h"

#include <algorithm>
#include <cstring>

#include "tandem/data/rows.h"

namespace tandem::data {
namespace {

bool alike(const Element& a, const Element& b) {
  return std::ranges::equal(a, b, [](const Leaf& x, const Leaf& y) {
    return !x.dataset && !y.dataset && x.tensor.spec() == y.tensor.spec();
  });
}

}  // namespace

void Table::append(Element element) {
  if (uniform_ && count_ > 0) {
    Element first;
    if (loose_.empty()) row(chunks_[0], 0, first);
    if (!alike(loose_.empty() ? first : loose_[0], element)) {
      std::vector<Element> all;
      for (const Element& chunk : chunks_)
        for (std::int64_t i = 0; i < block_rows(chunk); ++i) row(chunk, i, all.emplace_back());
      std::ranges::move(loose_, std::back_inserter(all));
      loose_ = std::move(all);
      chunks_.clear();
      uniform_ = false;
    }
  } else if (uniform_ && std::ranges::any_of(element, [](const Leaf& leaf) { return leaf.dataset != nullptr; })) {
    uniform_ = false;
  }
  loose_.push_back(std::move(element));
  ++count_;
  if (uniform_ && static_cast<std::int64_t>(loose_.size()) == kChunk) close_chunk();
}

void Table::close_chunk() {
  stack(loose_, chunks_.emplace_back());
  loose_.clear();
}

void Table::finish() {
  if (uniform_ && !loose_.empty()) close_chunk();
}

void Table::element(std::int64_t number, Element& out) const {
  if (uniform_) row(chunks_[static_cast<std::size_t>(number / kChunk)], number % kChunk, out);
  else out = loose_[static_cast<std::size_t>(number)];
}

void Table::gather(std::span<const std::int64_t> numbers, Element& out) const {
  out.resize(chunks_[0].size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = Leaf(gather_leaf(i, numbers));
}

Tensor Table::gather_leaf(std::size_t leaf, std::span<const std::int64_t> numbers) const {
  const Tensor& first = chunks_[0][leaf].tensor;
  const Shape row(first.shape().sizes().subspan(1)),
      shape = with_first_axis(static_cast<std::int64_t>(numbers.size()), row);
  const std::int64_t each = row.elements();
  auto place = [&](std::int64_t number) -> std::pair<const Tensor&, std::int64_t> {
    return {chunks_[static_cast<std::size_t>(number / kChunk)][leaf].tensor, number % kChunk * each};
  };
  if (first.dtype() == DType::string) {
    std::vector<std::string> values;
    for (std::int64_t number : numbers) {
      const auto [chunk, at] = place(number);
      values.insert(values.end(), chunk.strings().begin() + at, chunk.strings().begin() + at + each);
    }
    return Tensor::from_strings(std::move(values), shape);
  }
  Fresh out = fresh({first.dtype(), shape});
  const std::size_t size = dtype_size(first.dtype()), bytes = static_cast<std::size_t>(each) * size;
  std::byte* to = out.bytes;
  for (std::int64_t number : numbers) {
    const auto [chunk, at] = place(number);
    if (bytes)
      std::memcpy(to, static_cast<const std::byte*>(chunk.raw_data()) + static_cast<std::size_t>(at) * size, bytes);
    to += bytes;
  }
  return out.tensor;
}

}  // namespace tandem::data
