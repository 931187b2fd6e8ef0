#include "tandem/backend/cpu/network_kernels.h"
#include "tandem/backend/cpu/reference/access.h"
#include "tandem/kernel/recurrent_cell.h"

namespace tandem::cpu {
namespace {

using Doubles = std::vector<double>;

/// Input i as doubles.
template <class T>
Doubles values_of(const KernelArgs& args, int i, std::int64_t count) {
  Doubles values(static_cast<std::size_t>(count));
  for (std::int64_t k = 0; k < count; ++k) values[static_cast<std::size_t>(k)] = widen(args.input<T>(i)[k]);
  return values;
}
template <class T>
void store(const KernelArgs& args, int i, const Doubles& values) {
  for (std::size_t k = 0; k < values.size(); ++k) args.output<T>(i)[k] = narrow<T>(values[k]);
}

Doubles zeros_of(std::int64_t count) { return Doubles(static_cast<std::size_t>(count)); }

/// Runs a cell's program for one unit: the operands' addresses, in its order.
void evaluate_unit(const expr::Program& program, const std::vector<const double*>& in,
                   const std::vector<double*>& out) {
  ScalarValue inputs[16], outputs[16];
  for (std::size_t i = 0; i < in.size(); ++i) inputs[i].f64 = *in[i];
  expr::evaluate(program, inputs, outputs);
  for (std::size_t k = 0; k < out.size(); ++k) *out[k] = outputs[k].f64;
}

/// The elements of gate g of row `row`, unit j, in a tensor [rows, gates, units].
std::size_t gate_at(const RecurrentSizes& s, std::int64_t row, int g, std::int64_t j, int gates) {
  return static_cast<std::size_t>((row * gates + g) * s.units + j);
}

template <class T>
Prepared prepare_forward(const KernelCall& call) {
  const bool lstm = cell_kind(call.op) == CellKind::lstm;
  const int kernel = lstm ? 3 : 2;
  const RecurrentSizes s(call, 0, kernel + 1);
  return prepared([=, program = cell_forward(s.kind, DType::f64)](const KernelArgs& args) {
    const std::int64_t u = s.units, width = s.gate_width(), rows = s.batch * s.steps;
    const Doubles x = values_of<T>(args, 0, rows * s.inputs), w = values_of<T>(args, kernel, s.inputs * width);
    const Doubles r = values_of<T>(args, kernel + 1, u * width),
                  bias = values_of<T>(args, kernel + 2, (s.reset_after() ? 2 : 1) * width);
    Doubles y = zeros_of(rows * u), cells = y, saved = zeros_of(rows * s.saved_width());
    for (std::int64_t b = 0; b < s.batch; ++b) {
      Doubles state(static_cast<std::size_t>(u)), cell(state);
      for (std::int64_t j = 0; j < u; ++j) {
        state[static_cast<std::size_t>(j)] = widen(args.input<T>(1)[b * u + j]);
        if (lstm) cell[static_cast<std::size_t>(j)] = widen(args.input<T>(2)[b * u + j]);
      }
      for (std::int64_t row = b * s.steps; row < (b + 1) * s.steps; ++row) {
        Doubles from_x(bias.begin(), bias.begin() + width), from_state = zeros_of(width);
        if (s.reset_after()) from_state.assign(bias.begin() + width, bias.end());
        for (std::int64_t k = 0; k < width; ++k) {
          const auto at = static_cast<std::size_t>(k);
          for (std::int64_t i = 0; i < s.inputs; ++i)
            from_x[at] += x[static_cast<std::size_t>(row * s.inputs + i)] * w[static_cast<std::size_t>(i * width + k)];
          for (std::int64_t i = 0; i < u; ++i)
            from_state[at] += state[static_cast<std::size_t>(i)] * r[static_cast<std::size_t>(i * width + k)];
        }
        Doubles next(static_cast<std::size_t>(u)), next_cell(next);
        for (std::int64_t j = 0; j < u; ++j) {
          const auto at = static_cast<std::size_t>(j);
          std::vector<const double*> in;
          for (int g = 0; g < s.gates; ++g) in.push_back(&from_x[gate_at(s, 0, g, j, s.gates)]);
          for (int g = 0; g < s.gates; ++g) in.push_back(&from_state[gate_at(s, 0, g, j, s.gates)]);
          if (s.reset_after()) in.push_back(&state[at]);
          if (lstm) in.push_back(&cell[at]);
          std::vector<double*> out{&next[at]};
          if (lstm) out.push_back(&next_cell[at]);
          for (int k = 0; k < s.saved; ++k) out.push_back(&saved[gate_at(s, row, k, j, s.saved)]);
          evaluate_unit(program, in, out);
        }
        state = next, cell = next_cell;
        std::copy(state.begin(), state.end(), y.begin() + row * u);
        std::copy(cell.begin(), cell.end(), cells.begin() + row * u);
      }
    }
    store<T>(args, 0, y);
    if (lstm) store<T>(args, 1, cells);
    if (s.saved) store<T>(args, lstm ? 2 : 1, saved);
  });
}

template <class T>
Prepared prepare_gradient(const KernelCall& call) {
  const bool lstm = cell_kind(call.op) == CellKind::lstm;
  const int x_at = lstm ? 2 : 1, kernel = lstm ? 5 : 3;
  const RecurrentSizes s(call, x_at, kernel + 1);
  const bool one_cell_gradient = lstm && call.shape(1).rank() == 0;
  return prepared([=, program = cell_backward(s.kind, DType::f64)](const KernelArgs& args) {
    const std::int64_t u = s.units, width = s.gate_width(), rows = s.batch * s.steps;
    const Doubles x = values_of<T>(args, x_at, rows * s.inputs), w = values_of<T>(args, kernel, s.inputs * width);
    const Doubles r = values_of<T>(args, kernel + 1, u * width), dy = values_of<T>(args, 0, rows * u),
                  h0 = values_of<T>(args, x_at + 1, s.batch * u);
    const Doubles y = values_of<T>(args, kernel + 2, rows * u),
                  saved = s.saved ? values_of<T>(args, lstm ? 9 : 6, rows * s.saved_width()) : y;
    const Doubles cells = lstm ? values_of<T>(args, 8, rows * u) : Doubles(),
                  c0 = lstm ? values_of<T>(args, 4, s.batch * u) : Doubles();
    const Doubles dcells = lstm ? values_of<T>(args, 1, one_cell_gradient ? 1 : rows * u) : Doubles();
    Doubles dx = zeros_of(rows * s.inputs), dh0 = zeros_of(s.batch * u), dc0 = dh0, dw = zeros_of(s.inputs * width),
            dr = zeros_of(u * width);
    Doubles bias = zeros_of((s.reset_after() ? 2 : 1) * width);
    for (std::int64_t b = 0; b < s.batch; ++b) {
      Doubles dh = zeros_of(u), dc = dh;
      for (std::int64_t t = s.steps - 1; t >= 0; --t) {
        const std::int64_t row = b * s.steps + t;
        const double* before = t ? &y[static_cast<std::size_t>((row - 1) * u)] : &h0[static_cast<std::size_t>(b * u)];
        Doubles by_x = zeros_of(width), by_state = by_x, direct = zeros_of(u), dc_before = direct;
        for (std::int64_t j = 0; j < u; ++j) {
          const auto at = static_cast<std::size_t>(row * u + j), unit = static_cast<std::size_t>(j);
          std::vector<const double*> in;
          if (s.saved)
            for (int k = 0; k < s.saved; ++k) in.push_back(&saved[gate_at(s, row, k, j, s.saved)]);
          else in.push_back(&y[at]);
          if (lstm)
            in.push_back(&cells[at]),
                in.push_back(t ? &cells[at - static_cast<std::size_t>(u)] : &c0[static_cast<std::size_t>(b * u + j)]);
          if (s.reset_after()) in.push_back(before + j);
          in.push_back(&dy[at]), in.push_back(&dh[unit]);
          if (lstm) in.push_back(&dc[unit]), in.push_back(&dcells[one_cell_gradient ? 0 : at]);
          std::vector<double*> out;
          for (int g = 0; g < s.gates; ++g) out.push_back(&by_x[gate_at(s, 0, g, j, s.gates)]);
          if (s.reset_after())
            for (int g = 0; g < s.gates; ++g) out.push_back(&by_state[gate_at(s, 0, g, j, s.gates)]);
          if (s.reset_after()) out.push_back(&direct[unit]);
          if (lstm) out.push_back(&dc_before[unit]);
          evaluate_unit(program, in, out);
        }
        if (!s.reset_after()) by_state = by_x;
        dh = direct, dc = dc_before;
        for (std::int64_t k = 0; k < width; ++k) {
          const double gx = by_x[static_cast<std::size_t>(k)], gs = by_state[static_cast<std::size_t>(k)];
          for (std::int64_t i = 0; i < s.inputs; ++i) {
            dx[static_cast<std::size_t>(row * s.inputs + i)] += gx * w[static_cast<std::size_t>(i * width + k)];
            dw[static_cast<std::size_t>(i * width + k)] += gx * x[static_cast<std::size_t>(row * s.inputs + i)];
          }
          for (std::int64_t i = 0; i < u; ++i) {
            dh[static_cast<std::size_t>(i)] += gs * r[static_cast<std::size_t>(i * width + k)];
            dr[static_cast<std::size_t>(i * width + k)] += gs * before[i];
          }
          bias[static_cast<std::size_t>(k)] += gx;
          if (s.reset_after()) bias[static_cast<std::size_t>(width + k)] += gs;
        }
      }
      std::copy(dh.begin(), dh.end(), dh0.begin() + b * u);
      std::copy(dc.begin(), dc.end(), dc0.begin() + b * u);
    }
    store<T>(args, 0, dx), store<T>(args, 1, dh0);
    if (lstm) store<T>(args, 2, dc0);
    const int weights = lstm ? 3 : 2;
    store<T>(args, weights, dw), store<T>(args, weights + 1, dr), store<T>(args, weights + 2, bias);
  });
}

}  // namespace

Kernel reference_recurrent() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            const bool gradient = call.op.name.ends_with("_grad");
            return by_dtype(call.dtype(), [&](auto tag) {
              using T = typename decltype(tag)::type;
              return gradient ? prepare_gradient<T>(call) : prepare_forward<T>(call);
            });
          }};
}

}  // namespace tandem::cpu
