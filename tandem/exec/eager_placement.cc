#include "tandem/exec/eager_placement.h"

#include <algorithm>

#include "tandem/base/cores.h"
#include "tandem/exec/graph_placement.h"

namespace tandem {
namespace {

std::vector<const TensorSpec*> specs_of(const OpCall& call) {
  std::vector<const TensorSpec*> specs;
  for (const TensorRef& input : call.inputs) specs.push_back(&input->spec());
  return specs;
}

/// A device that has a kernel for the op.
struct Possible {
  Device* device = nullptr;
  CostParts cost;
};

std::vector<Possible> possible(const OpCall& call, std::span<Device* const> devices, const Machine& machine) {
  const auto specs = specs_of(call);
  const Specs outputs = infer(call.op, specs, call.attrs);
  std::vector<Operand> in, out;
  for (const TensorSpec* spec : specs) in.emplace_back(*spec);
  for (const TensorSpec& spec : outputs) out.emplace_back(spec);
  const OpWork work = work_of(call.op, specs, call.attrs, outputs);
  std::vector<Possible> list;
  for (Device* device : devices) {
    const auto known = machine.find(device->name().short_name());
    std::vector<Candidate> asked;
    if (!known || !find_kernel({call.op, call.attrs, in, out, device}, asked)) continue;
    list.push_back({device, predict(work, machine.devices[static_cast<std::size_t>(*known)], machine.measured)});
  }
  return list;
}

/// It is cheapest here; `other` is the next best.
ReasonCode why_here(const CostParts& here, const CostParts& other) {
  if (other.bound == CostParts::Bound::depth && other.compute >= other.launch) return ReasonCode::sequential;
  return other.launch >= here.total() ? ReasonCode::too_small : ReasonCode::cheaper_here;
}

std::optional<MoveTime<float>> way(const Machine& machine, const Device& from, const Device& to) {
  const MachineLink* link = machine.link(from.name().short_name(), to.name().short_name());
  if (!link) return std::nullopt;
  const MoveTime<double> move = link->move_time();
  return MoveTime<float>{static_cast<float>(move.latency_us), static_cast<float>(move.us_per_byte),
                         static_cast<float>(move.cached_bytes), static_cast<float>(move.more_per_byte)};
}

}  // namespace

Cost cost_of(const OpCall& call) {
  const auto specs = specs_of(call);
  return cost(call.op, specs, call.attrs, infer(call.op, specs, call.attrs));
}

bool is_trivial(const Cost& work) { return work.flops < 1e5 && work.bytes < 65536; }

double large_work_us(const Cost& work) {
  constexpr double kCoreGflops = 30, kGbPerSecond = 10, kEnoughUs = 1000;
  const double flops_us = work.flops / (kCoreGflops * 1e3 * Cores::process().threads()),
               bytes_us = work.bytes / (kGbPerSecond * 1e3);
  const double us = std::max(flops_us, bytes_us);
  return us >= kEnoughUs ? us : 0;
}

EagerChoice weigh(const OpCall& call, DeviceRegistry& devices, const Machine& machine) {
  Device* here = call.near ? devices.find(*call.near) : nullptr;
  if (!here) here = &devices.host_device();
  const auto candidates = possible(call, devices.known(), machine);
  const auto mine = std::ranges::find(candidates, here, &Possible::device);
  if (mine == candidates.end()) return {{here, ReasonCode::near_its_data}, {}};  // preparing finds out why it cannot
  const Possible* best = nullptr;  // of the others
  for (const Possible& candidate : candidates)
    if (candidate.device != here && (!best || candidate.cost.total() < best->cost.total())) best = &candidate;
  if (!best) return {{here, ReasonCode::near_its_data}, {}};
  const double gain = mine->cost.total() - best->cost.total();
  const ReasonCode reason = gain <= 0 ? why_here(mine->cost, best->cost) : ReasonCode::near_its_data;
  const auto to_there = way(machine, *here, *best->device), to_here = way(machine, *best->device, *here);
  if (!to_there || !to_here) return {{here, reason}, {}};
  return {{here, reason},
          {.there = best->device, .loss_us = static_cast<float>(gain), .to_there = *to_there, .to_here = *to_here}};
}

bool should_move(const OpCall& call, Device& here, const Stay& stay, float& lost) {
  constexpr float kSmallBytes = 4096;  // smaller values go to their consumer, whatever that takes
  float before = 0, price = 0, loss = stay.loss_us;
  const MemorySpace& there = stay.there->memory();
  for (const TensorRef& input : call.inputs) {
    Storage& storage = input->storage();
    before = std::max(before, storage.lost_by_staying());
    const auto bytes = static_cast<float>(storage.bytes());
    if (!storage.is_in(there)) price += stay.to_there.microseconds(bytes);
    if (bytes >= kSmallBytes && !storage.is_in(here.memory())) loss += stay.to_here.microseconds(bytes);
  }
  if (loss <= 0) return lost = 0, false;
  lost = before + loss;
  const bool move = lost >= price;
  if (move) lost = 0;
  for (const TensorRef& input : call.inputs) input->storage().set_lost_by_staying(lost);
  return move;
}

}  // namespace tandem
