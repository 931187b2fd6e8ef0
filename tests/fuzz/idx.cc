// IDX arrays.
#include "tandem/data/idx.h"

#include "tests/fuzz/fuzz.h"

void tandem::fuzz::read(std::string_view bytes) { idx_from_bytes(bytes, "input"); }
