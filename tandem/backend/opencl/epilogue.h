// What follows a product in a fused region: elementwise ops, run by the kernel that stores the product.
#pragma once
#include <initializer_list>
#include <string>

#include "tandem/backend/opencl/context.h"
#include "tandem/kernel/product_call.h"

namespace tandem::opencl {

class Epilogue {
 public:
  Epilogue();  // of a product alone
  explicit Epilogue(const KernelCall& fused);

  /// The types it loads and stores, before all that follows them, and the macros of the kernel: EPILOGUE(v, at, column,
  /// m) is what becomes of the m elements v of the product at `at`, which is `column` along its last axis;
  /// EPILOGUE_PARAMETERS and EPILOGUE_ARGUMENTS follow those of the kernel and of functions that use it.
  const std::string& source() const { return source_; }
  /// The arguments for EPILOGUE_PARAMETERS. `last`: the product is complete with this launch.
  void add(Launch& launch, const KernelArgs& args, bool last) const;

 private:
  std::string source_;
  bool fused_ = false;
  std::size_t arity_ = 0, inputs_ = 0, outputs_ = 0;  // of the product; others of the region; of the region
};

/// Kernels for a fused region whose product one of `products` computes without knowing of what follows; but for those
/// named in `but`. The rest is a launch of its own.
Support product_and_rest_supported(const KernelCall& fused, const KernelList& products,
                                   std::initializer_list<std::string_view> but);
Prepared prepare_product_and_rest(const KernelCall& fused, const KernelList& products);

}  // namespace tandem::opencl
