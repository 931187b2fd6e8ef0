#include "tandem/core/cell.h"

namespace tandem {

Cell::Cell(const Tensor& initial, bool trainable, std::string name)
    : spec_(initial.spec()),
      id_{next_value_id(), trainable && is_floating(initial.dtype())},
      name_(std::move(name)) {
  value = own(initial);
}

Tensor Cell::own(const Tensor& value) const {
  if (value.dtype() != spec_.dtype())
    fail(ErrorCode::dtype_mismatch, "variable '", name_, "' holds ", spec_.dtype(), " and cannot take ", value.dtype(),
         "; cast it");
  if (value.shape() != spec_.shape())
    fail(ErrorCode::shape_mismatch, "variable '", name_, "' has shape ", spec_.shape(), " and cannot take ",
         value.shape());
  return value.sharing(spec_, value.impl()->decision, id_);
}

}  // namespace tandem
