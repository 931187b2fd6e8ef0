// What the environment says about OpenCL.
#include <algorithm>

#include "tandem/backend/opencl/opencl_device.h"
#include "tandem/backend/opencl/program_cache.h"
#include "tandem/base/environment.h"
#include "tandem/base/error.h"

namespace tandem::opencl {
namespace {

/// Nothing when the variable is not set. As CUDA reads it: nothing and -1 hide all, a number that makes no sense hides
/// what follows it, and names of NVIDIA's devices (GPU-8932…) are none of ours.
std::optional<VisibleDevices> visible_devices(const char* variable) {
  const auto text = environment(variable);
  if (!text) return {};
  VisibleDevices visible{variable, *text, {}};
  for (std::string_view word : split_words(*text, ',')) {
    if (word == "-1" || word == "NoDevFiles" || word.starts_with("GPU-") || word.starts_with("MIG-")) break;
    if (word.empty() || word.size() > 4 ||
        !std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; }))
      fail(ErrorCode::invalid_argument, variable, "='", *text,
           "': needed are numbers of devices, such as 0 or 0,2; nothing or -1 for none");
    visible.devices.push_back(static_cast<int>(parse_number(variable, word, 0, 9999)));
  }
  return visible;
}

/// True for the first word, false for the second, nothing when the variable is not set.
std::optional<bool> either(const char* variable, std::string_view first, std::string_view second) {
  const std::string wanted = environment(variable).value_or("");
  if (wanted.empty()) return {};
  if (wanted != first && wanted != second)
    fail(ErrorCode::invalid_argument, variable, "='", wanted, "': needed is ", first, " or ", second);
  return wanted == first;
}

}  // namespace

Options options_from_environment() {
  Options options;
  options.cpu_as_gpu = static_cast<int>(environment_number("TANDEM_OPENCL_CPU_AS_GPU", 0, 1024).value_or(0));
  options.cores = environment_cores("TANDEM_OPENCL_CORES");
  options.hide_fp64 = environment_switch("TANDEM_OPENCL_HIDE_FP64").value_or(false);
  options.shared_memory = environment_switch("TANDEM_OPENCL_SHARED_MEMORY").value_or(false);
  options.cpu_style = either("TANDEM_OPENCL_STYLE", "cpu", "gpu");
  options.wide_vectors = either("TANDEM_OPENCL_LANES", "16", "8");
  options.clblast = either("TANDEM_OPENCL_GEMM", "clblast", "packed");
  options.visible = visible_devices("TANDEM_VISIBLE_DEVICES");
  options.cuda_visible = visible_devices("CUDA_VISIBLE_DEVICES");
  ProgramCache::default_folder();  // says so if the environment has a value for it that makes no sense
  return options;
}

}  // namespace tandem::opencl
