// The product of a fused region as a call of its own: for kernels that multiply first.
#pragma once
#include "tandem/kernel/fused.h"
#include "tandem/kernel/kernel.h"

namespace tandem {

class ProductCall {
 public:
  explicit ProductCall(const KernelCall& fused)
      : op_(static_cast<const FusedProduct&>(fused.op)),
        output_(op_.product_spec),
        call_{*op_.product,
              op_.product_attrs,
              fused.inputs.first(static_cast<std::size_t>(op_.product->arity())),
              {&output_, 1},
              fused.device} {}
  ProductCall(const ProductCall&) = delete;
  ProductCall& operator=(const ProductCall&) = delete;
  const KernelCall& call() const { return call_; }

 private:
  const FusedProduct& op_;
  Operand output_;
  KernelCall call_;
};

}  // namespace tandem
