// tandem suggest: what would make a step of a saved function or model shorter, with the predicted gain.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "tandem/cli/commands.h"
#include "tandem/cli/table.h"
#include "tandem/cli/target.h"

namespace tandem::cli {
namespace {

using Json = nlohmann::ordered_json;

struct SuggestCommand {
  TargetOptions target;
  std::string apply;
};

std::string_view kind_name(Suggestion::Kind kind) {
  switch (kind) {
    case Suggestion::Kind::placement: return "placement";
    case Suggestion::Kind::cast: return "cast";
    case Suggestion::Kind::input: return "input";
  }
  return "";
}

void print(const std::vector<Suggestion>& list, double step_us, bool json) {
  if (json) {
    Json out{{"predicted_us", step_us}, {"suggestions", Json::array()}};
    for (const Suggestion& s : list)
      out["suggestions"].push_back({{"kind", kind_name(s.kind)},
                                    {"text", s.text},
                                    {"gain_us", s.gain_us},
                                    {"predicted_us", s.then.makespan_us}});
    std::cout << out.dump(2) << "\n";
    return;
  }
  std::cout << "a step is predicted to take " << figure(step_us, 3) << " us\n";
  if (list.empty()) {
    std::cout << "nothing would make it shorter by a hundredth or more\n";
    return;
  }
  Table table({{"gain us"}, {"of a step"}, {"what", 72}});
  for (const Suggestion& s : list)
    table.add({figure(s.gain_us, 3), text(std::lround(100 * s.gain_us / step_us), " %"), s.text});
  table.print(std::cout);
}

/// The best placement, with what a remedy moves.
void apply(const SuggestCommand& command, const Target& target, const std::vector<Suggestion>& list,
           const Explanation& now) {
  const auto found = std::ranges::find(list, Suggestion::Kind::placement, &Suggestion::kind);
  LockedFunction function = locked(*target.function, found == list.end() ? now : found->then);
  function.scopes = found == list.end();
  add_to_lock(std::move(function), command.apply);
  std::cerr << (found == list.end() ? "no placement remedy; the plan as it is" : "the placement remedy")
            << " was written to " << command.apply << "\n";
}

void run(const SuggestCommand& command) {
  const Target target = open_target(command.target);
  const ExplainOptions options = explain_options(command.target);
  const auto refs = target.refs();
  const Explanation now = explain(*target.function, refs, options);
  const auto list = suggest(*target.function, refs, options);
  print(list, now.makespan_us, command.target.json);
  if (!command.apply.empty()) apply(command, target, list, now);
}

}  // namespace

void add_suggest(CLI::App& app) {
  CLI::App* command = app.add_subcommand("suggest", "List what would make a step of a saved function or model shorter");
  auto options = std::make_shared<SuggestCommand>();
  options->target.add_to(*command);
  command->add_option("--apply", options->apply, "Write the placement remedy to this placement lock");
  command->callback([options] { run(*options); });
}

}  // namespace tandem::cli
