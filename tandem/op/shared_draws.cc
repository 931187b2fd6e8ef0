#include "tandem/op/shared_draws.h"

#include "tandem/op/dispatcher.h"
#include "tandem/op/ops.h"

namespace tandem {

thread_local ReplicaDraws* ReplicaDraws::current_ = nullptr;

Tensor ReplicaDraws::draw(const Shape& shape, const std::function<Tensor(const Shape&)>& make) {
  if (shape.rank() == 0 || shape[0] != rows_) return make(shape);
  std::vector<std::int64_t> sizes(shape.begin(), shape.end());
  const DeviceScope on_host("/CPU:0");
  if (next_ == all_.drawn.size()) {
    sizes[0] = total_;
    all_.drawn.push_back(make(Shape(std::span<const std::int64_t>(sizes))));
    sizes[0] = rows_;
  }
  const Tensor& all = all_.drawn[next_++];
  Ints begin(sizes.size(), 0);
  begin[0] = begin_;
  return rows_ == total_ ? all : slice(all, begin, sizes);
}

}  // namespace tandem
