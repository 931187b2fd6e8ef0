// Safetensors files.
#include "tandem/files/safetensors.h"

#include "tests/fuzz/fuzz.h"

void tandem::fuzz::read(std::string_view bytes) { safetensors_from_bytes(bytes, "input"); }
