// How people are told of what becomes of devices: one line.
#pragma once
#include <string>

namespace tandem {

/// Who tells people; null: the log.
using Teller = void (*)(const std::string& line);
void set_teller(Teller teller);
void tell(const std::string& line);

}  // namespace tandem
