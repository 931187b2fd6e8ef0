#include "tandem/autodiff/function.h"

#include <atomic>
#include <chrono>
#include <list>

#include "tandem/autodiff/tape.h"
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
      fail(ErrorCode::cannot_trace, name, " calls itself more than ", kDeepest, " deep while it is traced; a recursion must "
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
      return text("input ", i, " shape ", before.specs[i].shape(), " -> ", now.specs[i].shape());
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
  Body body;
  FunctionOptions options;
  std::mutex mutex;
  std::list<Entry> entries;  // most recently used first
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

  std::shared_ptr<const GraphFunction> trace(const Tensors& arguments, const Signature& signature) {
    const auto begin = std::chrono::steady_clock::now();
    Depth guard(options.name);
    Graph graph = trace_graph(arguments);
    const double microseconds = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    const std::size_t nodes = graph.nodes.size();
    auto function = GraphFunction::make(std::move(graph), options.name);
    std::lock_guard lock(mutex);
    retraces.push_back({last_traced ? difference(*last_traced, signature) : "first call", nodes, microseconds});
    last_traced = signature;
    entries.push_front({signature, function});
    if (entries.size() > kMostTraces) entries.pop_back();
    return function;
  }

  Graph trace_graph(const Tensors& arguments) {
    Trace trace;
    Tensors parameters;
    for (const Tensor& argument : arguments) parameters.push_back(trace.parameter(argument.spec()));
    return trace.finish(body(parameters));
  }
};

Function::Function(Body body, FunctionOptions options) : state_(std::make_shared<State>()) {
  state_->body = std::move(body);
  state_->options = std::move(options);
}

std::shared_ptr<const GraphFunction> Function::concrete(const Tensors& arguments, const std::string& key) const {
  check_signature(state_->options.name, state_->options.input_signature, arguments);
  const Signature signature = signature_of(arguments, key);
  if (auto found = state_->find(signature)) return found;
  return state_->trace(arguments, signature);
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
