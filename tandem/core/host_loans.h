// Devices that have no memory of their own (a CPU-type device that serves as a GPU, an integrated one) take the host's:
// what they take counts against the host's limit.
#pragma once
#include <cstddef>

namespace tandem {

/// False when the host's limit does not allow so many bytes more. Defined by the runtime, which owns the pool.
bool lend_host_memory(std::size_t bytes);
void take_back_host_memory(std::size_t bytes) noexcept;
/// Bytes that devices have.
std::size_t lent_host_memory();

/// For the host when it is short: devices give back what they keep and nobody uses.
void call_in_loans();
/// How they do it; set once.
void on_host_shortage(void (*give_back)());

}  // namespace tandem
