// HDF5 files as Keras and h5py write them: a tree of groups whose leaves are arrays.
//
// Read: superblocks 0 to 3, old and new groups, contiguous, compact and chunked arrays (gzip, shuffle, fletcher32) of
// floats, integers, bools and text, attributes. Refused by name: links and attributes in a fractal heap (groups of more
// than eight links written with libver="latest"), compound types, references, external data. Written: the old layout
// that every HDF5 library reads, with a checksum over all of it (hdf5_checksum.h), which is compared when it is there.
// Nothing that a file says about sizes and places is believed unchecked.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

/// A group, or an array with its attributes. Text is a string tensor.
struct Hdf5Object {
  Tensor value = {};  // undefined: a group
  std::map<std::string, Tensor> attributes = {};
  std::map<std::string, Hdf5Object> items = {};  // of a group

  bool is_group() const { return !value.defined(); }
  /// What a path such as "layers/dense/vars/0" leads to, or nullptr.
  const Hdf5Object* find(std::string_view path) const;
  /// The group at a path, made when it is missing.
  Hdf5Object& group(std::string_view path);
};

/// Throws file_error, or bad_file naming the file and the place in it.
Hdf5Object load_hdf5(const std::string& path);
/// `name` stands for the file in errors.
Hdf5Object hdf5_from_bytes(std::string_view bytes, const std::string& name = "the bytes given");

std::string hdf5_to_bytes(const Hdf5Object& root);
/// Atomically: see write_file_atomically.
void save_hdf5(const std::string& path, const Hdf5Object& root);

}  // namespace tandem
