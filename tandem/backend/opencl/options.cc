// What the environment says about OpenCL.
#include <cstdlib>
#include <string_view>

#include "tandem/backend/opencl/opencl_device.h"
#include "tandem/base/error.h"

namespace tandem::opencl {
namespace {

/// The number at the front of `words`, which loses it and the separator behind it.
int take_number(const char* variable, std::string_view& words, char separator) {
  const std::string_view word = words.substr(0, words.find(separator));
  int value = 0;
  for (char c : word) {
    if (c < '0' || c > '9' || value > 99'999)
      fail(ErrorCode::invalid_argument, variable, ": '", word, "' is no number of 0 or more");
    value = value * 10 + (c - '0');
  }
  if (word.empty()) fail(ErrorCode::invalid_argument, variable, ": a number is missing");
  words.remove_prefix(std::min(words.size(), word.size() + 1));
  return value;
}

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

Options options_from_environment() {
  Options options;
  constexpr const char *kDevices = "TANDEM_OPENCL_CPU_AS_GPU", *kCores = "TANDEM_OPENCL_CORES", *kHide = "TANDEM_OPENCL_HIDE_FP64";
  if (std::string_view text = variable(kDevices); !text.empty()) options.cpu_as_gpu = take_number(kDevices, text, '\0');
  for (std::string_view text = variable(kCores); !text.empty();) options.cores.push_back(take_number(kCores, text, ','));
  if (std::string_view text = variable(kHide); !text.empty()) options.hide_fp64 = take_number(kHide, text, '\0') != 0;
  return options;
}

}  // namespace tandem::opencl
