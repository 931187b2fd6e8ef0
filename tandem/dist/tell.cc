#include "tandem/dist/tell.h"

#include <atomic>

#include "tandem/base/log.h"

namespace tandem {
namespace {

std::atomic<Teller> teller = nullptr;

}  // namespace

void set_teller(Teller to_people) { teller = to_people; }

void tell(const std::string& line) {
  if (const Teller to_people = teller.load()) to_people(line);
  else log(LogLevel::warning, line);
}

}  // namespace tandem
