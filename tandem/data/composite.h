// Ragged and sparse tensors as elements of datasets: each is a map of its parts, whose names say what it is.
#pragma once
#include <string_view>
#include <vector>

#include "tandem/data/structure.h"

namespace tandem::data {

/// Names of parts begin with this character, which no user's key does.
inline constexpr char kPart = '~';
inline constexpr std::string_view kRaggedValues =
    "~ragged/values";  // then ~ragged/splits0, the outermost, ~ragged/splits1, …
inline constexpr std::string_view kSparseIndices = "~sparse/indices";  // then ~sparse/values, ~sparse/dense_shape

/// True when the map holds the parts of one tensor.
bool is_composite(const Structure& structure);
/// True when one of the leaves, at any depth, belongs to a composite.
bool has_composites(const Structure& structure);

/// What a batch of such elements is: ragged tensors get one more level of rows, sparse ones one more axis.
ElementSpec batched(const ElementSpec& spec, std::int64_t count);
/// Elements of `structure`, stacked: rows of ragged tensors may differ in length, sparse tensors in size.
void stack(const Structure& structure, const std::vector<Element>& elements, Element& out);

/// What one row of such an element is.
ElementSpec row_of(const ElementSpec& spec);
/// The number of rows, which all parts of the element must agree on.
std::int64_t count_rows(const Structure& structure, const Element& element);
/// Row `index` of an element of `structure`.
void row(const Structure& structure, const Element& element, std::int64_t index, Element& out);

}  // namespace tandem::data
