// What the rest of the module has to know of traced functions.
#pragma once
#include <Python.h>

namespace tandem::python {

/// The base of the package's Function.
extern PyTypeObject function_type;

/// Called before a variable is made. While a tf.function is traced this is allowed at its first call only: later calls
/// run the graph, which would not make another.
void note_variable_creation();

/// What is being traced on this thread, for another that works in its place; returns what was.
void* exchange_tracing(void* tracing);

}  // namespace tandem::python
