// tandem devices: every device of this machine, and what became of those that are not used.
#include <CLI/CLI.hpp>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tandem/cli/commands.h"
#include "tandem/cli/table.h"
#include "tandem/runtime/calibration.h"
#include "tandem/runtime/config.h"
#include "tandem/runtime/machine_store.h"
#include "tandem/runtime/runtime.h"

namespace tandem::cli {
namespace {

using nlohmann::ordered_json;

std::string gibibytes(std::size_t bytes) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(1) << static_cast<double>(bytes) / (1 << 30) << " GiB";
  return out.str();
}

ordered_json to_json(Device& device) {
  const DeviceProperties& p = device.properties();
  return {{"name", p.name.short_name()},    {"long_name", p.name.long_name()},
          {"description", p.description},   {"cores", p.cores},
          {"memory_bytes", p.memory_bytes}, {"memory_space", std::string(device.memory().name())}};
}

ordered_json to_json(const config::DeviceFinding& f) {
  return {{"status", f.status}, {"name", f.name}, {"device", f.device}, {"platform", f.platform},
          {"driver", f.driver}, {"type", f.type}, {"reason", f.reason}, {"remedy", f.remedy}};
}

/// What the placer reckons with; nothing is measured for it.
struct Figures {
  std::filesystem::path file;
  std::shared_ptr<const Machine> machine;  // null: not measured yet
};

ordered_json to_json(const Figures& figures) {
  ordered_json out{{"file", figures.file.string()}, {"measured", figures.machine != nullptr}};
  if (figures.machine && figures.machine->doubt) out["doubt"] = figures.machine->doubt->why;
  return out;
}

std::string sentence(const Figures& figures) {
  if (!figures.machine) return "the placer's figures are not measured yet; the first program that needs them does it";
  if (!figures.machine->doubt)
    return "the placer's figures were measured in quiet; tandem calibrate measures them anew";
  return text("the placer's figures are doubtful; when they were measured,\n  ", figures.machine->doubt->why,
              "\n  a program that runs a minute later or more measures again, or tandem calibrate");
}

void print_json(std::span<Device* const> devices, const config::DeviceReport& report, const Figures& figures) {
  ordered_json out{
      {"devices", ordered_json::array()}, {"platforms", ordered_json::array()}, {"findings", ordered_json::array()}};
  for (Device* device : devices) out["devices"].push_back(to_json(*device));
  for (const auto& p : report.platforms)
    out["platforms"].push_back(
        {{"name", p.name}, {"vendor", p.vendor}, {"version", p.version}, {"devices", p.devices}});
  for (const auto& finding : report.findings) out["findings"].push_back(to_json(finding));
  out["figures"] = to_json(figures);
  // Names of files may be in any encoding.
  std::cout << out.dump(2, ' ', false, ordered_json::error_handler_t::replace) << "\n";
}

void print_tables(std::span<Device* const> devices, const config::DeviceReport& report, const Figures& figures) {
  Table table({{"device"}, {"cores"}, {"memory"}, {"space"}, {"description", 60}});
  for (Device* device : devices) {
    const DeviceProperties& p = device->properties();
    table.add({p.name.short_name(), std::to_string(p.cores), gibibytes(p.memory_bytes),
               std::string(device->memory().name()), p.description});
  }
  table.print(std::cout);

  std::cout << "\n";
  if (report.platforms.empty()) std::cout << "no OpenCL platform\n";
  for (const auto& p : report.platforms)
    std::cout << "OpenCL platform " << p.name << ": " << p.devices << (p.devices == 1 ? " device\n" : " devices\n");
  std::cout << sentence(figures) << "\n";

  Table unused({{"not used", 34}, {"why", 30}, {"what helps", 32}});
  bool any = false;
  for (const auto& f : report.findings) {
    if (f.status == "used") continue;
    any = true;
    unused.add({f.device, f.reason, f.remedy});
  }
  if (!any) return;
  std::cout << "\n";
  unused.print(std::cout);
}

void print_devices(bool json) {
  const auto devices = default_runtime().devices();
  const config::DeviceReport report = config::device_report();
  const std::filesystem::path file = machine_file(devices);
  const Figures figures{file, stored_machine(file)};
  json ? print_json(devices, report, figures) : print_tables(devices, report, figures);
}

}  // namespace

void add_devices(CLI::App& app) {
  CLI::App* command = app.add_subcommand("devices", "List the devices of this machine, and why others are not used");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  command->callback([json] { print_devices(*json); });
}

}  // namespace tandem::cli
