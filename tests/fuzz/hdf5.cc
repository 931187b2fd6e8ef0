// HDF5 files; what is read can be written.
#include "tandem/files/hdf5.h"

#include "tests/fuzz/fuzz.h"

void tandem::fuzz::read(std::string_view bytes) { hdf5_to_bytes(hdf5_from_bytes(bytes, "input")); }
