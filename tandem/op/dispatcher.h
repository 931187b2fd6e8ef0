// The one interposition point: a per-thread stack of dispatchers through which every op passes, innermost first.
// Tapes, traces, device scopes and strategies are dispatchers; at the bottom is the runtime, which runs the op.
#pragma once
#include <memory>
#include <span>
#include <utility>

#include "tandem/core/tensor.h"
#include "tandem/op/op_def.h"

namespace tandem {

/// A tensor passed to an op without touching its reference count.
class TensorRef {
 public:
  TensorRef(const Tensor& tensor) : tensor_(&tensor) {}  // NOLINT: so that apply(op, {x, y}) reads well
  const Tensor& operator*() const { return *tensor_; }
  const Tensor* operator->() const { return tensor_; }

 private:
  const Tensor* tensor_;
};

/// One op on its way down the stack.
struct OpCall {
  const OpDef& op;
  std::span<const TensorRef> inputs;
  const Attrs& attrs;
  std::span<Tensor> outputs;              // as many as the op has; filled by the bottom
  const DeviceName* requested = nullptr;  // set by the innermost device scope
  const DeviceName* near = nullptr;       // device in whose own memory an operand lies, when nobody asked
  std::uint32_t donated = 0;              // bit i: the caller gives input i up; its bytes may be overwritten
  const std::shared_ptr<const OpDef>* owner = nullptr;  // of an op made at run time: who keeps `op` keeps it too
  bool scoped = false;                    // a device scope has decided: outer ones have no say
};

class Dispatcher {
 public:
  virtual ~Dispatcher() = default;
  /// Runs the op, or changes the call and passes it on to next().
  virtual void run(OpCall& call) = 0;

 protected:
  Dispatcher* next() const { return next_; }

 private:
  friend class DispatchStack;
  Dispatcher* next_ = nullptr;
};

/// The calling thread's stack.
class DispatchStack {
 public:
  static Dispatcher& top() { return top_ ? *top_ : bottom(); }
  static void push(Dispatcher& dispatcher);
  /// Takes `dispatcher` out, wherever it stands.
  static void remove(Dispatcher& dispatcher);
  /// Puts the whole stack aside and returns it, or back again.
  static Dispatcher* exchange(Dispatcher* top) { return std::exchange(top_, top); }

 private:
  static Dispatcher& bottom();
  static thread_local Dispatcher* top_;
};

/// The dispatcher below all others, which runs ops. Defined by the runtime.
Dispatcher& runtime_dispatcher();

/// Ops run under `with tf.device(name)` ask for that device; the innermost scope wins. A name without a device
/// ("/job:localhost") leaves the choice to the scopes around it; nullptr hides them, so that nothing is asked for.
class DeviceScope final : public Dispatcher {
 public:
  explicit DeviceScope(std::string_view device) : name_(DeviceName::parse_request(device)) {
    DispatchStack::push(*this);
  }
  explicit DeviceScope(const char* device) : DeviceScope(std::string_view(device)) {}
  explicit DeviceScope(std::nullptr_t) : hides_(true) { DispatchStack::push(*this); }
  ~DeviceScope() override { DispatchStack::remove(*this); }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  void run(OpCall& call) override {
    if (!call.scoped && !call.requested) {
      if (name_) call.requested = &*name_;
      call.scoped = name_ || hides_;
    }
    next()->run(call);
  }

 private:
  std::optional<DeviceName> name_;
  bool hides_ = false;
};

/// Runs an op with one output.
Tensor apply(const OpDef& op, std::initializer_list<TensorRef> inputs);
Tensor apply(const OpDef& op, std::initializer_list<TensorRef> inputs, const Attrs& attrs);
/// Runs any op.
Tensors apply_all(const OpDef& op, std::span<const TensorRef> inputs, const Attrs& attrs, std::uint32_t donated = 0);

}  // namespace tandem
