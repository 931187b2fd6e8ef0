#include "tandem/place/explanation.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "tandem/base/text.h"

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShown = 5;  // crossings and ops in the summary

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

std::string time_text(double us) {
  std::ostringstream out;
  if (us >= 1e6) out << std::setprecision(4) << us / 1e6 << " s";
  else if (us >= 1e3) out << std::setprecision(4) << us / 1e3 << " ms";
  else out << std::setprecision(4) << us << " us";
  return out.str();
}

std::string bytes_text(std::int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  std::ostringstream out;
  out << std::setprecision(4) << value << " " << kUnits[unit];
  return out.str();
}

/// Crossings of the same direction, added up.
struct Direction {
  std::string from, to;
  std::int64_t count = 0, bytes = 0;
  double us = 0;
};

std::vector<Direction> directions(const std::vector<Crossing>& crossings) {
  std::vector<Direction> list;
  for (const Crossing& c : crossings) {
    auto found = std::ranges::find_if(list, [&](const Direction& d) { return d.from == c.from && d.to == c.to; });
    if (found == list.end()) found = list.insert(list.end(), {c.from, c.to});
    found->count += 1;
    found->bytes += c.bytes;
    found->us += c.us;
  }
  return list;
}

Json candidates_json(const OpRecord& op) {
  Json list = Json::array();
  for (const OpRecord::Candidate& c : op.candidates) {
    if (c.refusal.empty()) list.push_back({{"device", c.device}, {"us", c.us}});
    else list.push_back({{"device", c.device}, {"refusal", c.refusal}});
  }
  return list;
}

/// Text in DOT's quotes.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

/// The crossings that take longest.
void write_crossings(std::ostream& out, const Explanation& e) {
  std::vector<const Crossing*> dearest;
  for (const Crossing& c : e.crossings) dearest.push_back(&c);
  std::ranges::stable_sort(dearest, std::ranges::greater{}, &Crossing::us);
  dearest.resize(std::min(dearest.size(), kShown));
  for (const Crossing* c : dearest)
    out << "    " << c->value << ", " << c->from << " -> " << c->to << ": " << bytes_text(c->bytes) << ", "
        << time_text(c->us) << "\n";
}

void write_totals(std::ostream& out, const Explanation& e) {
  std::int64_t bytes = 0;
  double us = 0;
  for (const Crossing& c : e.crossings) bytes += c.bytes, us += c.us;
  out << e.crossings.size() << (e.crossings.size() == 1 ? " crossing, " : " crossings, ") << bytes_text(bytes) << ", "
      << time_text(us) << "\n";
  for (const Direction& d : directions(e.crossings))
    out << "  " << d.from << " -> " << d.to << ": " << d.count << ", " << bytes_text(d.bytes) << ", " << time_text(d.us)
        << "\n";
  write_crossings(out, e);
  out << "predicted " << time_text(e.makespan_us) << (e.optimal ? ", proved to be the least" : "");
  if (e.whole) out << ", " << time_text(e.whole->makespan_us) << " without splitting";
  if (e.here_us)
    out << " on " << (e.machine.empty() ? "that machine" : e.machine) << "; " << time_text(*e.here_us)
        << " on this one";
  out << "\n";
  if (e.op_by_op) out << "  op by op: it cannot be traced, so nothing is fused or planned ahead\n";
  if (!e.doubt.empty()) out << "  by doubtful figures: when they were measured, " << e.doubt << "\n";
  for (const std::string& device : e.devices) {
    double busy = 0;
    std::size_t count = 0;
    for (const OpRecord& op : e.ops)
      if (op.chosen == device) busy += op.finish_us - op.start_us, ++count;
    const double share = e.makespan_us > 0 ? 100 * busy / e.makespan_us : 0;
    out << "  " << device << ": " << count << (count == 1 ? " op, " : " ops, ") << time_text(busy) << " busy ("
        << std::lround(share) << " %)\n";
  }
}

void write_dearest(std::ostream& out, const Explanation& e) {
  std::vector<std::size_t> dearest(e.ops.size());
  std::iota(dearest.begin(), dearest.end(), 0);
  const auto cost = [&](std::size_t i) { return e.ops[i].finish_us - e.ops[i].start_us + e.ops[i].transfer_us; };
  std::ranges::stable_sort(dearest, [&](std::size_t a, std::size_t b) { return cost(a) > cost(b); });
  dearest.resize(std::min(dearest.size(), kShown));
  out << "dearest\n";
  for (const std::size_t i : dearest)
    out << "  " << e.ops[i].op << " on " << e.ops[i].chosen << ": " << time_text(e.ops[i].finish_us - e.ops[i].start_us)
        << (e.ops[i].transfer_us > 0 ? text(" + ", time_text(e.ops[i].transfer_us), " of copies") : "") << "\n";
}

/// Paints [from, to) of a row; a sliver is still one character.
void paint(std::string& row, double from, double to, double whole, char letter) {
  const auto width = static_cast<double>(row.size());
  auto first = static_cast<std::size_t>(std::clamp(from / whole * width, 0.0, width - 1));
  const auto last = static_cast<std::size_t>(std::clamp(to / whole * width, 0.0, width));
  do row[first] = row[first] == ' ' ? letter : row[first] == letter ? letter : '+';
  while (++first < last);
}

}  // namespace

