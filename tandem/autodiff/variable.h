// A variable: a tensor that can be assigned. Copies of the handle share it; a value once read never changes.
#pragma once
#include <concepts>
#include <string>

#include "tandem/core/cell.h"
#include "tandem/core/write_journal.h"
#include "tandem/graph/trace.h"

namespace tandem {

class Variable {
 public:
  explicit Variable(const Tensor& initial, bool trainable = true, std::string name = "Variable");
  /// Another handle on it.
  explicit Variable(Ref<Cell> cell) : cell_(std::move(cell)) {}

  /// The value as it is now. Tapes watch it by themselves when the variable is trainable. In a traced function: as it
  /// will be at this point of a run.
  Tensor value() const { return Trace::current() ? Trace::current()->read(cell_) : cell_->read(); }
  operator Tensor() const { return value(); }  // NOLINT: so that ops take variables

  /// Replaces the value; throws when dtype or shape differ.
  const Variable& assign(const Tensor& value) const;
  const Variable& assign_add(const Tensor& delta) const;
  const Variable& assign_sub(const Tensor& delta) const;

  const TensorSpec& spec() const { return cell_->spec(); }
  const Shape& shape() const { return spec().shape(); }
  DType dtype() const { return spec().dtype(); }
  bool trainable() const { return cell_->id().watched; }
  const std::string& name() const { return cell_->name(); }
  std::uint64_t id() const { return cell_->id().number; }
  const Ref<Cell>& cell() const { return cell_; }

  /// Replaces the value by make(value), during which nobody else reads or assigns the variable. When no one else
  /// holds the old value, `make` may give its bytes up to an op and so work in place.
  template <std::invocable<const Tensor&> F>
  void update(F make) const {
    if (Trace* trace = Trace::current()) return trace->write(cell_, make(trace->read(cell_)));
    RunQueue::await_variable(cell_.get(), true);  // a run that was handed over before reads the old value
    std::lock_guard writing(cell_->writing);
    std::lock_guard lock(cell_->mutex);
    WriteJournal::note(cell_);
    cell_->value = cell_->own(make(cell_->value));
  }

 private:
  Ref<Cell> cell_;
};

}  // namespace tandem
