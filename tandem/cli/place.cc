// tandem place: puts a plain graph on the devices of a machine file, and says why.
#include <CLI/CLI.hpp>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tandem/base/error.h"
#include "tandem/base/text.h"
#include "tandem/cli/commands.h"
#include "tandem/cli/table.h"
#include "tandem/place/explanation.h"

namespace tandem::cli {
namespace {

struct PlaceOptions {
  std::string graph, machine;
  bool json = false, dot = false, soft = false, quick = false;
  std::vector<std::string> visible;
};

std::string microseconds(double us) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(2) << us;
  return out.str();
}

void print_json(const Explanation& e) {
  nlohmann::ordered_json out;
  for (const char* key : {"assignment", "start_us", "finish_us"}) out[key] = nlohmann::ordered_json::object();
  out["makespan_us"] = e.makespan_us;
  for (const char* key : {"reasons", "texts"}) out[key] = nlohmann::ordered_json::object();
  // nlohmann's ordered objects look for a key from the front; large graphs are written into plain ones.
  nlohmann::json assignment, start, finish, reasons, texts;
  for (nlohmann::json* object : {&assignment, &start, &finish, &reasons, &texts}) *object = nlohmann::json::object();
  for (const OpRecord& op : e.ops) {
    assignment[op.op] = op.chosen;
    start[op.op] = op.start_us;
    finish[op.op] = op.finish_us;
    reasons[op.op] = reason_name(op.reason);
    texts[op.op] = op.text;
  }
  out["assignment"] = assignment;
  out["start_us"] = start;
  out["finish_us"] = finish;
  out["reasons"] = reasons;
  out["texts"] = texts;
  out["copies"] = nlohmann::ordered_json::array();
  for (const Crossing& c : e.crossings)
    out["copies"].push_back({{"node", c.value},
                             {"from", c.from},
                             {"to", c.to},
                             {"bytes", c.bytes},
                             {"start_us", c.start_us},
                             {"finish_us", c.start_us + c.us}});
  out["optimal"] = e.optimal;
  std::cout << out.dump(2) << "\n";
}

void print_table(const Explanation& e) {
  const std::string report = e.to_text();
  std::cout << report.substr(0, report.find("dearest")) << "\n" << timeline_text(e) << "\n";
  constexpr std::size_t kMostRows = 200;
  Table table({{"node", 18}, {"device", 8}, {"start us"}, {"finish us"}, {"reason"}, {"why", 36}});
  for (std::size_t i = 0; i < std::min(e.ops.size(), kMostRows); ++i) {
    const OpRecord& op = e.ops[i];
    table.add({op.op, op.chosen, microseconds(op.start_us), microseconds(op.finish_us),
               std::string(reason_name(op.reason)), op.text});
  }
  table.print(std::cout);
  if (e.ops.size() > kMostRows) std::cout << "and " << e.ops.size() - kMostRows << " more; --json prints all of them\n";
}

/// What only graph and machine together show, a cycle, too little memory or a missing link, names both files.
Schedule place_file(const PlaceGraph& graph, const Machine& machine, const PlaceOptions& options) {
  try {
    return place(graph, machine, {.soft = options.soft, .visible = options.visible, .thorough = !options.quick});
  } catch (const Error& error) {
    fail(error.code(), options.graph, " on ", options.machine, ": ", error.message());
  }
}

void run_place(const PlaceOptions& options) {
  const Machine machine = read_machine(options.machine);
  const PlaceGraph graph = read_place_graph(options.graph);
  const Schedule schedule = place_file(graph, machine, options);
  const Explanation explanation = explain(schedule, graph, machine);
  if (options.dot) std::cout << explanation.to_dot();
  else if (options.json) print_json(explanation);
  else print_table(explanation);
}

}  // namespace

void add_place(CLI::App& app) {
  CLI::App* command = app.add_subcommand("place", "Put a graph on the devices of a machine file, and say why");
  auto options = std::make_shared<PlaceOptions>();
  command->add_option("--graph", options->graph, "Nodes with costs, edges with bytes (docs/placement.md)")->required();
  command->add_option("--machine", options->machine, "Devices and links, such as machines/rtx3080.json")->required();
  command->add_option("--visible", options->visible, "Devices that may be used: /CPU:0,/GPU:0")->delimiter(',');
  command->add_flag("--soft", options->soft, "A device that was asked for and cannot be used gives way");
  command->add_flag("--quick", options->quick, "Search only as long as when a function is traced: milliseconds");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--dot", options->dot, "Print a graph for Graphviz");
  command->callback([options] { run_place(*options); });
}

}  // namespace tandem::cli