Explanation explain(const Schedule& schedule, const PlaceGraph& graph, const Machine& machine) {
  Explanation e{.makespan_us = schedule.makespan_us, .optimal = schedule.optimal};
  if (machine.doubt) e.doubt = machine.doubt->why;
  const auto name = [&](std::int32_t device) { return machine.devices[at(device)].name; };
  for (std::size_t v = 0; v < schedule.nodes.size(); ++v) {
    const Placement& p = schedule.nodes[v];
    const PlaceNode& n = graph.nodes[v];
    OpRecord op{.op = n.id,
                .requested = n.requested,
                .chosen = name(p.device),
                .reason = p.reason,
                .text = p.text,
                .compute_us = p.finish_us - p.start_us - p.launch_us,
                .transfer_us = p.transfer_us,
                .launch_us = p.launch_us,
                .start_us = p.start_us,
                .finish_us = p.finish_us,
                .bytes_moved = p.bytes_moved};
    if (n.work) op.dtype = dtype_name(n.work->dtype);
    for (const PlaceCandidate& c : p.candidates) op.candidates.push_back({name(c.device), c.us, c.refusal});
    e.ops.push_back(std::move(op));
  }
  for (const PlaceCopy& c : schedule.copies)
    e.crossings.push_back(
        {graph.nodes[at(c.node)].id, name(c.from), name(c.to), c.bytes, c.start_us, c.finish_us - c.start_us});
  for (const PlaceEdge& edge : graph.edges) e.edges.emplace_back(edge.from, edge.to);
  for (const MachineDevice& device : machine.devices) e.devices.push_back(device.name);
  return e;
}

std::string Explanation::summary() const {
  std::ostringstream out;
  write_totals(out, *this);
  if (!ops.empty()) write_dearest(out, *this);
  return out.str();
}

std::string Explanation::to_text() const {
  std::ostringstream out;
  out << summary();
  for (const OpRecord& op : ops)
    out << op.op << " on " << op.chosen << ": " << reason_name(op.reason) << ", " << op.text
        << (op.remedy.empty() ? "" : "; " + op.remedy) << "\n";
  return out.str();
}

std::string Explanation::to_json() const {
  Json list = Json::array(), crossing_list = Json::array();
  for (const OpRecord& op : ops)
    list.push_back(
        {{"op", op.op},
         {"dtype", op.dtype},
         {"shape", op.shape},
         {"requested", op.requested},
         {"chosen", op.chosen},
         {"kernel", op.kernel},
         {"reason", reason_name(op.reason)},
         {"text", op.text},
         {"predicted_us", {{"compute", op.compute_us}, {"transfer", op.transfer_us}, {"launch", op.launch_us}}},
         {"candidates", candidates_json(op)},
         {"bytes_moved", op.bytes_moved},
         {"remedy", op.remedy}});
  for (const Crossing& c : crossings)
    crossing_list.push_back({{"value", c.value}, {"from", c.from}, {"to", c.to}, {"bytes", c.bytes}, {"us", c.us}});
  Json out{{"crossings", crossing_list}, {"makespan_us", makespan_us}, {"optimal", optimal}};
  if (op_by_op) out["op_by_op"] = true;
  if (here_us) out["machine"] = machine, out["here_us"] = *here_us;
  if (!doubt.empty()) out["doubt"] = doubt;
  out["ops"] = list;
  return out.dump(2) + "\n";
}

std::string Explanation::to_dot() const {
  std::ostringstream out;
  out << "digraph placement {\n  rankdir=LR;\n  node [shape=box];\n";
  for (std::size_t d = 0; d < devices.size(); ++d) {
    out << "  subgraph cluster_" << d << " {\n    label=" << quoted(devices[d]) << ";\n";
    for (std::size_t v = 0; v < ops.size(); ++v)
      if (ops[v].chosen == devices[d])
        out << "    n" << v << " [label=" << quoted(ops[v].op)
            << ", tooltip=" << quoted(text(reason_name(ops[v].reason), ": ", ops[v].text)) << "];\n";
    out << "  }\n";
  }
  for (const auto& [from, to] : edges)
    out << "  n" << from << " -> n" << to << (ops[at(from)].chosen == ops[at(to)].chosen ? "" : " [color=red]")
        << ";\n";
  out << "}\n";
  return out.str();
}

std::string timeline_text(const Explanation& e, std::size_t width) {
  const double whole = e.makespan_us > 0 ? e.makespan_us : 1;
  std::vector<std::pair<std::string, std::string>> rows;
  for (const std::string& device : e.devices) {
    std::string row(width, ' ');
    char letter = 'a';
    for (const OpRecord& op : e.ops)
      if (op.chosen == device) {
        paint(row, op.start_us, op.finish_us, whole, letter);
        letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1);
      }
    rows.emplace_back(device, row);
  }
  for (const Crossing& c : e.crossings) {
    const std::string name = text(c.from, " > ", c.to);
    auto found = std::ranges::find(rows, name, &std::pair<std::string, std::string>::first);
    if (found == rows.end()) found = rows.insert(rows.end(), {name, std::string(width, ' ')});
    paint(found->second, c.start_us, c.start_us + c.us, whole, '-');
  }
  std::size_t longest = 0;
  for (const auto& [name, row] : rows) longest = std::max(longest, name.size());
  std::ostringstream out;
  for (const auto& [name, row] : rows)
    out << std::left << std::setw(static_cast<int>(longest)) << name << " |" << row << "|\n";
  const std::string end = time_text(e.makespan_us);
  out << std::string(longest + 2, ' ') << "0" << std::string(width > end.size() + 1 ? width - end.size() - 1 : 1, ' ')
      << end << "\n";
  return out.str();
}

}  // namespace tandem
