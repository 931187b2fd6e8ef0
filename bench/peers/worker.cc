// tandem_peer_worker: the workloads of scripts/bench --peers in C++. Answers each line of JSON with one, as worker.py
// does.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/harness.h"
#include "bench/limits.h"
#include "bench/peers/workloads.h"

using namespace tandem;
using namespace tandem::bench;
using nlohmann::json;

namespace {

constexpr double kBatch = 0.005;  // seconds, as in stopwatch.py

Tensor load(const json& described) {
  std::ifstream file(described.at("file").get<std::string>(), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto dtype = parse_dtype(described.at("dtype").get<std::string>());
  if (!dtype) throw std::runtime_error("no dtype is called " + described.at("dtype").dump());
  const Shape shape(described.at("shape").get<std::vector<std::int64_t>>());
  if (bytes.size() != static_cast<std::size_t>(shape.elements()) * dtype_size(*dtype))
    throw std::runtime_error("the file of input " + described.at("name").dump() + " has " +
                             std::to_string(bytes.size()) + " bytes, another number than its shape needs");
  return Tensor::from_bytes(bytes.data(), static_cast<std::size_t>(shape.elements()), {*dtype, shape});
}

json save(const Tensor& tensor, const std::string& path, std::size_t number) {
  const auto bytes = static_cast<std::streamsize>(static_cast<std::size_t>(tensor.size()) * dtype_size(tensor.dtype()));
  std::ofstream(path, std::ios::binary).write(static_cast<const char*>(tensor.raw_data()), bytes);
  json shape = json::array();
  for (int axis = 0; axis < tensor.rank(); ++axis) shape.push_back(tensor.shape()[axis]);
  return {{"name", std::to_string(number)}, {"file", path}, {"dtype", dtype_name(tensor.dtype())}, {"shape", shape}};
}

class Worker {
 public:
  json answer(const json& request) {
    const std::string what = request.at("do");
    if (what == "hello") return {{"version", "C++"}};
    if (what == "limits") return limits();
    if (what == "prepare") return prepare(request);
    if (what == "time") return time(request);
    return {{"error", "no request is called " + what}};
  }

 private:
  static json limits() {
    json copy = json::array();
    for (const std::int64_t bytes :
         {std::int64_t{128} << 10, std::int64_t{1} << 20, std::int64_t{8} << 20, std::int64_t{256} << 20})
      copy.push_back({{"bytes", 2 * bytes}, {"gb_per_s", copy_gb_per_s(bytes)}});  // source and target
    return {{"gflops", fma_peak_gflops()}, {"copy", copy}};
  }

  json prepare(const json& request) {
    const std::string name = request.at("name"), folder = request.at("folder");
    const auto found = peer_workloads().find(name);
    if (found == peer_workloads().end()) return {{"missing", true}};
    Inputs inputs;
    for (const json& described : request.at("inputs")) inputs.emplace(described.at("name"), load(described));
    Body body = found->second(inputs);
    const Tensors outputs = body();
    std::filesystem::create_directories(folder);
    json described = json::array();
    for (std::size_t i = 0; i < outputs.size(); ++i)
      described.push_back(save(outputs[i], folder + "/" + std::to_string(i) + ".bin", i));
    bodies_[name] = std::move(body);
    return {{"outputs", described}};
  }

  /// Seconds of one call, a value a batch; the rules of stopwatch.py.
  json time(const json& request) {
    const Body& body = bodies_.at(request.at("name"));
    if (request.at("warm_up").get<bool>()) body();
    json times = json::array();
    std::int64_t calls = 1;
    const double end = now() + request.at("seconds").get<double>();
    do {
      const double begin = now();
      for (std::int64_t i = 0; i < calls; ++i) body();
      const double spent = now() - begin, each = spent / static_cast<double>(calls);
      if (spent >= kBatch || calls > 1) times.push_back(each);
      if (spent < kBatch)
        calls = std::clamp<std::int64_t>(static_cast<std::int64_t>(kBatch / std::max(each, 1e-9)) + 1, 1, 1'000'000);
    } while (times.empty() || now() < end);
    return {{"times", times}};
  }

  std::map<std::string, Body> bodies_;
};

}  // namespace

int main() {
  Worker worker;
  for (std::string line; std::getline(std::cin, line);) {
    json answer;
    try {
      answer = worker.answer(json::parse(line));
    } catch (const std::exception& error) {
      const std::string text = error.what();
      answer = {{"error", text.substr(0, text.find('\n'))}};
    }
    std::cout << answer.dump() << std::endl;
  }
}
