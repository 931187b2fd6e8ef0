// tandem_bench [--ops-gpu] [--cpu-time] [NAME…] [--json FILE]: runs the benchmarks whose name contains a NAME (all
// without one).
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/adaptation.h"
#include "bench/both_devices.h"
#include "bench/gpu.h"
#include "bench/harness.h"
#include "bench/spill.h"
#include "tandem/tandem.h"

using namespace tandem::bench;

namespace {

std::vector<Benchmark> all_benchmarks() {
  std::vector<Benchmark> all;
  for (auto group : {eager_benchmarks(), library_benchmarks(), elementwise_benchmarks(), training_benchmarks(),
                     graph_benchmarks(), gpu_benchmarks(), spill_benchmarks(), placement_benchmarks(),
                     adaptation_benchmarks(), both_devices_benchmarks(), place_quality_benchmarks(), data_benchmarks(),
                     network_benchmarks(), fit_benchmarks()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

bool wanted(const Benchmark& benchmark, const std::vector<std::string>& names) {
  if (names.empty()) return true;
  return std::ranges::any_of(names,
                             [&](const std::string& name) { return benchmark.name.find(name) != std::string::npos; });
}

std::string today() {
  char date[16];
  const std::time_t time = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&time));
  return date;
}

void print(const Row& row) {
  std::printf("%-34s %10.4g %-8s %-28s %10.4g %8.3f  %s\n", row.name.c_str(), row.value, row.unit.c_str(),
              row.reference.c_str(), row.reference_value, row.ratio, row.goal.c_str());
  std::fflush(stdout);
}

void write_json(const std::string& path, const std::vector<Row>& rows) {
  nlohmann::json out;
  const auto& cpu = tandem::default_runtime().devices()[0]->properties();
  out["machine"] = cpu.description + ", " + std::to_string(cpu.cores) + " cores";
  out["date"] = today();
  out["threads"] = tandem::Cores::process().threads();
  out["rows"] = nlohmann::json::array();
  for (const Row& r : rows)
    out["rows"].push_back({{"name", r.name},
                           {"value", r.value},
                           {"unit", r.unit},
                           {"reference", r.reference},
                           {"reference_value", r.reference_value},
                           {"ratio", r.ratio},
                           {"goal", r.goal}});
  std::ofstream(path) << out.dump(2) << "\n";
}

/// The work of a child process of some row.
bool run_child_of(const std::string& mode) {
  return run_gpu_child(mode) || run_spill_child(mode) || run_adaptation_child(mode) || run_both_devices_child(mode);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names;
  std::string json;
  bool ops_gpu = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("--child=") && run_child_of(word.substr(8))) return 0;
    if (word == "--json" && i + 1 < argc) json = argv[++i];
    else if (word == "--ops-gpu") ops_gpu = true;
    else if (word == "--cpu-time") processor_time = true;
    else if (word[0] == '-')
      return std::fprintf(stderr, "usage: tandem_bench [--ops-gpu] [--cpu-time] [NAME…] [--json FILE]\n"), 2;
    else names.emplace_back(word);
  }
  std::printf("%-34s %10s %-8s %-28s %10s %8s  %s\n", "name", "value", "unit", "reference", "its value", "ratio",
              "goal");
  std::vector<Row> rows;
  // Rows of the CPU stay there, also once PoCL serves as a GPU for the others: ops without a scope know no other
  // device.
  setenv("TANDEM_OPENCL_CPU_AS_GPU", "1", 0);
  const tandem::Machine cpu_only{.devices = {{.name = "/CPU:0"}}};
  auto keep = [&](const std::vector<Row>& more) {
    for (const Row& row : more) print(row);
    rows.insert(rows.end(), more.begin(), more.end());
  };
  if (ops_gpu) keep(gpu_op_rows(names));
  else
    for (const Benchmark& benchmark : all_benchmarks())
      if (wanted(benchmark, names)) {
        tandem::default_runtime().set_machine(cpu_only);
        keep(benchmark.run());
      }
  if (rows.empty())
    return std::fprintf(stderr, "no benchmark has such a name; names are parts of those listed without arguments\n"), 2;
  if (!json.empty()) write_json(json, rows);
}
