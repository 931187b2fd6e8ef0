// The checksum that our HDF5 files carry, as an attribute of the root that other programs do not look at.
//
// CRC-32C over the tree in the order of names: of a group 'G', its attributes, then its items, each behind its name; of
// an array 'A', its value, then its attributes. A value is its dtype's name, its rank and sizes (int64) and its bytes;
// a text is its length (int64) and its bytes. Names are texts, and every list begins with its length.
#pragma once
#include "tandem/files/hdf5.h"

namespace tandem::hdf5 {

/// A copy of the tree with its checksum in it.
Hdf5Object with_checksum(Hdf5Object root);
/// Compares and takes away the checksum. Throws bad_file, naming the file, where it does not fit; a tree without one
/// passes.
void check_and_drop_checksum(Hdf5Object& root, const std::string& file);

}  // namespace tandem::hdf5
