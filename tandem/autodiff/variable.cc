#include "tandem/autodiff/variable.h"

#include "tandem/op/ops.h"

namespace tandem {

Variable::Variable(const Tensor& initial, bool trainable, std::string name) : state_(std::make_shared<State>()) {
  state_->spec = initial.spec();
  state_->id = next_value_id();
  state_->trainable = trainable && is_floating(initial.dtype());
  state_->name = std::move(name);
  state_->value = own(initial);
}

Tensor Variable::own(const Tensor& value) const {
  if (value.dtype() != dtype())
    fail(ErrorCode::dtype_mismatch, "variable '", name(), "' holds ", dtype(), " and cannot take ", value.dtype(), "; cast it");
  if (value.shape() != shape())
    fail(ErrorCode::shape_mismatch, "variable '", name(), "' has shape ", shape(), " and cannot take ", value.shape());
  const TensorImpl* impl = value.impl();
  return Tensor(Ref<TensorImpl>(new TensorImpl(impl->spec, impl->storage, impl->decision, {state_->id, state_->trainable})));
}

Tensor Variable::value() const {
  std::lock_guard lock(state_->mutex);
  return state_->value;
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
