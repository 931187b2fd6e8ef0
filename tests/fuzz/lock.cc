// Placement locks; what was read and written is read again the same.
#include "tandem/place/lock.h"

#include "tests/fuzz/fuzz.h"

void tandem::fuzz::read(std::string_view bytes) {
  const std::string written = to_json(parse_lock(bytes, "input"));
  if (to_json(parse_lock(written, "written")) != written) __builtin_trap();
}
