// Jacobians: one walk back an element of the target.
#include "tandem/autodiff/tape.h"
#include "tandem/op/open_size.h"
#include "tandem/op/ops.h"

namespace tandem {
namespace {

Shape joined(std::initializer_list<std::span<const std::int64_t>> parts) {
  Ints sizes;
  for (const auto part : parts) sizes.insert(sizes.end(), part.begin(), part.end());
  return Shape(std::span<const std::int64_t>(sizes));
}

/// A tensor like `like` that is 1 at the i-th of each `count` elements and 0 elsewhere.
Tensor unit(const Tensor& like, std::int64_t i, std::int64_t count) {
  const Tensor row = one_hot(Tensor::scalar(i, DType::i64), count, 1, 0, -1, like.dtype());
  return reshape(broadcast_to(row, Shape{like.size() / count, count}), like.shape());
}

}  // namespace

class GradientTape::Walks {
 public:
  explicit Walks(GradientTape& tape) : tape_(tape), once_(!tape.options_.persistent) {
    if (!once_) return;
    tape.check_unused();
    tape.stop();
    tape.options_.persistent = true;
  }
  ~Walks() {
    if (!once_) return;
    tape_.options_.persistent = false;
    tape_.forget();
  }
  Walks(const Walks&) = delete;
  Walks& operator=(const Walks&) = delete;

 private:
  GradientTape& tape_;
  bool once_;
};

Tensors GradientTape::jacobian(const Tensor& target, const Tensors& sources, Unconnected unconnected) {
  const Walks walks(*this);
  std::vector<Tensors> rows(sources.size());
  require_known("a Jacobian", target.size());
  for (std::int64_t i = 0; i < target.size(); ++i) {
    const Tensors grads = gradient(Tensors{target}, sources, unconnected, {unit(target, i, target.size())});
    for (std::size_t k = 0; k < grads.size(); ++k)
      if (grads[k].defined()) rows[k].push_back(reshape(grads[k], Ints{1, -1}));
  }
  Tensors out;
  for (std::size_t k = 0; k < sources.size(); ++k) {
    const Shape shape = joined({target.shape().sizes(), sources[k].shape().sizes()});
    if (target.size() == 0 || sources[k].size() == 0) out.push_back(zeros(shape, sources[k].dtype()));
    else out.push_back(rows[k].empty() ? Tensor() : reshape(concat(rows[k], 0), shape));
  }
  return out;
}

Tensor GradientTape::batch_jacobian(const Tensor& target, const Tensor& source, Unconnected unconnected) {
  if (target.rank() == 0 || source.rank() == 0 || target.shape()[0] != source.shape()[0])
    fail(ErrorCode::shape_mismatch, "batch_jacobian: target ", target.shape(), " and source ", source.shape(),
         " must begin with the same batch");
  const Walks walks(*this);
  const std::int64_t batch = target.shape()[0],
                     columns = batch ? product_of_sizes(target.shape().sizes().subspan(1)) : 0;
  require_known("a Jacobian", columns);
  const Shape shape = joined({target.shape().sizes(), source.shape().sizes().subspan(1)});
  if (shape.elements() == 0) return zeros(shape, source.dtype());
  Tensors parts;
  for (std::int64_t j = 0; j < columns; ++j) {
    const Tensor grad = gradient(Tensors{target}, {source}, unconnected, {unit(target, j, columns)})[0];
    if (!grad.defined()) return {};
    parts.push_back(reshape(grad, Ints{batch, 1, -1}));
  }
  return reshape(concat(parts, 1), shape);
}

}  // namespace tandem
