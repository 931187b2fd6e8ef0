// Linear algebra by LAPACK, matrix by matrix; a batch is cut into slices. LAPACK counts column by column, so it is
// handed the transpose of every matrix, and answers are read accordingly.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tandem/backend/cpu/array_kernels.h"
#include "tandem/backend/cpu/dense.h"
#include "tandem/backend/cpu/lapack.h"
#include "tandem/backend/cpu/large_matrix.h"
#include "tandem/op/linalg_records.h"

namespace tandem::cpu {
namespace {

Support by_lapack(const KernelCall& call) {
  if (call.dtype() != DType::f32 && call.dtype() != DType::f64) return no("LAPACK has f32 and f64, got ", call.dtype());
  if (!all_dense(call)) return no("needs dense operands");
  for (int i = 1; i <= 2; ++i)
    if (call.shape()[-i] > 1 << 15)
      return no("LAPACK counts elements by int32: matrices have at most 32768 rows and columns");
  return yes();
}

/// The matrices of a batch, (m, n) each.
struct Batch {
  std::int64_t count = 1;
  int m = 0, n = 0;

  explicit Batch(const Shape& shape) : m(static_cast<int>(shape[-2])), n(static_cast<int>(shape[-1])) {
    for (int i = 0; i + 2 < shape.rank(); ++i) count *= shape[i];
  }
  int shorter() const { return std::min(m, n); }
  std::size_t size() const { return static_cast<std::size_t>(m) * static_cast<std::size_t>(n); }
};

/// What is done to every matrix, and what a failure means.
struct Task {
  std::string_view op;
  const char* problem;
  bool cuts_large = false;  // a large matrix is cut for all cores (large_matrix.h)
};

/// Calls body(i) for every matrix; body says whether it worked. All are tried, then a failure is the user's error.
template <class Body>
void for_each_matrix(const Batch& batch, const Task& task, const Body& body) {
  constexpr std::int64_t kFew = 16;  // more of them keep all cores busy uncut
  std::atomic<std::int64_t> failed{-1};
  const auto run = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i)
      if (!body(i)) failed.store(i, std::memory_order_relaxed);
  };
  const std::int64_t weight = static_cast<std::int64_t>(batch.size()) * (8 + batch.shorter());  // work, in bytes moved
  if (task.cuts_large && batch.n >= kLargeMatrix && batch.count < kFew) run(0, batch.count);
  else parallel_ranges(batch.count, weight, run);
  if (failed >= 0)
    fail(ErrorCode::invalid_argument, task.op, ": ", task.problem,
         batch.count > 1 ? text(" (matrix ", failed.load(), " of the batch)") : "");
}

/// A buffer that a thread keeps.
template <class T, int kNumber = 0>
T* buffer(std::size_t count) {
  thread_local std::vector<T> kept;
  if (kept.size() < count) kept.resize(count);
  return kept.data();
}

/// to (n, m) = from (m, n) transposed.
template <class T>
void transpose_into(const T* from, int m, int n, T* to) {
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      to[static_cast<std::size_t>(j) * static_cast<std::size_t>(m) + static_cast<std::size_t>(i)] = *from++;
}

/// As by_dtype, for the two that LAPACK has.
template <class F>
Prepared for_dtype(DType dtype, F make) {
  return dtype == DType::f32 ? make(float{}) : make(double{});
}

Prepared prepare_cholesky(const KernelCall& call) {
  const Batch batch(call.shape());
  return for_dtype(call.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return prepared([=](const KernelArgs& args) {
      for_each_matrix(batch, {.op = "cholesky", .problem = "the matrix is not positive definite", .cuts_large = true},
                      [&](std::int64_t at) {
                        T* out = args.output<T>() + at * static_cast<std::int64_t>(batch.size());
                        parallel_copy(args.input<T>() + at * static_cast<std::int64_t>(batch.size()), out,
                                      batch.size() * sizeof(T));
                        if (batch.n && cholesky_of(batch.n, out) != 0) return false;
                        const std::int64_t n = batch.n;
                        parallel_ranges(n, n * static_cast<std::int64_t>(sizeof(T)),
                                        [&](std::int64_t first, std::int64_t last) {
                                          for (std::int64_t i = first; i < last; ++i)
                                            std::fill(out + i * n + i + 1, out + i * n + n, T{0});
                                        });
                        return true;
                      });
    });
  });
}

