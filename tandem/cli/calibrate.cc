// tandem calibrate: measures the devices of this host for the placer, and compares predictions with what is measured.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>

#include "tandem/cli/commands.h"
#include "tandem/cli/table.h"
#include "tandem/runtime/calibration.h"
#include "tandem/runtime/machine_store.h"
#include "tandem/runtime/runtime.h"

namespace tandem::cli {
namespace {

struct CalibrateOptions {
  bool check = false, quick = false, json = false, force = false;
  std::string output;
};

/// "120 up to 24 MiB"
std::string cached(const CacheFigures& cache) {
  return cache.bytes == 0 ? "-" : text(figure(cache.gb_per_s), " up to ", cache.bytes >> 20, " MiB");
}

void print(const Machine& machine) {
  Table devices({{"device", 8},
                 {"description"},
                 {"f32 GFLOP/s"},
                 {"f64 GFLOP/s"},
                 {"GB/s"},
                 {"cached"},
                 {"launch us"},
                 {"step us"}});
  const auto peak = [](const MachineDevice& device, DType dtype) {
    const auto found = device.peak_gflops.find(dtype);
    return found == device.peak_gflops.end() ? "-" : figure(found->second);
  };
  for (const MachineDevice& d : machine.devices)
    devices.add({d.name, d.description, peak(d, DType::f32), peak(d, DType::f64), figure(d.gb_per_s), cached(d.cache),
                 figure(d.launch_us), figure(d.step_us)});
  devices.print(std::cout);
  if (machine.links.empty()) return;
  std::cout << "\n";
  Table links({{"from", 8}, {"to", 8}, {"latency us"}, {"GB/s"}, {"cached"}});
  for (const MachineLink& link : machine.links)
    links.add({link.from, link.to, figure(link.latency_us), figure(link.gb_per_s), cached(link.cache)});
  links.print(std::cout);
}

constexpr double kLeastUs = 50;  // shorter ones are all launch

/// How far predictions were off in the median, in percent; nothing when no op took long enough.
std::optional<double> median_error(const std::vector<CalibrationCheck>& checks, double CalibrationCheck::* predicted) {
  std::vector<double> errors;
  for (const CalibrationCheck& c : checks)
    if (c.measured_us >= kLeastUs) errors.push_back(100 * std::abs(c.*predicted / c.measured_us - 1));
  if (errors.empty()) return std::nullopt;
  std::ranges::nth_element(errors, errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2));
  return errors[errors.size() / 2];
}

void print_check(const std::vector<CalibrationCheck>& checks) {
  Table table({{"op"}, {"shape"}, {"device", 8}, {"predicted us"}, {"after 50 runs"}, {"measured us"}, {"ratio"}});
  for (const CalibrationCheck& c : checks)
    table.add({c.op, c.shape, c.device, figure(c.predicted_us), figure(c.learnt_us), figure(c.measured_us),
               figure(c.learnt_us / c.measured_us)});
  table.print(std::cout);
  const auto before = median_error(checks, &CalibrationCheck::predicted_us),
             after = median_error(checks, &CalibrationCheck::learnt_us);
  if (after)
    std::cout << "ops above " << kLeastUs << " us are off by " << figure(*after) << " % in the median after 50 runs, "
              << figure(*before) << " % before them\n";
}

/// Figures that are in doubt do not replace better ones. Says what became of them.
std::string store(const Machine& machine, const CalibrateOptions& options, std::span<Device* const> devices) {
  const std::filesystem::path file =
      options.output.empty() ? machine_file(devices) : std::filesystem::path(options.output);
  const std::string doubt = machine.doubt ? text("these figures are doubtful: ", machine.doubt->why, "\n") : "";
  if (machine.doubt && options.output.empty() && !options.force) {
    const auto stored = stored_machine(file);
    if (stored && !stored->doubt)
      return text(doubt, "not stored: what was measured in quiet before stays, in ", file.string(),
                  "; --force replaces it, calibrating when others have ended is better");
  }
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path());
  write_machine(machine, file.string());
  return text(
      doubt, "stored in ", file.string(),
      machine.doubt && options.output.empty() ? "; a program that runs a minute later or more measures again" : "");
}

void run_calibrate(const CalibrateOptions& options) {
  Runtime& runtime = default_runtime();
  const auto devices = runtime.devices();
  if (options.check) {
    return print_check(check_calibration(devices, *runtime.machine()));
  }
  CalibrationOptions how;
  if (!options.quick) how = {.seconds = 1, .full = true};
  if (!options.json) how.progress = [](const std::string& what) { std::cerr << "calibrating " << what << "\n"; };
  const Machine machine = calibrate(devices, how);
  const std::string told = store(machine, options, devices);
  if (options.json) {
    std::cout << to_json(machine);
    return;
  }
  print(machine);
  std::cout << "\n" << told << "\n";
}

}  // namespace

void add_calibrate(CLI::App& app) {
  CLI::App* command = app.add_subcommand("calibrate", "Measure the devices of this host for the placer");
  auto options = std::make_shared<CalibrateOptions>();
  command->add_flag("--check", options->check, "Measure nothing new; print predicted against measured times");
  command->add_flag("--quick", options->quick, "Only what a first run measures by itself");
  command->add_flag("--json", options->json, "Print the machine file");
  command->add_flag("--force", options->force,
                    "Store the figures even if others disturbed them and those stored before were measured in quiet");
  command->add_option("-o,--output", options->output, "Where to write it; by default where programs look for it");
  command->callback([options] { run_calibrate(*options); });
}

}  // namespace tandem::cli
