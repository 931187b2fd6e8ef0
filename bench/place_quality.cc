// How far the placer's schedules are from the best that a minute of annealing finds, on random graphs of 50 to 200
// nodes. What it finds is stored in place_yardsticks.h. TANDEM_ANNEAL_SECONDS=60 anneals anew and prints the table;
// with --cpu-time others may use the machine.
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "bench/harness.h"
#include "bench/place_graphs.h"
#include "bench/place_yardsticks.h"
#include "tandem/base/error.h"
#include "tandem/base/hash.h"
#include "tandem/place/list_scheduler.h"
#include "tandem/place/latest_starts.h"
#include "tandem/place/solver.h"

namespace tandem::bench {
namespace {

using namespace placer;

/// Plain annealing on orders and assignments: slow and simple, and nothing of the placer's search in it.
class Annealer {
 public:
  Annealer(const Problem& problem, Plan start, unsigned seed)
      : p_(problem),
        decoder_(problem),
        plan_(std::move(start)),
        dice_(seed) {}

  double run(double seconds, double heat) {
    double now_us = decoder_.run(plan_.order, plan_.assignment), best = now_us;
    const double begin = now();
    for (double done = 0; done < 1; done = (now() - begin) / seconds) {
      const double temperature = heat * best * std::pow(1e-3, done);
      for (int i = 0; i < 64; ++i) {
        const Plan before = plan_;
        change();
        const double limit = now_us - temperature * std::log(dice_.between(1e-12, 1));
        const double us = decoder_.run(plan_.order, plan_.assignment, limit * (1 + 1e-12));
        if (us == kNever) plan_ = before;
        else best = std::min(best, now_us = us);
      }
    }
    return best;
  }

 private:
  void change() {
    const int node = dice_.below(static_cast<std::size_t>(p_.nodes)),
              device = dice_.below(static_cast<std::size_t>(p_.devices));
    if (dice_.chance(0.4)) return move(node);
    put(node, device);
    int at = node;
    for (int steps = dice_.below(2) * dice_.below(8); steps > 0; --steps) {  // some of its neighbourhood with it
      const auto around = dice_.chance(0.5) ? p_.inputs[at] : p_.consumers[at];
      if (around.empty()) return;
      at = around[static_cast<std::size_t>(dice_.below(around.size()))].node;
      put(at, device);
    }
  }

  void put(int node, int device) {
    if (p_.may(node, device)) plan_.assignment[static_cast<std::size_t>(node)] = static_cast<std::uint8_t>(device);
  }

  /// To any place in the order between its inputs and its consumers.
  void move(int node) {
    const auto place = [&](int v) { return static_cast<int>(std::ranges::find(plan_.order, v) - plan_.order.begin()); };
    int first = 0, last = p_.nodes - 1;
    for (const Neighbour& input : p_.inputs[node]) first = std::max(first, place(input.node) + 1);
    for (const Neighbour& c : p_.consumers[node]) last = std::min(last, place(c.node) - 1);
    plan_.order.erase(plan_.order.begin() + place(node));
    plan_.order.insert(plan_.order.begin() + first + dice_.below(static_cast<std::size_t>(last - first + 1)), node);
  }

