// Discretization: numbers as the bin that they lie in.
#pragma once
#include <vector>

#include "tandem/data/dataset.h"
#include "tandem/nn/layer.h"
#include "tandem/nn/token_output.h"

namespace tandem {

class DiscretizationLayer final : public Layer {
 public:
  explicit DiscretizationLayer(const LayerConfig& config);
  /// Finds num_bins - 1 boundaries between which equally many numbers lie, within the argument epsilon, as Keras finds
  /// them.
  void adapt(DatasetIterator pass);
  const std::vector<float>& boundaries() const { return boundaries_; }

 private:
  Tensor call(const Tensor& x, bool training) override;
  TokenOutput output_;
  std::vector<float> boundaries_;
};

}  // namespace tandem
