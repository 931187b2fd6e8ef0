#include "tandem/op/shared_draws.h"

#include "tandem/op/dispatcher.h"
#include "tandem/op/ops.h"

namespace tandem {

thread_local SharedDraws* SharedDraws::current_ = nullptr;

void SharedDraws::begin_replica(std::int64_t begin, std::int64_t rows, std::int64_t total) {
  begin_ = begin;
  rows_ = rows;
  total_ = total;
  next_ = 0;
  current_ = this;
}

void SharedDraws::end_replica() {
  if (current_ == this) current_ = nullptr;
}

Tensor SharedDraws::draw(const Shape& shape, const std::function<Tensor(const Shape&)>& make) {
  if (shape.rank() == 0 || shape[0] != rows_) return make(shape);
  std::vector<std::int64_t> sizes(shape.begin(), shape.end());
  const DeviceScope on_host("/CPU:0");
  if (next_ == drawn_.size()) {
    sizes[0] = total_;
    drawn_.push_back(make(Shape(std::span<const std::int64_t>(sizes))));
    sizes[0] = rows_;
  }
  const Tensor& all = drawn_[next_++];
  Ints begin(sizes.size(), 0);
  begin[0] = begin_;
  return rows_ == total_ ? all : slice(all, begin, sizes);
}

}  // namespace tandem
