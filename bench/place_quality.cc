// How far the placer's schedules are from the best that annealing finds, on random graphs of 50 to 200 nodes.
// TANDEM_ANNEAL_SECONDS is what each graph gets; a minute is what the goal is about, a second is the default.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "bench/harness.h"
#include "bench/place_graphs.h"
#include "tandem/place/list_scheduler.h"
#include "tandem/place/latest_starts.h"
#include "tandem/place/solver.h"

namespace tandem::bench {
namespace {

using namespace placer;

/// Plain annealing on orders and assignments: slow and simple, and nothing of the placer's search in it.
class Annealer {
 public:
  Annealer(const Problem& problem, Plan start, unsigned seed) : p_(problem), decoder_(problem), plan_(std::move(start)), dice_(seed) {}

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
    const int node = dice_.below(static_cast<std::size_t>(p_.nodes)), device = dice_.below(static_cast<std::size_t>(p_.devices));
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

std::vector<Row> quality() {
  const char* wanted = std::getenv("TANDEM_ANNEAL_SECONDS");
  const double seconds = wanted ? std::atof(wanted) : 1;
  const bool told = std::getenv("TANDEM_BENCH_EXPLAIN");
  double sum = 0, worst = 0;
  unsigned count = 0;
  for (const GraphCase& graph_case : quality_cases(2)) {
    const PlaceQuestion question = make_question(graph_case, count++);
    const Problem problem = make_problem(question.graph, question.machine, {});
    const double ours = solve(problem).makespan, best = std::min(ours, annealed(problem, seconds));
    if (told) std::fprintf(stderr, "%3d nodes, %d devices, crossing %.1f: %.3f\n", graph_case.nodes, graph_case.devices, graph_case.crossing, ours / best);
    sum += ours / best;
    worst = std::max(worst, ours / best);
  }
  const std::string reference = "annealing, " + std::to_string(static_cast<int>(seconds)) + " s a graph";
  return {{"place_quality_mean", sum / count, "x", reference, 1, sum / count, "<= 1.05"},
          {"place_quality_worst", worst, "x", reference, 1, worst, "<= 1.05"}};
}

}  // namespace

std::vector<Benchmark> place_quality_benchmarks() { return {{"place_quality", quality}}; }

}  // namespace tandem::bench
