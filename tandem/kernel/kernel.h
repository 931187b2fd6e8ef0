// The contract of kernels: an ordered list an op and device, the reference last; each says yes, or no with the reason.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tandem/op/op_def.h"

namespace tandem {

/// May this kernel run the call?
struct Support {
  bool ok = true;
  std::string reason;  // why not
  explicit operator bool() const { return ok; }
};
inline Support yes() { return {}; }
/// Reasons name dtypes and properties of the machine, not shapes: decisions are interned.
template <class... Parts>
Support no(const Parts&... parts) {
  return {false, text(parts...)};
}

/// How a kernel sees a tensor: element strides, so that transposes can fold into it.
struct Operand {
  TensorSpec spec;
  Strides strides{};
  explicit Operand(const TensorSpec& spec) : spec(spec), strides(dense_strides(spec.shape())) {}
  DType dtype() const { return spec.dtype(); }
  const Shape& shape() const { return spec.shape(); }
};

/// One op with the specs of its operands: what a kernel is prepared for.
struct KernelCall {
  const OpDef& op;
  const Attrs& attrs;
  std::span<const Operand> inputs;
  std::span<const Operand> outputs;
  Device* device = nullptr;  // where it is to run

  AttrView attr() const { return {op, attrs}; }
  DType dtype(int input = 0) const { return inputs[input].dtype(); }
  const Shape& shape(int input = 0) const { return inputs[input].shape(); }
};

/// The addresses of one run, and the attributes that are arguments of the kernel.
struct KernelArgs {
  const void* const* inputs;
  void* const* outputs;
  std::span<const std::int64_t> run_time;

  template <class T>
  const T* input(int i = 0) const {
    return static_cast<const T*>(inputs[i]);
  }
  template <class T>
  T* output(int i = 0) const {
    return static_cast<T*>(outputs[i]);
  }
};

/// A kernel made ready for given specs. Immutable: several threads may run it at once.
class PreparedKernel {
 public:
  virtual ~PreparedKernel() = default;
  virtual void run(const KernelArgs& args) const = 0;
};
using Prepared = std::unique_ptr<PreparedKernel>;

/// A prepared kernel from a callable.
template <class F>
Prepared prepared(F body) {
  struct Body final : PreparedKernel {
    explicit Body(F f) : f(std::move(f)) {}
    void run(const KernelArgs& args) const override { f(args); }
    F f;
  };
  return std::make_unique<Body>(std::move(body));
}

struct Kernel {
  std::string_view name;
  Support (*supports)(const KernelCall&) = nullptr;  // null: always
  Prepared (*prepare)(const KernelCall&) = nullptr;
};
using KernelList = std::vector<Kernel>;

/// The kernels of one device. Tried in order; the first that says yes runs.
class KernelTable {
 public:
  void set(const OpDef& op, KernelList kernels) { lists_[&op] = std::move(kernels); }
  std::span<const Kernel> of(const OpDef& op) const {
    auto found = lists_.find(op.like ? op.like : &op);
    return found == lists_.end() ? std::span<const Kernel>() : std::span<const Kernel>(found->second);
  }

 private:
  std::unordered_map<const OpDef*, KernelList> lists_;
};

}  // namespace tandem
