#include <levin/data/python/python_host.h>
#include <fcntl.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <levin/core/system/file_calls.h>
#include <levin/core/system/python_of_libtorch.h>
#include <levin/data/python/python_source.h>
#include <levin/data/python/python_worker.h>
#include <sys/mman.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace levin::data {
namespace {

using Json = nlohmann::ordered_json;

/// The program reads its source from descriptor 4, so that it is neither in a file nor in the list of processes.
constexpr const char* kReadSource =
    "import os; exec(compile(os.fdopen(4).read(), \"levin's data/python/host\", 'exec'))";
/// How long a process may take to end that is told to.
constexpr double kSecondsToEnd = 1;

const char* name_of(Stage stage) {
  switch (stage) {
    case Stage::Fit:
      return "fit";
    case Stage::Validate:
      return "validate";
    case Stage::Test:
      return "test";
    default:
      return "predict";
  }
}

/// Returns a file in memory, to be read from its beginning.
Descriptor file_with(const std::string& text) {
  Descriptor file(::memfd_create("levin-python", MFD_CLOEXEC));
  if (!file.is_open() || write_all(file.number(), text.data(), text.size()) != 0 ||
      ::lseek(file.number(), 0, SEEK_SET) != 0)
    throw Error("memory for a program of Python: ", std::strerror(errno));
  return file;
}

Json request_of(const char* what, const PythonCall& call) {
  return {
      {"do", what},        {"function", call.function},    {"is_own", call.is_own},   {"split", to_text(call.split)},
      {"rank", call.rank}, {"stage", name_of(call.stage)}, {"world_size", call.world}};
}

PythonData data_of(const Json& answer) {
  const auto kind = answer.at("kind").get<std::string>();
  PythonData data;
  data.kind = kind == "map"       ? PythonData::Kind::Map
              : kind == "samples" ? PythonData::Kind::Samples
              : kind == "batches" ? PythonData::Kind::Batches
                                  : PythonData::Kind::None;
  if (data.kind == PythonData::Kind::None) return data;
  if (!answer.at("size").is_null()) data.size = answer.at("size").get<int64_t>();
  data.class_names = answer.at("classes").get<std::vector<std::string>>();
  return data;
}

}  // namespace

PythonHost::PythonHost(PythonCode code) : code_(std::move(code)) {
  if (code_.python.empty()) code_.python = python_of_libtorch();
  std::error_code none;
  if (!std::filesystem::is_regular_file(code_.file, none))
    throw UsageError("data.file: ", code_.file, ": there is no such file");
  const std::lock_guard lock(mutex_);
  start();
}

PythonHost::~PythonHost() {
  channel_.close();
  process_->wait(kSecondsToEnd);
}

void PythonHost::start() {
  auto [own, other] = Channel::ends();
  const Descriptor source = file_with(python_source());
  channel_ = Channel(std::move(own));
  process_ = std::make_unique<ChildProcess>(std::vector<std::string>{code_.python, "-u", "-c", kReadSource},
                                            std::vector<int>{other.number(), source.number()},
                                            // The order of sets of texts is the same in each run.
                                            std::map<std::string, std::string>{{"PYTHONHASHSEED", "0"}});
  other.close();
  const Json answer = ask_user({{"do", "load"},
                                {"file", code_.file},
                                {"functions", code_.functions},
                                {"arguments", Json::parse(code_.arguments)},
                                {"fields", code_.fields}});
  takes_ = answer.at("takes").get<std::map<std::string, std::vector<std::string>>>();
}

void PythonHost::start_again() {
  const std::optional<int> status = process_->wait(kSecondsToEnd);
  const std::string what = c10::str("the Python process of ", code_.file, " ", how_it_ended(status));
  if (std::exchange(was_started_again_, true)) throw Error(what, " once more; its errors may be above");
  console::warn(c10::str("data: ", what, "; it is started again"));
  start();
  for (const PythonCall& call : made_) ask_user(request_of("make", call));
}

Json PythonHost::ask(const Json& request, int descriptor) {
  Json answer;
  Descriptor none;
  if (!channel_.send(request, descriptor) || channel_.receive(process_->watch(), 0, answer, none) != Received::Message)
    return {};
  return answer;
}

Json PythonHost::ask_user(const Json& request) {
  Json answer = ask(request);
  if (answer.is_null()) {
    throw UsageError(code_.file, ": the Python process ", how_it_ended(process_->wait(kSecondsToEnd)),
                     " before it answered; its errors may be above, and data.python names another interpreter than ",
                     code_.python);
  }
  if (const auto error = answer.find("error"); error != answer.end())
    throw UsageError(text_of_python_error(*error, code_.file));
  return answer;
}

bool PythonHost::takes(const std::string& function, const std::string& parameter) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::count(takes_.at(function), parameter) > 0;
}

void PythonHost::prepare(const PythonCall& call) {
  const std::lock_guard lock(mutex_);
  ask_user(request_of("prepare", call));
}

PythonData PythonHost::make(const PythonCall& call) {
  const std::lock_guard lock(mutex_);
  PythonData data = data_of(ask_user(request_of("make", call)));
  std::erase_if(made_, [&](const PythonCall& other) { return other.split == call.split; });
  if (data.kind != PythonData::Kind::None) made_.push_back(call);
  return data;
}

std::unique_ptr<PythonWorker> PythonHost::start_worker(Split split, std::optional<int64_t> rank) {
  const std::lock_guard lock(mutex_);
  const Json request = {{"do", "fork"}, {"split", to_text(split)}, {"rank", rank ? Json(*rank) : Json(nullptr)}};
  for (bool is_again = false;; is_again = true) {
    auto [own, other] = Channel::ends();
    const Json answer = ask(request, other.number());
    if (answer.is_object() && answer.contains("pid"))
      return std::make_unique<PythonWorker>(*this, Channel(std::move(own)), answer.at("pid").get<int64_t>());
    if (answer.is_object()) throw Error("a worker of Python: ", text_of_python_error(answer.at("error"), code_.file));
    if (is_again) throw Error(code_.file, ": the Python process ends when it makes a worker");
    start_again();
  }
}

std::string PythonHost::end_of_worker(int64_t process) {
  const std::lock_guard lock(mutex_);
  const Json answer = ask({{"do", "end_of"}, {"pid", process}});
  const bool is_known = answer.is_object() && answer.contains("status") && !answer.at("status").is_null();
  return how_it_ended(is_known ? std::optional(answer.at("status").get<int>()) : std::nullopt);
}

std::string text_of_python_error(const Json& error, const std::string& file) {
  const auto text = [&](const char* key) { return error.value(key, std::string()); };
  std::string all = text("where").empty() ? file : text("where");
  if (const auto sample = error.find("sample"); sample != error.end() && sample->is_number())
    all += c10::str(": sample ", sample->get<int64_t>());
  all += ": " + text("what");
  if (!text("trace").empty()) all += "\nTraceback, the last call below:\n" + text("trace");
  while (all.ends_with('\n')) all.pop_back();
  return all;
}

}  // namespace levin::data
