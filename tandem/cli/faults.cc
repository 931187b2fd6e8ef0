// tandem faults: the places that can be made to fail on purpose.
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tandem/base/fault.h"
#include "tandem/cli/commands.h"
#include "tandem/cli/table.h"

namespace tandem::cli {
namespace {

void print_faults(bool json) {
  if (json) {
    auto list = nlohmann::ordered_json::array();
    for (const FaultInfo& info : fault_list()) list.push_back({{"site", info.name}, {"simulates", info.simulates}});
    std::cout << list.dump(2) << "\n";
    return;
  }
  Table table({{"site"}, {"what it simulates", 70}});
  for (const FaultInfo& info : fault_list()) table.add({std::string(info.name), std::string(info.simulates)});
  table.print(std::cout);
  std::cout << "\nTANDEM_FAULT=SITE:3 lets the third pass fail, SITE:* each, SITE:p=0.1,seed=7 one in ten;\n"
               "several are separated by semicolons.\n";
}

}  // namespace

void add_faults(CLI::App& app) {
  CLI::App* command = app.add_subcommand("faults", "List the places that can be made to fail on purpose");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print JSON");
  command->callback([json] { print_faults(*json); });
}

}  // namespace tandem::cli
