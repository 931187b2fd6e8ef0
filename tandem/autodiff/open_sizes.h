// Functions whose sizes are left open: graphs have fixed shapes, so a function is traced for a few sizes, and every
// number that changes with them is written as a polynomial of the sizes.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "tandem/autodiff/function.h"

namespace tandem {

/// The axes that inputs leave open, each one size: axis 0 of all inputs is one batch size.
class OpenSizes {
 public:
  /// Throws invalid_argument for more than three open axes.
  explicit OpenSizes(const std::vector<InputSpec>& inputs);

  const std::vector<int>& axes() const { return axes_; }
  /// The sizes to trace the function for: each axis small and large in all combinations, then once more as a test.
  std::vector<std::vector<std::int64_t>> samples() const;
  /// The inputs with these sizes.
  Specs specs(std::span<const std::int64_t> sizes) const;
  /// The sizes that arguments have; throws shape_mismatch when two inputs disagree.
  std::vector<std::int64_t> sizes_of(const Tensors& arguments) const;

  /// One document for all sizes, from what was written for each sample; throws invalid_argument naming the place where
  /// they differ in another way than by numbers that follow from the sizes.
  nlohmann::ordered_json merged(const std::vector<nlohmann::ordered_json>& samples) const;
  /// The document for these sizes. Throws bad_file for a polynomial that is none.
  nlohmann::ordered_json at(const nlohmann::ordered_json& merged, std::span<const std::int64_t> sizes) const;

 private:
  std::vector<InputSpec> inputs_;
  std::vector<int> axes_;
};

}  // namespace tandem