Prepared prepare_triangular_solve(const KernelCall& call) {
  const Batch batch(call.shape()), rhs(call.shape(1));
  const bool lower = call.attr().boolean("lower"), transpose = call.attr().boolean("adjoint");
  return for_dtype(call.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return prepared([=](const KernelArgs& args) {
      for_each_matrix(
          batch, {.op = "triangular_solve", .problem = "the matrix has a zero on its diagonal", .cuts_large = true},
          [&](std::int64_t at) {
            const T* a = args.input<T>() + at * static_cast<std::int64_t>(batch.size());
            T* x = args.output<T>() + at * static_cast<std::int64_t>(rhs.size());
            parallel_copy(args.input<T>(1) + at * static_cast<std::int64_t>(rhs.size()), x, rhs.size() * sizeof(T));
            for (std::size_t i = 0, n = static_cast<std::size_t>(batch.n); i < n; ++i)
              if (a[i * n + i] == 0) return false;
            if (rhs.size()) solve_triangle(lower, transpose, batch.n, rhs.n, a, x);
            return true;
          });
    });
  });
}

Prepared prepare_solve(const KernelCall& call) {
  const Batch batch(call.shape()), rhs(call.shape(1));
  const bool adjoint = call.attr().boolean("adjoint");
  return for_dtype(call.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return prepared([=](const KernelArgs& args) {
      for_each_matrix(
          batch, {.op = "solve", .problem = "the matrix is not invertible", .cuts_large = true}, [&](std::int64_t at) {
            T* a = buffer<T>(batch.size());
            T* x = args.output<T>() + at * static_cast<std::int64_t>(rhs.size());
            int* pivots = buffer<int>(static_cast<std::size_t>(batch.n));
            if (rhs.size() == 0) return true;
            parallel_copy(args.input<T>() + at * static_cast<std::int64_t>(batch.size()), a, batch.size() * sizeof(T));
            if (lu_of(batch.n, a, pivots) != 0) return false;
            parallel_copy(args.input<T>(1) + at * static_cast<std::int64_t>(rhs.size()), x, rhs.size() * sizeof(T));
            solve_by_lu(adjoint, batch.n, rhs.n, a, pivots, x);
            return true;
          });
    });
  });
}

/// Sign and logarithm, or the product, of the diagonal of U.
Prepared prepare_determinant(const KernelCall& call) {
  const Batch batch(call.shape());
  const bool logarithm = &call.op == &slogdet_op;
  return for_dtype(call.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return prepared([=](const KernelArgs& args) {
      for_each_matrix(batch, {.op = "det", .problem = "LAPACK refused it", .cuts_large = true}, [&](std::int64_t at) {
        T* a = buffer<T>(batch.size());
        int* pivots = buffer<int>(static_cast<std::size_t>(batch.n));
        parallel_copy(args.input<T>() + at * static_cast<std::int64_t>(batch.size()), a, batch.size() * sizeof(T));
        if (batch.n && lu_of(batch.n, a, pivots) < 0) return false;
        T sign = 1, log_of_all = 0, product = 1;
        for (int i = 0; i < batch.n; ++i) {
          const T pivot = a[static_cast<std::size_t>(i) * static_cast<std::size_t>(batch.n + 1)];
          if (pivots[i] != i + 1) sign = -sign, product = -product;
          sign = pivot == 0 ? T{0} : pivot < 0 ? -sign : sign;
          product *= pivot;
          log_of_all += std::log(std::abs(pivot));
        }
        args.output<T>()[at] = logarithm ? sign : product;
        if (logarithm) args.output<T>(1)[at] = log_of_all;
        return true;
      });
    });
  });
}

/// Q (m, k) and R (k, n); with full matrices k is m, and Q needs room for m columns.
Prepared prepare_qr(const KernelCall& call) {
  const Batch batch(call.shape());
  const int k = static_cast<int>(call.outputs[0].shape()[-1]);
  return for_dtype(call.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return prepared([=](const KernelArgs& args) {
      const auto m = static_cast<std::size_t>(batch.m), n = static_cast<std::size_t>(batch.n),
                 columns = static_cast<std::size_t>(k);
      for_each_matrix(batch, {.op = "qr", .problem = "LAPACK refused it"}, [&](std::int64_t at) {
        T* a = buffer<T, 0>(m * std::max(n, columns));
        T* tau = buffer<T, 1>(static_cast<std::size_t>(batch.shorter()) + 1);
        transpose_into(args.input<T>() + at * static_cast<std::int64_t>(batch.size()), batch.m, batch.n, a);
        T* q = args.output<T>() + at * static_cast<std::int64_t>(m * columns);
        T* r = args.output<T>(1) + at * static_cast<std::int64_t>(columns * n);
        if (batch.shorter() > 0 && lapack::geqrf(batch.m, batch.n, a, tau) != 0) return false;
        for (std::size_t i = 0; i < columns; ++i)
          for (std::size_t j = 0; j < n; ++j) r[i * n + j] = i <= j ? a[j * m + i] : T{0};
        if (m * columns > 0 && lapack::orgqr(batch.m, k, batch.shorter(), a, tau) != 0) return false;
        transpose_into(a, k, batch.m, q);
        return true;
      });
    });
  });
}

