// Graphs to be placed; what was read and written is read again the same.
#include "tandem/place/place_graph.h"

#include "tests/fuzz/fuzz.h"

void tandem::fuzz::read(std::string_view bytes) {
  const std::string written = to_json(parse_place_graph(bytes, "input"));
  if (to_json(parse_place_graph(written, "written")) != written) __builtin_trap();
}
