// All tests run with a GPU: where there is none, PoCL on the CPU serves as one, set before OpenCL is first touched.
#include <gtest/gtest.h>

#include <cstdlib>

namespace {

class OpenClEnvironment final : public ::testing::Environment {
 public:
  OpenClEnvironment() { setenv("TANDEM_OPENCL_CPU_AS_GPU", "1", 0); }
};
[[maybe_unused]] const auto* const kEnvironment = ::testing::AddGlobalTestEnvironment(new OpenClEnvironment);

}  // namespace
