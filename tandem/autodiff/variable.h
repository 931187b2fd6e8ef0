// A variable: a tensor that can be assigned. Copies of the handle share it; a value once read never changes.
#pragma once
#include <concepts>
#include <memory>
#include <mutex>
#include <string>

#include "tandem/core/tensor.h"

namespace tandem {

class Variable {
 public:
  explicit Variable(const Tensor& initial, bool trainable = true, std::string name = "Variable");

  /// The value as it is now. Tapes watch it by themselves when the variable is trainable.
  Tensor value() const;
  operator Tensor() const { return value(); }  // NOLINT: so that ops take variables

  /// Replaces the value; throws when dtype or shape differ.
  const Variable& assign(const Tensor& value) const;
  const Variable& assign_add(const Tensor& delta) const;
  const Variable& assign_sub(const Tensor& delta) const;

  const TensorSpec& spec() const { return state_->spec; }
  const Shape& shape() const { return spec().shape(); }
  DType dtype() const { return spec().dtype(); }
  bool trainable() const { return state_->trainable; }
  const std::string& name() const { return state_->name; }
  std::uint64_t id() const { return state_->id; }

  /// Replaces the value by update(value), during which nobody else reads or assigns the variable. When no one else
  /// holds the old value, `update` may give its bytes up to an op and so work in place.
  template <std::invocable<const Tensor&> F>
  void update(F make) const {
    std::lock_guard lock(state_->mutex);
    state_->value = own(make(state_->value));
  }

 private:
  struct State {
    mutable std::mutex mutex;
    Tensor value;
    TensorSpec spec;
    std::uint64_t id;
    bool trainable;
    std::string name;
  };
  /// `value` under this variable's identity.
  Tensor own(const Tensor& value) const;
  std::shared_ptr<State> state_;
};

}  // namespace tandem
