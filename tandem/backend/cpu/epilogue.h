// What follows a product in a fused region: elementwise ops, run on each block of the result while it is in the cache.
#pragma once
#include <memory>
#include <vector>

#include "tandem/backend/cpu/loop.h"
#include "tandem/kernel/product_call.h"

namespace tandem::cpu {

/// Part of a product seen as a matrix, its rows as long as its last axis.
struct ProductBlock {
  std::int64_t row = 0, rows = 0;
  std::int64_t column = 0, columns = 0;
};

/// How an operand follows the product, in bytes.
struct EpilogueStride {
  std::int64_t row = 0, column = 0;
};

/// The loop after a product and where its operands lie; input 0 is the product.
struct EpilogueLayout {
  expr::Program program;
  ScalarInputs scalars = 0;
  int arity = 0;  // of the product
  std::vector<EpilogueStride> inputs, outputs;

  /// Of the first element of a block.
  const void* input(const KernelArgs& args, std::size_t i, const ProductBlock& block) const;
  void* output(const KernelArgs& args, std::size_t k, const ProductBlock& block) const;
};

class Epilogue {
 public:
  Epilogue() = default;  // of a product alone: does nothing
  explicit Epilogue(const KernelCall& fused);

  /// Simple operations an element.
  double work() const { return work_; }
  /// Null for a product alone.
  const std::shared_ptr<const EpilogueLayout>& layout() const { return layout_; }
  /// The product lies in output 0, and so does the first result afterwards.
  void run(const KernelArgs& args, const ProductBlock& block) const;
  void run_all(const KernelArgs& args) const;

 private:
  std::shared_ptr<const EpilogueLayout> layout_;
  std::shared_ptr<const Loop> loop_;
  bool flat_ = false;                    // no operand is repeated for each row
  std::int64_t rows_ = 0, columns_ = 0;  // of all
  double work_ = 0;
};

// --- Kernels of products, alone and in fused regions: `prepare` is written once for both. ---

using PrepareProduct = Prepared (*)(const KernelCall& product, Epilogue epilogue);

template <Support (*supports)(const KernelCall&), PrepareProduct prepare>
Kernel product_kernel(std::string_view name) {
  return {
      .name = name, .supports = supports, .prepare = [](const KernelCall& call) { return prepare(call, Epilogue()); }};
}

template <Support (*supports)(const KernelCall&), PrepareProduct prepare>
Kernel fused_product_kernel(std::string_view name) {
  return {.name = name,
          .supports = [](const KernelCall& call) { return supports(ProductCall(call).call()); },
          .prepare = [](const KernelCall& call) { return prepare(ProductCall(call).call(), Epilogue(call)); }};
}

/// The product by a kernel that knows of no epilogue, then the epilogue.
template <Kernel (*product)()>
Kernel fused_after() {
  return {.name = product().name,
          .supports =
              [](const KernelCall& call) {
                const Kernel kernel = product();
                return kernel.supports ? kernel.supports(ProductCall(call).call()) : yes();
              },
          .prepare =
              [](const KernelCall& call) {
                return prepared([first = std::shared_ptr<PreparedKernel>(product().prepare(ProductCall(call).call())),
                                 epilogue = Epilogue(call)](const KernelArgs& args) {
                  first->run(args);
                  epilogue.run_all(args);
                });
              }};
}

}  // namespace tandem::cpu
