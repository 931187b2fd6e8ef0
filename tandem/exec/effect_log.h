// What ops with effects have given in a run that may have to be done again: printing, calling Python, taking the next
// element happen once.
#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// In force on its thread while it lives.
class EffectLog {
 public:
  EffectLog() : outer_(std::exchange(current(), this)) {}
  ~EffectLog() { current() = outer_; }
  EffectLog(const EffectLog&) = delete;
  EffectLog& operator=(const EffectLog&) = delete;

  /// Null: runs are done once.
  static EffectLog*& current();

  /// The run is done again: ops with effects come in the same order.
  void rewind() { next_ = 0; }
  /// make() fills the outputs, unless it has done so before.
  template <class F>
  void once(std::span<Tensor> outputs, F make) {
    if (next_ == given_.size()) {
      const Pause inside;  // what it runs itself belongs to it
      make();
      given_.emplace_back(outputs.begin(), outputs.end());
    } else {
      std::ranges::copy(given_[next_], outputs.begin());
    }
    ++next_;
  }

 private:
  struct Pause {
    EffectLog* log = std::exchange(current(), nullptr);
    Pause() = default;
    Pause(const Pause&) = delete;
    ~Pause() { current() = log; }
  };

  EffectLog* outer_;
  std::vector<Tensors> given_;
  std::size_t next_ = 0;
};

}  // namespace tandem
