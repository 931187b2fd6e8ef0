// Figures of a machine for one test: what is decided by speed must not depend on how fast the tests' machine is today.
#pragma once
#include <optional>

#include "tandem/tandem.h"

namespace tandem {

/// A machine whose GPU computes `speed` times as fast as its CPU, behind a link.
inline Machine cpu_and_gpu(double speed, double link_gb_per_s = 10) {
  return {.devices = {{.name = "/CPU:0",
                       .peak_gflops = {{DType::f32, 50}, {DType::f64, 25}},
                       .gb_per_s = 10,
                       .launch_us = 0.2,
                       .step_us = 0.01},
                      {.name = "/GPU:0",
                       .peak_gflops = {{DType::f32, 50 * speed}},
                       .gb_per_s = 10 * speed,
                       .launch_us = 5,
                       .step_us = 1}},
          .links = {{"/CPU:0", "/GPU:0", 10, link_gb_per_s}, {"/GPU:0", "/CPU:0", 10, link_gb_per_s}}};
}

/// The figures the placer works with while it lives.
class WithMachine {
 public:
  explicit WithMachine(const Machine& figures) {
    default_runtime().devices();
    default_runtime().set_machine(figures);
  }
  ~WithMachine() { default_runtime().set_machine(std::nullopt); }
  WithMachine(const WithMachine&) = delete;
  WithMachine& operator=(const WithMachine&) = delete;
};

}  // namespace tandem
