#include "tandem/autodiff/variable.h"

#include "tandem/op/ops.h"

namespace tandem {

Variable::Variable(const Tensor& initial, bool trainable, std::string name) {
  if (initial.is_symbolic())
    fail(ErrorCode::cannot_trace, "variable '", name,
         "' is made from a tensor of a traced function, which has no value yet; "
         "make variables outside the function, or from values known when it is traced");
  cell_ = Ref<Cell>(new Cell(initial, trainable, std::move(name)));
}

const Variable& Variable::assign(const Tensor& value) const {
  update([&](const Tensor&) { return value; });
  return *this;
}
const Variable& Variable::assign_add(const Tensor& delta) const {
  update([&](const Tensor& value) { return add(value, delta); });
  return *this;
}
const Variable& Variable::assign_sub(const Tensor& delta) const {
  update([&](const Tensor& value) { return subtract(value, delta); });
  return *this;
}

}  // namespace tandem
