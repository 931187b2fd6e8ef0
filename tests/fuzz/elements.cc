// Elements as cache(file) and save() write them: what is read is written the same again.
#include "tandem/data/element_file.h"

#include "tests/fuzz/fuzz.h"

void tandem::fuzz::read(std::string_view bytes) {
  const Element element = data::decode(bytes, 2, "input");
  std::string again;
  data::encode(element, again);
  if (again != bytes) __builtin_trap();
}
