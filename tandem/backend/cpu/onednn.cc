#include "tandem/backend/cpu/onednn.h"

#include <utility>

#include "tandem/backend/cpu/gemm.h"
#include "tandem/backend/cpu/scratch.h"
#include "tandem/base/error.h"

namespace tandem::cpu {
namespace {

void check(dnnl_status_t status) {
  if (status == dnnl_out_of_memory) fail(ErrorCode::out_of_memory, "oneDNN could not allocate memory");
  TANDEM_CHECK(status == dnnl_success, "oneDNN status ", static_cast<int>(status));
}

/// Before the library looks at the processor: its products on AMX tiles end with an illegal instruction in virtual
/// machines that hide the shapes of tiles. Tiles are used by `amx.h` alone.
void leave_tiles_alone() {
  [[maybe_unused]] static const bool once = (dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core_bf16), true);
}

dnnl::stream& thread_stream() {
  static thread_local dnnl::stream stream(onednn_engine());
  return stream;
}

}  // namespace

const dnnl::engine& onednn_engine() {
  leave_tiles_alone();
  // Not destroyed: kernels may run while the process ends.
  static const dnnl::engine& engine = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

bool is_reference(std::string_view implementation) {
  return implementation.starts_with("ref") || implementation.find("ref:") != std::string_view::npos ||
         implementation.ends_with(":ref");
}

dnnl::primitive_attr shared_attr() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

SharedPrimitive::SharedPrimitive(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad,
                                 std::vector<Argument> arguments)
    : primitive_(std::move(primitive)),
      arguments_(std::move(arguments)) {
  arguments_.push_back({DNNL_ARG_SCRATCHPAD, scratchpad});
}

std::unique_ptr<SharedPrimitive::Binding> SharedPrimitive::take() const {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      auto binding = std::move(free_.back());
      free_.pop_back();
      return binding;
    }
  }
  auto binding = std::make_unique<Binding>();
  for (const Argument& argument : arguments_) {
    binding->memories.emplace_back(argument.desc, onednn_engine(), nullptr);  // DNNL_MEMORY_NONE
    binding->arguments.push_back({argument.name, binding->memories.back().get()});
  }
  return binding;
}

void SharedPrimitive::give_back(std::unique_ptr<Binding> binding) const {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(binding));
}

void SharedPrimitive::execute(std::span<const void* const> addresses) const {
  const OneThread guard;
  auto binding = take();
  for (std::size_t i = 0; i < addresses.size(); ++i)
    binding->memories[i].set_data_handle(const_cast<void*>(addresses[i]));
  const std::size_t bytes = arguments_.back().desc.get_size();
  if (bytes > 0) binding->memories.back().set_data_handle(scratch(ScratchUse::primitive, bytes));
  const auto status = dnnl_primitive_execute(primitive_.get(), thread_stream().get(),
                                             static_cast<int>(binding->arguments.size()), binding->arguments.data());
  give_back(std::move(binding));
  check(status);
}

SharedPrimitivePtr share_reorder(const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  const OneThread guard;
  const dnnl::reorder::primitive_desc descriptor(onednn_engine(), from, onednn_engine(), to, shared_attr());
  return share<dnnl::reorder>(descriptor, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void onednn_gemm(const Gemm<float>& g) {
  leave_tiles_alone();
  const OneThread guard;
  check(dnnl_sgemm(g.transpose_a ? 'T' : 'N', g.transpose_b ? 'T' : 'N', g.m, g.n, g.k, g.factor(), g.a, g.lda, g.b,
                   g.ldb, g.of_c(), g.c, g.ldc));
}

}  // namespace tandem::cpu
