#include "tandem/files/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tandem/files/file_bytes.h"

namespace tandem {
namespace {

using Json = nlohmann::json;

struct NamedType {
  std::string_view name;
  DType dtype;
};
constexpr std::array kTypes{
    NamedType{"F64", DType::f64},     NamedType{"F32", DType::f32}, NamedType{"F16", DType::f16},
    NamedType{"BF16", DType::bf16},   NamedType{"I64", DType::i64}, NamedType{"I32", DType::i32},
    NamedType{"I16", DType::i16},     NamedType{"U16", DType::u16}, NamedType{"U32", DType::u32},
    NamedType{"U64", DType::u64},     NamedType{"I8", DType::i8},   NamedType{"U8", DType::u8},
    NamedType{"BOOL", DType::boolean}};

/// One tensor's entry of the header, checked.
struct Entry {
  std::string name;
  TensorSpec spec;
  std::uint64_t begin = 0, end = 0;
};

template <class... Parts>
[[noreturn]] void refuse(const std::string& file, const Parts&... parts) {
  fail(ErrorCode::bad_file, file, ": ", parts...);
}

std::vector<std::uint64_t> numbers(const Json& entry, const char* key, const std::string& file,
                                   const std::string& name) {
  const auto list = entry.find(key);
  if (list == entry.end() || !list->is_array()) refuse(file, "tensor '", name, "' has no list '", key, "'");
  std::vector<std::uint64_t> out;
  for (const Json& value : *list) {
    if (!value.is_number_unsigned())
      refuse(file, "tensor '", name, "': '", key, "' contains ",
             value.dump(-1, ' ', true, Json::error_handler_t::replace));
    out.push_back(value.get<std::uint64_t>());
  }
  return out;
}

TensorSpec read_spec(const Json& entry, const std::string& file, const std::string& name) {
  const auto type = entry.find("dtype");
  if (type == entry.end() || !type->is_string()) refuse(file, "tensor '", name, "' has no dtype");
  const auto known = std::find_if(kTypes.begin(), kTypes.end(), [&](const NamedType& one) {
    return one.name == type->get_ref<const std::string&>();
  });
  if (known == kTypes.end())
    refuse(file, "tensor '", name, "' has dtype ", type->get<std::string>(),
           "; known are F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8 and BOOL");
  const auto sizes = numbers(entry, "shape", file, name);
  std::vector<std::int64_t> shape;
  std::uint64_t bytes = dtype_size(known->dtype);
  for (const std::uint64_t size : sizes) {
    if (__builtin_mul_overflow(bytes, std::max<std::uint64_t>(size, 1), &bytes) || bytes >> 62 != 0)
      refuse(file, "tensor '", name, "' has an axis of ", size, " elements");
    shape.push_back(static_cast<std::int64_t>(size));
  }
  if (shape.size() > kMaxRank)
    refuse(file, "tensor '", name, "' has ", shape.size(), " axes; at most ", kMaxRank, " are possible");
  return {known->dtype, Shape(std::span<const std::int64_t>(shape))};
}

Entry read_entry(const Json& entry, const std::string& file, const std::string& name, std::uint64_t data_bytes) {
  if (!entry.is_object()) refuse(file, "tensor '", name, "' has no description");
  Entry out{.name = name, .spec = read_spec(entry, file, name)};
  const auto offsets = numbers(entry, "data_offsets", file, name);
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes)
    refuse(file, "tensor '", name, "' should be at [", join(offsets), "] of ", data_bytes,
           " bytes of data; the file is truncated or damaged");
  out.begin = offsets[0], out.end = offsets[1];
  if (out.end - out.begin != out.spec.bytes())
    refuse(file, "tensor '", name, "' of ", out.spec, " needs ", out.spec.bytes(), " bytes, ", out.end - out.begin,
           " are stored");
  return out;
}

Json read_header(std::string_view bytes, const std::string& file) {
  std::uint64_t length = 0;
  if (bytes.size() < 8) refuse(file, "no safetensors file: it has ", bytes.size(), " bytes");
  std::memcpy(&length, bytes.data(), 8);
  if (length > bytes.size() - 8)
    refuse(file, "the header should have ", length, " bytes, ", bytes.size() - 8,
           " are there; it is truncated or no safetensors file");
  Json header = Json::parse(bytes.substr(8, length), nullptr, false);
  if (!header.is_object()) refuse(file, "the header is no JSON object");
  return header;
}

Tensor read_tensor(std::string_view data, const Entry& entry) {
  const auto count = static_cast<std::size_t>(entry.spec.shape().elements());
  if (entry.spec.dtype() != DType::boolean) return Tensor::from_bytes(data.data() + entry.begin, count, entry.spec);
  std::string bools(data.substr(entry.begin, count));
  for (char& value : bools) value = value != 0;  // any other byte is no valid bool
  return Tensor::from_bytes(bools.data(), count, entry.spec);
}

}  // namespace

Safetensors safetensors_from_bytes(std::string_view bytes, const std::string& name) {
  const Json header = read_header(bytes, name);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  const std::string_view data = bytes.substr(8 + length);
  std::vector<Entry> entries;
  Safetensors out;
  for (const auto& [key, value] : header.items()) {
    if (key != "__metadata__") entries.push_back(read_entry(value, name, key, data.size()));
    else if (value.is_object())
      for (const auto& [word, text] : value.items())
        out.metadata.emplace(word, text.is_string() ? text.get<std::string>()
                                                    : text.dump(-1, ' ', true, Json::error_handler_t::replace));
  }
  // Nothing twice: what is read is at most what is there.
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::uint64_t end = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != end)
      refuse(name, "tensor '", entry.name, "' begins at byte ", entry.begin, " of the data where ", end,
             " was expected");
    end = entry.end;
    out.tensors.emplace(entry.name, read_tensor(data, entry));
  }
  return out;
}

Safetensors load_safetensors(const std::string& path) { return safetensors_from_bytes(read_file(path), path); }

std::string safetensors_to_bytes(const Safetensors& file) {
  std::vector<const NamedTensors::value_type*> order;
  for (const auto& item : file.tensors) order.push_back(&item);
  // Wide elements first: then each stands at a multiple of its size.
  std::stable_sort(order.begin(), order.end(),
                   [](auto* a, auto* b) { return dtype_size(a->second.dtype()) > dtype_size(b->second.dtype()); });
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  std::uint64_t at = 0;
  for (const auto* item : order) {
    const std::string& name = item->first;
    const Tensor& tensor = item->second;
    const auto type =
        std::find_if(kTypes.begin(), kTypes.end(), [&](const NamedType& one) { return one.dtype == tensor.dtype(); });
    if (type == kTypes.end())
      fail(ErrorCode::unsupported_dtype, "safetensors: tensor '", name, "' is ", tensor.dtype(),
           "; numbers and bools can be stored");
    const std::uint64_t end = at + tensor.spec().bytes();
    header[name] = {{"dtype", type->name}, {"shape", tensor.shape().sizes()}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  std::string out(reinterpret_cast<const char*>(&length), 8);
  out += text;
  for (const auto* item : order)
    out.append(static_cast<const char*>(item->second.raw_data()), item->second.spec().bytes());
  return out;
}

void save_safetensors(const std::string& path, const Safetensors& file) {
  write_file_atomically(path, safetensors_to_bytes(file));
}

}  // namespace tandem
