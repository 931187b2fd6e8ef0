// oneDNN as one thread's library: the engine, the guard around every call, primitives that threads may share.
#pragma once
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "tandem/backend/cpu/one_thread.h"

namespace tandem::cpu {

const dnnl::engine& onednn_engine();

/// "ref:any", "gemm:ref": correct and very slow; our own loops do better.
bool is_reference(std::string_view implementation);

/// Primitives here are made with this: their scratchpad is handed over, so that threads can share them.
dnnl::primitive_attr shared_attr();

/// A primitive any number of threads may execute at once. What differs between executions, the memory objects,
/// is kept in a list of bindings; each execution takes one and gives it back.
class SharedPrimitive {
 public:
  struct Argument {
    int name;  // DNNL_ARG_SRC
    dnnl::memory::desc desc;
  };
  SharedPrimitive(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad, std::vector<Argument> arguments);

  /// One address an argument, in their order. oneDNN does not write through those it only reads.
  void execute(std::span<const void* const> addresses) const;

 private:
  struct Binding {
    std::vector<dnnl::memory> memories;  // the arguments, then the scratchpad
    std::vector<dnnl_exec_arg_t> arguments;
  };
  std::unique_ptr<Binding> take() const;
  void give_back(std::unique_ptr<Binding> binding) const;

  dnnl::primitive primitive_;
  std::vector<Argument> arguments_;  // the scratchpad last
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Binding>> free_;
};
using SharedPrimitivePtr = std::unique_ptr<const SharedPrimitive>;

/// A primitive from its descriptor, with the descriptor's scratchpad.
template <class Primitive, class Descriptor>
SharedPrimitivePtr share(const Descriptor& descriptor, std::vector<SharedPrimitive::Argument> arguments) {
  const OneThread guard;
  return std::make_unique<SharedPrimitive>(Primitive(descriptor), descriptor.scratchpad_desc(), std::move(arguments));
}

/// Copies between two layouts of the same tensor.
SharedPrimitivePtr share_reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to);

}  // namespace tandem::cpu
