#include "tandem/graph/passes.h"

#include <atomic>
#include <chrono>
#include <cstdlib>

#include "tandem/graph/rewrite.h"

namespace tandem {
namespace {

constexpr Pass kPasses[] = {
    {"fold", "computes what depends on constants only", fold_constants},
    {"simplify", "x * 1, x + 0, casts and reshapes that change nothing", simplify},
    {"transpose", "transposes become flags of the matmul that reads them", fold_transposes},
    {"cse", "nodes that compute the same from the same become one", merge_common},
    {"dce", "drops what no result and no variable needs", remove_dead},
    {"epilogue", "elementwise ops on the result of a matmul or a convolution become part of it", fuse_products},
    {"reduce", "elementwise ops become part of the reduction that reads them", fuse_reductions},
    {"fuse", "elementwise ops that feed one another become one loop", fuse},
    {"stage", "each core takes its rows of a batch through several ops before the cores meet", nullptr},
    {"bundle", "small ops that need nothing of each other run at once, on several cores", nullptr},
};

struct Switches {
  std::atomic<bool> on[std::size(kPasses)];

  Switches() {
    for (auto& s : on) s = true;
    const char* value = std::getenv("TANDEM_PASSES");
    std::string_view list = value ? value : "";
    while (!list.empty()) {
      const std::size_t end = std::min(list.find(','), list.size());
      const std::string_view word = list.substr(0, end);
      list.remove_prefix(std::min(end + 1, list.size()));
      if (word.empty()) continue;
      if (word[0] != '-' && word[0] != '+')
        fail(ErrorCode::invalid_argument, "TANDEM_PASSES: '", word,
             "' must be -NAME or +NAME, as in TANDEM_PASSES=-fuse,-cse");
      set(word.substr(1), word[0] == '+');
    }
  }
  void set(std::string_view name, bool enabled) { on[index(name)] = enabled; }
  static std::size_t index(std::string_view name) {
    std::string known;
    for (std::size_t i = 0; i < std::size(kPasses); ++i) {
      if (kPasses[i].name == name) return i;
      known += text(known.empty() ? "" : ", ", kPasses[i].name);
    }
    fail(ErrorCode::invalid_argument, "there is no pass '", name, "'; the passes are ", known);
  }
};
Switches& switches() {
  static Switches instance;
  return instance;
}

}  // namespace

std::span<const Pass> pass_list() { return kPasses; }
bool pass_enabled(std::string_view name) { return switches().on[Switches::index(name)]; }
void set_pass_enabled(std::string_view name, bool on) { switches().set(name, on); }

Graph optimize(const Graph& graph, std::vector<PassReport>* reports) {
  Graph out = graph;
  for (const Pass& pass : kPasses) {
    PassReport report{.name = pass.name, .enabled = pass_enabled(pass.name), .nodes_before = out.op_count()};
    const auto begin = std::chrono::steady_clock::now();
    if (report.enabled && pass.run) {
      pass.run(out);
      verify(out);
    }
    report.nodes_after = out.op_count();
    report.microseconds = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    if (reports) reports->push_back(report);
  }
  return out;
}

}  // namespace tandem
