#include "bench/handwritten.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/harness.h"
#include "tandem/base/cores.h"

namespace tandem::bench {
namespace {

// target_clones: wider vectors where the machine has them, as a careful author would see to.

[[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
float sum_of_squares(const float* x, std::int64_t count) {
  constexpr int kLanes = 64;
  float lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int j = 0; j < kLanes; ++j) lanes[j] += x[i + j] * x[i + j];
  float sum = 0;
  for (int j = 0; j < kLanes; ++j) sum += lanes[j];
  for (; i < count; ++i) sum += x[i] * x[i];
  return sum;
}

[[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
void run_twelve(const float* x, const float* y, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    float a = x[i] * y[i];
    a = a + x[i];
    a = a * 0.5f;
    a = a - y[i];
    a = a * a;
    a = a + 1.0f;
    a = std::sqrt(a);
    a = a / (y[i] * y[i] + 2.0f);
    a = a - 0.25f;
    out[i] = a > 0.0f ? a : 0.0f;
  }
}

}  // namespace

float twelve_ops(float x, float y) {
  float out;
  run_twelve(&x, &y, &out, 1);
  return out;
}

double mean_square_seconds(const float* x, std::int64_t count, int threads) {
  // The pool's threads: making two threads would cost more than the loop.
  std::vector<float> partial(static_cast<std::size_t>(threads * 8));
  volatile float mean = 0;
  return seconds_of([&] {
    const std::int64_t slices = threads * 8, per = (count + slices - 1) / slices;
    parallel(slices, [&](std::int64_t s) {
      partial[static_cast<std::size_t>(s)] =
          sum_of_squares(x + s * per, std::max<std::int64_t>(0, std::min(per, count - s * per)));
    });
    float sum = 0;
    for (float p : partial) sum += p;
    mean = sum / static_cast<float>(count);
  });
}

double twelve_ops_seconds(const float* x, const float* y, float* out, std::int64_t count, int threads) {
  return seconds_of([&] {
    const std::int64_t slices = threads * 8, per = (count + slices - 1) / slices;
    parallel(slices, [&](std::int64_t s) {
      run_twelve(x + s * per, y + s * per, out + s * per, std::max<std::int64_t>(0, std::min(per, count - s * per)));
    });
  });
}

namespace {

[[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
void adam(float* w, float* m, float* v, const float* g, std::int64_t count, float rate) {
  for (std::int64_t i = 0; i < count; ++i) {
    m[i] += (g[i] - m[i]) * 0.1f;
    v[i] += (g[i] * g[i] - v[i]) * 0.001f;
    w[i] -= rate * m[i] / (std::sqrt(v[i]) + 1e-7f);
  }
}

[[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
void add_bias(float* x, const float* bias, int rows, int width, bool with_relu) {
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < width; ++j) {
      const float value = x[i * width + j] + bias[j];
      x[i * width + j] = with_relu ? std::max(value, 0.0f) : value;
    }
}

[[gnu::target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")]]
void column_sums(const float* x, float* sums, int rows, int width) {
  std::fill(sums, sums + width, 0.0f);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < width; ++j) sums[j] += x[i * width + j];
}

struct Parameter {
  std::vector<float> w, m, v, g;
  explicit Parameter(int size) : w(static_cast<std::size_t>(size)), m(w.size()), v(w.size()), g(w.size()) {
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = 0.05f * std::sin(static_cast<float>(i));
  }
  void update(float rate) { adam(w.data(), m.data(), v.data(), g.data(), static_cast<std::int64_t>(w.size()), rate); }
};

}  // namespace

double dense_step_seconds(int batch, int in, int hidden, int out, int steps) {
  openblas_set_num_threads(1);
  Parameter w1(in * hidden), b1(hidden), w2(hidden * out), b2(out);
  const int batches = 100;
  std::vector<float> data(static_cast<std::size_t>(batches * batch * in));
  std::vector<int> labels(static_cast<std::size_t>(batches * batch));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = std::sin(0.37f * static_cast<float>(i));
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int>(i * 7 % static_cast<std::size_t>(out));
  const auto size = [](int a, int b) { return static_cast<std::size_t>(a * b); };
  std::vector<float> x(size(batch, in)), h(size(batch, hidden)), p(size(batch, out)), dp(size(batch, out)),
      dh(size(batch, hidden));
  std::vector<int> y(static_cast<std::size_t>(batch));
  double loss = 0, right = 0, t = 0;
  const auto step = [&](int at) {
    std::copy_n(data.data() + at * batch * in, batch * in, x.data());
    std::copy_n(labels.data() + at * batch, batch, y.data());
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, batch, hidden, in, 1, x.data(), in, w1.w.data(), hidden, 0,
                h.data(), hidden);
    add_bias(h.data(), b1.w.data(), batch, hidden, true);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, batch, out, hidden, 1, h.data(), hidden, w2.w.data(), out, 0,
                p.data(), out);
    add_bias(p.data(), b2.w.data(), batch, out, false);
    for (int i = 0; i < batch; ++i) {
      float* row = p.data() + i * out;
      const float most = *std::max_element(row, row + out);
      right += std::max_element(row, row + out) - row == y[static_cast<std::size_t>(i)];
      float sum = 0;
      for (int j = 0; j < out; ++j) sum += dp[static_cast<std::size_t>(i * out + j)] = std::exp(row[j] - most);
      loss += std::log(sum) + most - row[y[static_cast<std::size_t>(i)]];
      for (int j = 0; j < out; ++j) dp[static_cast<std::size_t>(i * out + j)] /= sum * static_cast<float>(batch);
      dp[static_cast<std::size_t>(i * out + y[static_cast<std::size_t>(i)])] -= 1.0f / static_cast<float>(batch);
    }
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, hidden, out, batch, 1, h.data(), hidden, dp.data(), out, 0,
                w2.g.data(), out);
    column_sums(dp.data(), b2.g.data(), batch, out);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, batch, hidden, out, 1, dp.data(), out, w2.w.data(), out, 0,
                dh.data(), hidden);
    for (std::size_t i = 0; i < dh.size(); ++i) dh[i] = h[i] > 0 ? dh[i] : 0;
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, in, hidden, batch, 1, x.data(), in, dh.data(), hidden, 0,
                w1.g.data(), hidden);
    column_sums(dh.data(), b1.g.data(), batch, hidden);
    t += 1;
    const auto rate = static_cast<float>(0.001 * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t)));
    for (Parameter* parameter : {&w1, &b1, &w2, &b2}) parameter->update(rate);
  };
  for (int i = 0; i < batches; ++i) step(i);
  const double begin = now();
  for (int i = 0; i < steps; ++i) step(i % batches);
  const double seconds = (now() - begin) / steps;
  return loss + right < 0 ? 0 : seconds;
}

}  // namespace tandem::bench
