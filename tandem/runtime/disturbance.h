// Whether others were at work while the machine was measured.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tandem/base/core_use.h"

namespace tandem {

class Disturbance {
 public:
  /// What became of the cores while a device was timed.
  void saw(const std::string& device, const CoreUse& use);
  /// The same work several times, with time between: another program may be at work on a device whose time no system
  /// accounts for.
  void repeated(const std::string& device, std::vector<double> us);
  /// What a user should know; none: it was quiet.
  std::optional<std::string> why() const;

 private:
  struct Span {
    std::string device;
    double wall_s = 0, others_s = 0;
  };
  std::vector<Span> devices_;
  std::vector<std::string> differences_;
};

}  // namespace tandem
