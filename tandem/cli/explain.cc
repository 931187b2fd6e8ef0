// tandem explain: where the ops of a saved function or model run, why, what that takes; here or on another machine.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tandem/cli/commands.h"
#include "tandem/cli/table.h"
#include "tandem/cli/target.h"
#include "tandem/graph/fingerprint.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDrifted = 3;
constexpr std::size_t kMostRows = 200;

struct ExplainCommand {
  TargetOptions target;
  bool dot = false;
  std::string lock, check;
};

std::string total(const OpRecord& op) { return figure(op.compute_us + op.launch_us + op.transfer_us); }

void print_rest(std::size_t rows) {
  if (rows > kMostRows) std::cout << "and " << rows - kMostRows << " more; --json prints all of them\n";
}

void print_ops(const Explanation& e) {
  Table table(
      {{"op", 20}, {"dtype", 8}, {"shape", 18}, {"device", 8}, {"us"}, {"kernel", 20}, {"reason"}, {"why", 40}});
  for (std::size_t i = 0; i < std::min(e.ops.size(), kMostRows); ++i) {
    const OpRecord& op = e.ops[i];
    table.add({op.op, op.dtype, op.shape, op.chosen, total(op), op.kernel, std::string(reason_name(op.reason)),
               op.remedy.empty() ? op.text : op.text + "; " + op.remedy});
  }
  table.print(std::cout);
  print_rest(e.ops.size());
}

/// There and here, op by op; where only one of the plans splits ops, they have others, and one follows the other.
void print_both(const Explanation& there, const Explanation& here) {
  const auto same_op = [](const OpRecord& a, const OpRecord& b) { return a.op == b.op && a.shape == b.shape; };
  if (!std::ranges::equal(there.ops, here.ops, same_op)) {
    std::cout << "there\n";
    print_ops(there);
    std::cout << "\nhere\n";
    return print_ops(here);
  }
  Table table(
      {{"op", 20}, {"shape", 18}, {"there", 8}, {"us there"}, {"here", 8}, {"us here"}, {"reason there"}, {"why", 36}});
  for (std::size_t i = 0; i < std::min(there.ops.size(), kMostRows); ++i) {
    const OpRecord &a = there.ops[i], &b = here.ops[i];
    table.add({a.op, a.shape, a.chosen, total(a), b.chosen, total(b), std::string(reason_name(a.reason)), a.text});
  }
  table.print(std::cout);
  print_rest(there.ops.size());
}

void print_json(const Explanation& e, const std::optional<Explanation>& here) {
  if (!here) {
    std::cout << e.to_json();
    return;
  }
  Json both = Json::parse(e.to_json());
  both["here"] = Json::parse(here->to_json());
  std::cout << both.dump(2) << "\n";
}

void write(const ExplainCommand& command, const LockedFunction& now) {
  add_to_lock(now, command.lock);
  std::cerr << "wrote where " << now.ops.size() << " ops run to " << command.lock << "\n";
}

/// Says what has changed since the lock was written.
void check(const ExplainCommand& command, const Target& target, ExplainOptions options) {
  const PlacementLock lock = read_lock(command.check);
  const LockedFunction* before = lock.find(fingerprint(target.function->optimized()));
  options.scopes = !before || before->scopes;
  const LockedFunction now = locked(*target.function, explain(*target.function, target.refs(), options));
  const auto sentences = drift(lock, now);
  if (command.target.json) std::cout << Json{{"drift", sentences}}.dump(2) << "\n";
  else if (sentences.empty())
    std::cout << "as locked: " << now.ops.size() << " ops, predicted " << figure(now.predicted_us) << " us\n";
  else
    for (const std::string& sentence : sentences) std::cout << sentence << "\n";
  if (!sentences.empty()) throw ExitWith{kDrifted};
}

void run(const ExplainCommand& command) {
  const Target target = open_target(command.target);
  const ExplainOptions options = explain_options(command.target);
  if (!command.check.empty()) return check(command, target, options);
  const auto refs = target.refs();
  const Explanation e = explain(*target.function, refs, options);
  std::optional<Explanation> here;
  if (options.machine) here = explain(*target.function, refs);
  if (command.dot) {
    std::cout << e.to_dot();
  } else if (command.target.json) {
    print_json(e, here);
  } else {
    std::cout << e.summary() << "\n";
    if (here) print_both(e, *here);
    else print_ops(e);
  }
  if (!command.lock.empty()) write(command, locked(*target.function, e));
}

}  // namespace

void add_explain(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("explain", "Say where the ops of a saved function or model run, why, and what that takes");
  auto options = std::make_shared<ExplainCommand>();
  options->target.add_to(*command);
  CLI::Option* dot = command->add_flag("--dot", options->dot, "Print a graph for Graphviz");
  CLI::Option* lock =
      command->add_option("--lock", options->lock, "Write the plan to this placement lock; other functions in it stay");
  CLI::Option* check = command->add_option(
      "--check", options->check, "Compare the plan with this placement lock; the exit code is 3 when it differs");
  dot->excludes(command->get_option("--json"));
  check->excludes(dot)->excludes(lock);  // it prints what differs and writes nothing
  command->callback([options] { run(*options); });
}

}  // namespace tandem::cli
