// tandem ops: which kernel runs which op, for every dtype and device.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "tandem/base/text.h"
#include "tandem/cli/commands.h"
#include "tandem/cli/kernel_table.h"
#include "tandem/cli/op_pages.h"
#include "tandem/cli/table.h"
#include "tandem/runtime/runtime.h"

namespace tandem::cli {
namespace {

std::vector<KernelChoice> choices_of(std::span<const OpDef* const> ops) {
  std::vector<KernelChoice> all;
  for (const OpDef* op : ops)
    for (Device* device : default_runtime().devices())
      for (KernelChoice& choice : kernel_choices(*op, *device)) all.push_back(std::move(choice));
  return all;
}

std::string kernels_text(const KernelChoice& choice) { return choice.kernels.empty() ? "none" : join(choice.kernels); }

std::string refused_names(const KernelChoice& choice) {
  std::vector<std::string> names;
  for (const Refusal& refusal : choice.refused)
    if (std::find(names.begin(), names.end(), refusal.kernel) == names.end()) names.push_back(refusal.kernel);
  return join(names);
}

/// "f32": short, so that all dtypes of an op fit one cell.
std::string short_dtype(DType dtype) {
  constexpr const char* kNames[] = {"f16", "bf16", "f32", "f64", "i8", "u8", "i32", "i64", "bool", "string"};
  return kNames[static_cast<int>(dtype)];
}

/// One line for the dtypes of an op and device that the same kernels run.
void print_summary(const std::vector<KernelChoice>& choices) {
  Table table({{"op", 27}, {"device", 6}, {"dtypes", 22}, {"kernel", 17}, {"refused before", 20}});
  for (std::size_t at = 0; at < choices.size();) {
    std::size_t end = at;
    std::vector<std::string> groups;  // in order of first appearance
    std::map<std::string, std::vector<std::string>> cells;
    for (; end < choices.size() && choices[end].op == choices[at].op && choices[end].device == choices[at].device;
         ++end) {
      const std::string group = kernels_text(choices[end]) + "\n" + refused_names(choices[end]);
      auto& dtypes = cells[group];
      if (dtypes.empty()) groups.push_back(group);
      dtypes.push_back(short_dtype(choices[end].dtype));
    }
    std::string name(choices[at].op->name);
    for (const std::string& group : groups) {
      const std::size_t split = group.find('\n');
      table.add({name, choices[at].device, join(cells[group], " "), group.substr(0, split), group.substr(split + 1)});
      name.clear();
    }
    at = end;
  }
  table.print(std::cout);
  std::cout << "\ntandem ops NAME says more about an op, and why a kernel refused.\n";
}

std::string attribute_text(const AttrDef& attr) {
  constexpr const char* kKinds[] = {"int", "float", "bool", "dtype", "list of int", "one of "};
  std::string kind = kKinds[static_cast<int>(attr.kind)];
  if (attr.kind == AttrKind::choice) kind += attr.choices;
  return text(attr.name, ": ", kind, attr.default_value.empty() ? "" : text(" = ", attr.default_value));
}

void print_op(const OpDef& op, const std::vector<KernelChoice>& choices) {
  std::cout << op.name << "(" << join(op.inputs) << (op.variadic ? ", …" : "") << ")\n"
            << join(wrap(std::string(op.doc), 100), "\n") << "\n";
  for (const AttrDef& attr : op.attrs) std::cout << "  " << attribute_text(attr) << "\n";
  std::cout << "  gradient: " << (op.grad ? "yes" : "no") << "\n\n";

  Table table({{"dtype", 10}, {"device", 8}, {"kernel", 20}, {"refused before", 54}});
  for (const KernelChoice& choice : choices) {
    std::string dtype(dtype_name(choice.dtype)), device = choice.device, kernel = kernels_text(choice);
    std::vector<std::string> refusals;
    for (const Refusal& refusal : choice.refused) refusals.push_back(refusal.kernel + ": " + refusal.reason);
    if (refusals.empty()) refusals.push_back("");
    for (const std::string& refusal : refusals) {
      table.add({std::exchange(dtype, ""), std::exchange(device, ""), std::exchange(kernel, ""), refusal});
    }
  }
  table.print(std::cout);
}

void print_json(const std::vector<KernelChoice>& choices) {
  auto list = nlohmann::ordered_json::array();
  for (const KernelChoice& choice : choices) {
    auto refused = nlohmann::ordered_json::array();
    for (const Refusal& refusal : choice.refused)
      refused.push_back({{"kernel", refusal.kernel}, {"reason", refusal.reason}});
    list.push_back({{"op", std::string(choice.op->name)},
                    {"dtype", std::string(dtype_name(choice.dtype))},
                    {"device", choice.device},
                    {"kernels", choice.kernels},
                    {"refused", refused}});
  }
  std::cout << list.dump(2) << "\n";
}

void print_ops(const std::string& name, bool json) {
  std::vector<const OpDef*> ops(op_list().begin(), op_list().end());
  if (!name.empty()) {
    const OpDef* op = find_op(name);
    if (!op) throw CLI::ValidationError("there is no op " + name);
    ops = {op};
  }
  const auto choices = choices_of(ops);
  if (json) return print_json(choices);
  if (!name.empty()) return print_op(*ops[0], choices);
  print_summary(choices);
}

}  // namespace

void add_ops(CLI::App& app) {
  CLI::App* command = app.add_subcommand("ops", "List which kernel runs which op, by dtype and device");
  auto name = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false), markdown = std::make_shared<bool>(false);
  command->add_option("NAME", *name, "One op only, with the reasons of refusals");
  command->add_flag("--json", *json, "Print JSON");
  command->add_flag("--markdown", *markdown, "Print docs/ops.md");
  command->callback([=] { *markdown ? write_op_pages(std::cout) : print_ops(*name, *json); });
}

}  // namespace tandem::cli
