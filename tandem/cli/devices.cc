// tandem devices: every device of this machine.
#include <CLI/CLI.hpp>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tandem/cli/commands.h"
#include "tandem/cli/table.h"
#include "tandem/runtime/runtime.h"

namespace tandem::cli {
namespace {

std::string gibibytes(std::size_t bytes) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << static_cast<double>(bytes) / (1 << 30) << " GiB";
  return out.str();
}

void print_devices(bool json) {
  const auto devices = default_runtime().devices();
  if (json) {
    auto list = nlohmann::ordered_json::array();
    for (Device* device : devices) {
      const DeviceProperties& p = device->properties();
      list.push_back({{"name", p.name.short_name()},
                      {"long_name", p.name.long_name()},
                      {"description", p.description},
                      {"cores", p.cores},
                      {"memory_bytes", p.memory_bytes},
                      {"memory_space", std::string(device->memory().name())}});
    }
    std::cout << list.dump(2) << "\n";
    return;
  }
  Table table({{"device"}, {"cores"}, {"memory"}, {"space"}, {"description", 60}});
  for (Device* device : devices) {
    const DeviceProperties& p = device->properties();
    table.add({p.name.short_name(), std::to_string(p.cores), gibibytes(p.memory_bytes),
               std::string(device->memory().name()), p.description});
  }
  table.print(std::cout);
}

}  // namespace

void add_devices(CLI::App& app) {
  CLI::App* command = app.add_subcommand("devices", "List the devices of this machine");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  command->callback([json] { print_devices(*json); });
}

}  // namespace tandem::cli