  const Problem& p_;
  Decoder decoder_;
  Plan plan_;
  Dice dice_;
};

double annealed(const Problem& problem, double seconds) {
  Plan start;
  Decoder decoder(problem);
  for (const Order& order : {rank_order(problem), light_order(problem)})
    for (const bool look_ahead : {false, true})
      if (const auto assignment = list_schedule(problem, order, {.look_ahead = look_ahead}))
        if (const double us = decoder.run(order, *assignment); us < start.makespan) start = {order, *assignment, us};
  if (start.makespan == kNever) return kNever;
  double best = start.makespan;
  for (const double heat : {0.1, 0.03, 0.01}) best = std::min(best, Annealer(problem, start, 7).run(seconds / 3, heat));
  return best;
}

/// Of all that a makespan depends on: a yardstick is one for the same graph only.
std::uint64_t fingerprint(const Problem& problem) {
  std::uint64_t hash = 0;
  const auto add_all = [&](const auto& values) {
    for (const auto value : values) {
      if constexpr (std::is_floating_point_v<decltype(value)>) hash = mix(hash, std::bit_cast<std::uint64_t>(value));
      else hash = mix(hash, static_cast<std::uint64_t>(value));
    }
  };
  add_all(problem.cost);
  for (const auto figure : {&MoveTime<double>::latency_us, &MoveTime<double>::us_per_byte})
    for (const MoveTime<double>& move : problem.moves) add_all(std::array{move.*figure});
  add_all(problem.memory);
  add_all(problem.capacity);
  add_all(problem.allowed);
  for (int v = 0; v < problem.nodes; ++v)
    for (const Neighbour& c : problem.consumers[v])
      hash = mix(mix(mix(hash, static_cast<std::uint64_t>(v)), static_cast<std::uint64_t>(c.node)),
                 static_cast<std::uint64_t>(c.bytes));
  return hash;
}

struct Judged {
  GraphCase graph_case;
  Problem problem;
};

/// The graph with this number.
Judged judged(int graph) {
  const GraphCase graph_case = quality_cases(kGraphsOfEachShape)[static_cast<std::size_t>(graph)];
  const PlaceQuestion question = make_question(graph_case, static_cast<unsigned>(graph));
  return {graph_case, make_problem(question.graph, question.machine, {})};
}

/// What annealing finds in so many seconds, for all graphs; printed as the lines of place_yardsticks.h.
std::vector<Yardstick> annealed_anew(double seconds) {
  std::vector<Yardstick> made;
  for (int graph = 0; graph < static_cast<int>(quality_cases(kGraphsOfEachShape).size()); ++graph) {
    const Problem problem = judged(graph).problem;
    made.push_back({graph, fingerprint(problem), annealed(problem, seconds)});
    std::fprintf(stderr, "    {%d, 0x%016llx, %.17g},\n", graph,
                 static_cast<unsigned long long>(made.back().fingerprint), made.back().annealed_us);
  }
  return made;
}

struct Quality {
  double mean = 0, worst = 0;
};

Quality quality_of(const std::vector<Yardstick>& yardsticks, bool thorough) {
  const bool told = std::getenv("TANDEM_BENCH_EXPLAIN");
  Quality all;
  for (const Yardstick& yardstick : yardsticks) {
    const auto [graph_case, problem] = judged(yardstick.graph);
    if (fingerprint(problem) != yardstick.fingerprint)
      fail(ErrorCode::invalid_argument, "place_quality: graph ", yardstick.graph,
           " is not the one that place_yardsticks.h was made for");
    const double ratio = solve(problem, {.thorough = thorough}).makespan / yardstick.annealed_us;
    if (told)
      std::fprintf(stderr, "%3d nodes, %d devices, crossing %.1f: %.3f%s\n", graph_case.nodes, graph_case.devices,
                   graph_case.crossing, ratio, thorough ? " thorough" : "");
    all.mean += ratio / static_cast<double>(yardsticks.size());
    all.worst = std::max(all.worst, ratio);
  }
  return all;
}

/// As when a function is traced, and as `tandem place` searches.
std::vector<Row> quality() {
  const char* seconds = std::getenv("TANDEM_ANNEAL_SECONDS");
  const std::vector<Yardstick> yardsticks =
      seconds ? annealed_anew(std::atof(seconds))
              : std::vector<Yardstick>(std::begin(kYardsticks), std::end(kYardsticks));
  const std::string reference = std::string("annealing, ") + (seconds ? seconds : "60") + " s a graph";
  std::vector<Row> rows;
  for (const bool thorough : {false, true}) {
    const Quality found = quality_of(yardsticks, thorough);
    const std::string name = thorough ? "place_quality_thorough_" : "place_quality_";
    rows.push_back({name + "mean", found.mean, "x", reference, 1, found.mean, "<= 1.05"});
    rows.push_back({name + "worst", found.worst, "x", reference, 1, found.worst, "<= 1.05"});
  }
  return rows;
}

/// The slowest of these graphs that has a hundred nodes: up to four devices, little memory, missing links.
std::vector<Row> slowest_of_100_nodes() {
  const auto slowest_ms = [](bool thorough) {
    double slowest = 0;
    unsigned number = 0;
    for (const GraphCase& graph_case : quality_cases(kGraphsOfEachShape)) {
      const PlaceQuestion question = make_question(graph_case, number++);
      if (graph_case.nodes != 100) continue;
      const auto placed = [&] { place(question.graph, question.machine, {.thorough = thorough}); };
      slowest = std::max(slowest, 1e3 * seconds_of(placed));
    }
    return slowest;
  };
  const double quick = slowest_ms(false), thorough = slowest_ms(true);
  return {{"place_100_nodes_slowest", quick, "ms", "goal 5 ms", 5, quick / 5, "<= 1"},
          {"place_100_nodes_thorough", thorough, "ms", "the quick search", quick, thorough / quick, ""}};
}

}  // namespace

std::vector<Benchmark> place_quality_benchmarks() {
  return {{"place_quality", quality}, {"place_100_nodes_slowest", slowest_of_100_nodes}};
}

}  // namespace tandem::bench
