// Where an op without a scope runs: near its operands, until what it loses there pays for moving them.
#pragma once
#include "tandem/exec/prepared_call.h"
#include "tandem/place/machine.h"

namespace tandem {

/// The choice for operands as they lie, and what is lost by it.
struct EagerChoice {
  DeviceChoice choice;
  Stay stay;
};

/// Compares the devices for one op; looks at specs and the machine only, so the answer can be kept.
EagerChoice weigh(const OpCall& call, DeviceRegistry& devices, const Machine& machine);

/// What the op has to do, by its record.
Cost cost_of(const OpCall& call);

/// So little that a launch elsewhere cannot pay, whatever the machine.
bool is_trivial(const Cost& work);
/// Roughly what the CPU takes for it, when that is enough for a GPU to be of use; else 0.
double large_work_us(const Cost& work);

/// Adds this call's loss to that of its operands, with what has to be copied to `here` first. True: moving them to
/// `stay.there` has become cheaper than staying.
bool should_move(const OpCall& call, Device& here, const Stay& stay, float& lost);

}  // namespace tandem
