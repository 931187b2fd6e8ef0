#include "tandem/autodiff/function.h"

#include <atomic>
#include <chrono>
#include <list>

#include "tandem/autodiff/made_op.h"
#include "tandem/autodiff/opening.h"
#include "tandem/autodiff/tape.h"
#include "tandem/graph/open_graph.h"
#include "tandem/graph/trace.h"

namespace tandem {
namespace {

std::atomic<bool> eagerly{false};

/// Deeper nesting of traces can only be a function that calls itself without end.
constexpr int kDeepest = 64;
thread_local int depth = 0;

struct Depth {
  explicit Depth(const std::string& name) {
    if (++depth > kDeepest) {
      --depth;
      fail(ErrorCode::cannot_trace, name, " calls itself more than ", kDeepest,
           " deep while it is traced; a recursion must "
           "end on values known then, or be written with while_loop");
    }
  }
  ~Depth() { --depth; }
};

/// What a trace holds for: dtypes and shapes of the arguments, and the caller's key.
struct Signature {
  Specs specs;
  std::string key;
  bool operator==(const Signature&) const = default;
};

Signature signature_of(const Tensors& arguments, const std::string& key) {
  Signature signature{{}, key};
  for (const Tensor& argument : arguments) signature.specs.push_back(argument.spec());
  return signature;
}

/// What is new in `now`, seen from the signature traced before.
std::string difference(const Signature& before, const Signature& now) {
  if (before.specs.size() != now.specs.size())
    return text("number of inputs ", before.specs.size(), " -> ", now.specs.size());
  for (std::size_t i = 0; i < now.specs.size(); ++i) {
    if (before.specs[i].dtype() != now.specs[i].dtype())
      return text("input ", i, " dtype ", before.specs[i].dtype(), " -> ", now.specs[i].dtype());
    if (before.specs[i].shape() != now.specs[i].shape())
      return text("input ", i, " shape ", open_text(before.specs[i].shape()), " -> ", open_text(now.specs[i].shape()));
  }
  if (before.key != now.key) return text("arguments that are no tensors: ", before.key, " -> ", now.key);
  return "its trace had been dropped to make room";
}

void check_signature(const std::string& name, const std::vector<InputSpec>& wanted, const Tensors& arguments) {
  if (wanted.empty()) return;
  if (wanted.size() != arguments.size())
    fail(ErrorCode::wrong_arity, name, ": its input_signature has ", wanted.size(), " tensors, got ", arguments.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Shape& shape = arguments[i].shape();
    bool fits = wanted[i].dtype == arguments[i].dtype() && static_cast<int>(wanted[i].shape.size()) == shape.rank();
    for (int d = 0; fits && d < shape.rank(); ++d) {
      const std::int64_t size = wanted[i].shape[static_cast<std::size_t>(d)];
      fits = size == InputSpec::kAny || size == shape[d];
    }
    if (fits) continue;
    std::vector<std::string> sizes;
    for (std::int64_t size : wanted[i].shape) sizes.push_back(size == InputSpec::kAny ? "any" : text(size));
    fail(ErrorCode::shape_mismatch, name, ": input ", i, " is ", arguments[i].spec(), ", its input_signature says ",
         wanted[i].dtype, " [", join(sizes), "]");
  }
}

}  // namespace

struct Function::State {
  struct Entry {
    Signature signature;
    std::shared_ptr<const GraphFunction> function;
  };
  /// A trace with open sizes, or why there is none.
  struct OpenEntry {
    Signature signature;
    OpenGraph graph;
    std::string refused;
    std::shared_ptr<const void> note;
  };
  Body body;
  FunctionOptions options;
  std::mutex mutex;
  std::list<Entry> entries;  // most recently used first
  std::list<std::shared_ptr<const OpenEntry>> open_entries;  // the latest first
  std::optional<Signature> last_traced;
  std::vector<Retrace> retraces;

  std::shared_ptr<const GraphFunction> find(const Signature& signature) {
    std::lock_guard lock(mutex);
    for (auto it = entries.begin(); it != entries.end(); ++it) {
      if (!(it->signature == signature)) continue;
      if (it != entries.begin()) entries.splice(entries.begin(), entries, it);
      return it->function;
    }
    return nullptr;
  }

  std::shared_ptr<const OpenEntry> find_open(const Signature& signature) {
    std::lock_guard lock(mutex);
    for (const auto& entry : open_entries)
      if (entry->signature == signature) return entry;
    return nullptr;
  }

  std::shared_ptr<const GraphFunction> keep(const Signature& signature, std::shared_ptr<const GraphFunction> function) {
    std::lock_guard lock(mutex);
    entries.push_front({signature, function});
    if (entries.size() > kMostTraces) entries.pop_back();
    return function;
  }

