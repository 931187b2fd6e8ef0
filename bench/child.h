// This program, or one beside it, run as a process of its own: for what only a fresh process can show.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace tandem::bench {

struct Child {
  double seconds = 0;    // from its start to its end
  double megabytes = 0;  // most memory it held
  std::string output;
};

/// Runs `program` of this program's folder with `environment` ("NAME=value") added; nothing when it fails.
std::optional<Child> run_child(const std::string& program, std::vector<std::string> arguments,
                               std::vector<std::string> environment = {});

}  // namespace tandem::bench
