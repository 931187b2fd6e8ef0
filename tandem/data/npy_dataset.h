// Datasets over NumPy's files: rows are read from the mapped file when they are needed, so it may be larger than the
// memory.
#pragma once
#include <string>
#include <vector>

#include "tandem/data/dataset.h"

namespace tandem {

/// An element for each row of the array. One that cannot be used as it lies (strings, the other byte order, Fortran's
/// order) is loaded whole.
Dataset npy_dataset(const std::string& path);

/// Rows of the arrays of an archive, as maps by name; with `names`, tuples of these in this order. Arrays that are
/// packed (numpy.savez_compressed) are loaded whole. Throws invalid_argument, naming the arrays there are, for one that
/// is not.
Dataset npz_dataset(const std::string& path, const std::vector<std::string>& names = {});

}  // namespace tandem
