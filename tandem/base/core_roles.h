// Which cores do what: some compute, some drive a GPU, some prepare data.
#pragma once
#include <functional>
#include <vector>

namespace tandem {

/// An empty list: any core the process may use.
struct CoreRoles {
  std::vector<int> compute;  // TANDEM_CPU_CORES: /CPU:0 and the program's own threads
  std::vector<int> driver;   // TANDEM_OPENCL_CORES: the threads of an OpenCL driver
  std::vector<int> data;     // TANDEM_DATA_CORES: the threads of input pipelines
  bool operator==(const CoreRoles&) const = default;
};

/// The cores the process was given when it started.
const std::vector<int>& process_cores();

/// What was set last; at first what the environment says. Both throw invalid_argument for a core that is not there.
CoreRoles core_roles();
void set_core_roles(CoreRoles roles);

/// Keeps the calling thread, and those it will start, to these cores; to all of the process's when the list is empty.
void confine_thread(const std::vector<int>& cores);
/// The same for every thread the process has now that was not exempted.
void confine_process(const std::vector<int>& cores);
/// confine_process leaves the calling thread where it is from now on.
void exempt_thread();
/// The same for the threads that `start` starts, by whatever library.
void exempt_new_threads(const std::function<void()>& start);

}  // namespace tandem
