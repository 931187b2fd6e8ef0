#include "tandem/data/node.h"

#include <algorithm>
#include <cstring>
#include <exception>

#include "tandem/base/hash.h"
#include "tandem/data/rows.h"
#include "tandem/data/session.h"
#include "tandem/op/random_state.h"

namespace tandem::data {
namespace {

/// Reads an indexed node from its first element to its last.
class InOrder final : public Iterator {
 public:
  InOrder(NodeRef node, const Indexed& source) : node_(std::move(node)), source_(source), count_(source.count()) {}

  bool next(Element& out) override {
    if (at_ == count_) return false;
    source_.element(at_++, out);
    return true;
  }
  std::int64_t next_block(std::int64_t most, Element& out) override {
    const std::int64_t count = std::min(most, count_ - at_);
    if (count == 0) return 0;
    try {
      source_.read(at_, count, out);
    } catch (const std::exception&) {
      return up_to_error(count, out);
    }
    at_ += count;
    return count;
  }

 private:
  /// The elements before the one that fails; if it is the first, its error, and the next block begins behind it.
  std::int64_t up_to_error(std::int64_t count, Element& out) {
    std::vector<Element> good;
    Element one;
    while (static_cast<std::int64_t>(good.size()) < count) {
      try {
        source_.element(at_, one);
      } catch (const std::exception&) {
        if (!good.empty()) break;
        ++at_;
        throw;
      }
      ++at_;
      good.push_back(std::move(one));
    }
    stack(good, out);
    return static_cast<std::int64_t>(good.size());
  }

  NodeRef node_;
  const Indexed& source_;
  std::int64_t at_ = 0, count_;
};

}  // namespace

Pass Pass::branch(std::uint64_t i) const {
  // The first branch keeps the key, so that repeat() does not change what the first epoch gives.
  return {i == 0 ? key : mix(key ^ 0xD1B54A32D192ED03ull, i), session};
}

std::int64_t Iterator::next_block(std::int64_t most, Element& out) {
  std::vector<Element> elements;
  Element element;
  while (static_cast<std::int64_t>(elements.size()) < most && next(element)) elements.push_back(std::move(element));
  if (!elements.empty()) stack(elements, out);
  return static_cast<std::int64_t>(elements.size());
}

void Indexed::element(std::int64_t number, Element& out) const {
  read(number, 1, out);
  for (Leaf& leaf : out) leaf.tensor = without_first_axis(leaf.tensor);
}

IteratorPtr Node::iterate(const Pass&) const {
  const Indexed* source = indexed();
  TANDEM_CHECK(source, name(), " has no iterator");
  return std::make_unique<InOrder>(shared_from_this(), *source);
}

namespace {

/// Zeros and empty strings, sizes of one where they are unknown.
Element made_up(const ElementSpec& spec, std::string_view stage) {
  Element out;
  for (const LeafSpec& leaf : spec.leaves) {
    if (!leaf.ranked || leaf.dataset)
      fail(ErrorCode::invalid_argument, "element_spec: ", stage, " over an empty dataset shows no element");
    LeafSpec known = leaf;
    std::ranges::replace(known.sizes, LeafSpec::kUnknown, 1);
    const TensorSpec tensor = known.tensor_spec();
    if (tensor.dtype() == DType::string) {
      out.emplace_back(Tensor::from_strings(
          std::vector<std::string>(static_cast<std::size_t>(tensor.shape().elements())), tensor.shape()));
      continue;
    }
    Fresh zeros = fresh(tensor);
    std::memset(zeros.bytes, 0, tensor.bytes());
    out.emplace_back(zeros.tensor);
  }
  return out;
}

}  // namespace

void show_element(const Node& input, std::string_view stage, const std::function<void(const Element&)>& shown) {
  constexpr int kMostTried = 16;
  IteratorPtr elements = open(input, {});
  std::exception_ptr first_error;
  Element element;
  for (int tried = 0; tried < kMostTried; ++tried) {
    try {
      if (!elements->next(element)) break;
      return shown(element);
    } catch (const std::exception&) {
      if (!first_error) first_error = std::current_exception();
    }
  }
  if (first_error) std::rethrow_exception(first_error);
  shown(made_up(input.spec(), stage));
}

IteratorPtr open(const Node& node, const Pass& pass) {
  IteratorPtr iterator = node.iterate(pass);
  return pass.session ? pass.session->measured(node, std::move(iterator)) : std::move(iterator);
}

std::int64_t collect(Iterator& from, std::int64_t count, Element& out) {
  std::int64_t have = from.next_block(count, out);
  if (have == count || have == 0) return have;
  std::vector<Element> pieces;
  pieces.push_back(std::move(out));
  Element piece;
  while (have < count) {
    const std::int64_t more = from.next_block(count - have, piece);
    if (more == 0) break;
    have += more;
    pieces.push_back(std::move(piece));
  }
  if (pieces.size() == 1) out = std::move(pieces[0]);
  else join_blocks(pieces, out);
  return have;
}

std::uint64_t Dice::next() {  // SplitMix64
  std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

std::uint64_t Dice::below(std::uint64_t n) {
  // Multiply and take the high word; draws that would favour low results are repeated.
  unsigned __int128 product = static_cast<unsigned __int128>(next()) * n;
  if (static_cast<std::uint64_t>(product) < n) {
    const std::uint64_t reject = (0 - n) % n;
    while (static_cast<std::uint64_t>(product) < reject) product = static_cast<unsigned __int128>(next()) * n;
  }
  return static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t seed_or_drawn(std::int64_t seed) {
  if (seed >= 0) return mix(0x5EEDull, static_cast<std::uint64_t>(seed));
  const auto call = random_state().next();
  return mix(static_cast<std::uint64_t>(call.key), static_cast<std::uint64_t>(call.counter));
}

}  // namespace tandem::data