/// LAPACK sees A^T = U' S V'^T, so U is V' and V is U'.
Prepared prepare_svd(const KernelCall& call) {
  const Batch batch(call.shape());
  const bool full = call.attr().boolean("full_matrices");
  const int of_u = static_cast<int>(call.outputs[1].shape()[-1]), of_v = static_cast<int>(call.outputs[2].shape()[-1]);
  return for_dtype(call.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return prepared([=](const KernelArgs& args) {
      const auto m = static_cast<std::size_t>(batch.m), n = static_cast<std::size_t>(batch.n);
      for_each_matrix(batch, {.op = "svd", .problem = "it did not converge; the matrix holds NaN or infinities"},
                      [&](std::int64_t at) {
                        T* s = args.output<T>() + at * batch.shorter();
                        T* u = args.output<T>(1) + at * static_cast<std::int64_t>(m) * of_u;
                        T* v = args.output<T>(2) + at * static_cast<std::int64_t>(n) * of_v;
                        if (batch.shorter() == 0) {  // any orthonormal vectors will do
                          for (int i = 0; i < of_u; ++i) std::fill_n(u + i * of_u, of_u, T{0}), u[i * of_u + i] = 1;
                          for (int i = 0; i < of_v; ++i) std::fill_n(v + i * of_v, of_v, T{0}), v[i * of_v + i] = 1;
                          return true;
                        }
                        T* a = buffer<T, 0>(batch.size());
                        T* transposed_v = buffer<T, 1>(n * static_cast<std::size_t>(of_v));
                        const T* from = args.input<T>() + at * static_cast<std::int64_t>(batch.size());
                        if (!std::all_of(from, from + batch.size(), [](T x) { return std::isfinite(x); })) return false;
                        std::memcpy(a, from, batch.size() * sizeof(T));
                        if (lapack::gesdd(full, batch.n, batch.m, a, s, transposed_v, u) != 0) return false;
                        transpose_into(transposed_v, of_v, batch.n, v);
                        return true;
                      });
    });
  });
}

Prepared prepare_eigh(const KernelCall& call) {
  const Batch batch(call.shape());
  return for_dtype(call.dtype(), [&](auto zero) {
    using T = decltype(zero);
    return prepared([=](const KernelArgs& args) {
      for_each_matrix(batch, {.op = "eigh", .problem = "it did not converge; the matrix holds NaN or infinities"},
                      [&](std::int64_t at) {
                        if (batch.n == 0) return true;
                        T* a = buffer<T>(batch.size());
                        const T* from = args.input<T>() + at * static_cast<std::int64_t>(batch.size());
                        if (!std::all_of(from, from + batch.size(), [](T x) { return std::isfinite(x); })) return false;
                        std::memcpy(a, from, batch.size() * sizeof(T));
                        if (lapack::syevd_upper(batch.n, a, args.output<T>() + at * batch.n) != 0) return false;
                        transpose_into(a, batch.n, batch.n,
                                       args.output<T>(1) + at * static_cast<std::int64_t>(batch.size()));
                        return true;
                      });
    });
  });
}

}  // namespace

void add_linalg_kernels(KernelTable& table) {
  const auto add = [&](const OpDef& op, Prepared (*prepare)(const KernelCall&)) {
    table.set(op, {{.name = "lapack", .supports = by_lapack, .prepare = prepare}});
  };
  add(cholesky_op, prepare_cholesky);
  add(triangular_solve_op, prepare_triangular_solve);
  add(solve_op, prepare_solve);
  add(det_op, prepare_determinant);
  add(slogdet_op, prepare_determinant);
  add(qr_op, prepare_qr);
  add(svd_op, prepare_svd);
  add(eigh_op, prepare_eigh);
}

}  // namespace tandem::cpu
