// TandemFlow: everything a program needs.
#pragma once
#include "tandem/autodiff/tape.h"
#include "tandem/autodiff/variable.h"
#include "tandem/base/cores.h"
#include "tandem/base/decision.h"
#include "tandem/base/error.h"
#include "tandem/base/event_sink.h"
#include "tandem/core/tensor.h"
#include "tandem/nn/optimizer.h"
#include "tandem/op/dispatcher.h"
#include "tandem/op/elementwise.h"
#include "tandem/op/ops.h"
#include "tandem/runtime/runtime.h"
