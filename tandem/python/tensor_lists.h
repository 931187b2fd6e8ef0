// Lists of tensors, None where there is none.
#pragma once
#include "tandem/python/convert.h"
#include "tandem/python/module.h"

namespace tandem::python {

inline Tensors tensors_of(nb::handle list) {
  Tensors out;
  for (nb::handle item : nb::borrow<nb::sequence>(list))
    out.push_back(item.is_none() ? Tensor() : to_tensor(item.ptr()));
  return out;
}

inline nb::list list_of(Tensors tensors) {
  nb::list out;
  for (Tensor& tensor : tensors) out.append(tensor.defined() ? to_object(std::move(tensor)) : nb::none());
  return out;
}

}  // namespace tandem::python