  /// Runs the body; `note` is added to the reason.
  Graph trace(const Signature& signature, Trace& trace, const std::string& note = "") {
    const auto begin = std::chrono::steady_clock::now();
    Depth guard(options.name);
    Graph graph = trace_graph(signature.specs, trace);
    const double microseconds =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    std::lock_guard lock(mutex);
    const std::string reason = last_traced ? difference(*last_traced, signature) : "first call";
    retraces.push_back({note.empty() ? reason : reason + "; its sizes cannot be left open: " + note, graph.nodes.size(),
                        microseconds});
    last_traced = signature;
    return graph;
  }

  std::shared_ptr<const void> note() const { return options.note ? options.note() : nullptr; }

  Graph trace_graph(const Specs& specs, Trace& trace) {
    Tensors parameters;
    for (const TensorSpec& spec : specs) parameters.push_back(trace.parameter(spec));
    return trace.finish(body(parameters));
  }

  std::shared_ptr<const OpenEntry> open_trace(const Signature& signature, const Opening& opening, const Specs* check) {
    if (auto found = find_open(signature)) return found;
    auto entry = std::make_shared<OpenEntry>(OpenEntry{signature, {}, "", {}});
    try {
      Trace open(&made_op::kSizesInside);
      entry->graph.graph = trace(signature, open);
      entry->graph.notes = open.size_notes();
      entry->note = note();
      if (check) check_open_trace(*entry, opening, *check);
    } catch (const Error& error) {  // with all sizes known it may work; if not, that trace says why
      entry->refused = error.message();
    } catch (const std::exception& error) {
      entry->refused = error.what();
    }
    std::lock_guard lock(mutex);
    open_entries.push_front(entry);
    if (open_entries.size() > kMostTraces) open_entries.pop_back();
    return entry;
  }

  /// A body of C++ sees the numbers that stand for sizes: what it does must be what it does with those of the call.
  void check_open_trace(OpenEntry& entry, const Opening& opening, const Specs& specs) {
    const auto graph = graph_at(entry.graph, opening.sizes, made_op::kSizesInside, entry.refused);
    if (!graph) return;
    Trace known;
    std::string why;
    if (!is_same_graph(*graph, trace_graph(specs, known), made_op::kSizesInside, why))
      entry.refused = "traced for the sizes of the call, " + why;
  }

  /// For a signature that is new: made from a trace with open sizes where there can be one.
  std::shared_ptr<const GraphFunction> make(const Signature& signature, const OpenAxes& axes, bool check) {
    std::string refused;
    if (const Opening opening(signature.specs, axes); !opening.sizes.empty()) {
      const auto origin = open_trace({opening.specs, signature.key}, opening, check ? &signature.specs : nullptr);
      refused = origin->refused;
      std::optional<Graph> graph;
      if (refused.empty()) graph = graph_at(origin->graph, opening.sizes, made_op::kSizesInside, refused);
      if (graph)
        return keep(signature,
                    GraphFunction::make(*std::move(graph), options.name, {.open = true, .note = origin->note}));
    }
    Trace known;
    Graph graph = trace(signature, known, refused);
    return keep(signature, GraphFunction::make(std::move(graph), options.name, {.open = false, .note = note()}));
  }
};

Function::Function(Body body, FunctionOptions options) : state_(std::make_shared<State>()) {
  state_->body = std::move(body);
  state_->options = std::move(options);
}

std::shared_ptr<const GraphFunction> Function::concrete(const Tensors& arguments, const std::string& key,
                                                        const OpenAxes& open) const {
  const auto& wanted = state_->options.input_signature;
  check_signature(state_->options.name, wanted, arguments);
  const Signature signature = signature_of(arguments, key);
  if (auto found = state_->find(signature)) return found;
  return wanted.empty() ? state_->make(signature, open, false) : state_->make(signature, open_axes(wanted), true);
}

Tensors Function::call(const Tensors& arguments, const std::string& key) const {
  if (eagerly.load(std::memory_order_relaxed)) return state_->body(arguments);
  if (Trace::current()) {  // part of the enclosing function
    Depth guard(state_->options.name);
    return state_->body(arguments);
  }
  return (*concrete(arguments, key))(arguments);
}

int Function::tracing_count() const {
  std::lock_guard lock(state_->mutex);
  return static_cast<int>(state_->retraces.size());
}

std::vector<Retrace> Function::retraces() const {
  std::lock_guard lock(state_->mutex);
  return state_->retraces;
}

void run_functions_eagerly(bool on) { eagerly.store(on); }
bool functions_run_eagerly() { return eagerly.load(); }

}  // namespace tandem
