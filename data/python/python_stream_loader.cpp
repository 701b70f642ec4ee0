#include <levin/data/python/python_stream_loader.h>
#include <levin/core/system/console.h>
#include <levin/core/system/error.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace levin::data {

PythonStreamLoader::PythonStreamLoader(std::shared_ptr<PythonHost> host, Split split, PythonData data,
                                       PythonStreamOptions options, PythonWorkerOptions workers,
                                       std::optional<int64_t> rank)
    : host_(std::move(host)),
      split_(split),
      data_(std::move(data)),
      options_(options),
      workers_(workers),
      own_rank_(rank),
      seed_(static_cast<uint64_t>(options.seed.value_or(0))) {}

PythonStreamLoader::~PythonStreamLoader() = default;

/// Ends the worker; the next batch is that behind the place.
void PythonStreamLoader::restart() {
  worker_ = nullptr;
  requested_ = 0;
}

void PythonStreamLoader::request_batches() {
  Json request = Json::object();
  if (!worker_) {
    worker_ = host_->start_worker(split_, own_rank_);
    if (samples_ > 0 && !state_)
      console::warn(c10::str("data: ", samples_, " samples of ", host_->file(),
                             " are read again to find the place where the epoch stood, since the data have no ",
                             "state_dict() and load_state_dict()"));
    request["open"] = {{"seed", seed_},
                       {"epoch", epoch_},
                       {"salt", own_rank_ ? Json::array({*own_rank_}) : Json::array()},
                       {"rank", rank_},
                       {"world", world_},
                       {"batch_size", options_.batch_size},
                       {"drop_last", options_.drop_last},
                       {"samples", samples_},
                       {"batches", batches_},
                       {"state", state_ ? Json(*state_) : Json(nullptr)}};
  }
  for (; requested_ <= options_.ahead; ++requested_) {
    worker_->send(request);
    request.erase("open");
  }
}

std::optional<LoadedBatch> PythonStreamLoader::read() {
  request_batches();
  const Json answer = worker_->receive(workers_.timeout_seconds);
  --requested_;
  if (answer.contains("end")) {
    has_ended_ = true;
    restart();
    return {};
  }
  LoadedBatch loaded{worker_->batch(answer), answer.at("samples").get<int64_t>(), answer.at("last").get<bool>(),
                     answer.at("absent").get<bool>()};
  if (loaded.absent) loaded.samples = 0;
  samples_ = answer.at("position").get<int64_t>();
  batches_ = answer.at("batches").get<int64_t>();
  const Json& state = answer.at("state");
  state_ = state.is_null() ? std::nullopt : std::optional(state.get<std::string>());
  has_ended_ = loaded.last;
  if (has_ended_) restart();
  return loaded;
}

std::optional<LoadedBatch> PythonStreamLoader::next() {
  if (has_ended_) return {};
  while (true) {
    try {
      return read();
    } catch (const LostPythonWorker& error) {
      restart();
      if (restarts_ >= workers_.restarts) throw;
      ++restarts_;
      console::warn(c10::str("data: ", error.what(), "; another one continues behind sample ", samples_));
    } catch (...) {
      restart();
      has_ended_ = true;
      throw;
    }
  }
}

std::optional<int64_t> PythonStreamLoader::size() const {
  if (!data_.size) return {};
  const int64_t round = data_.kind == PythonData::Kind::Batches ? world_ : world_ * options_.batch_size;
  const bool drops = options_.drop_last && data_.kind == PythonData::Kind::Samples;
  return drops ? *data_.size / round : (*data_.size + round - 1) / round;
}

void PythonStreamLoader::set_epoch(int64_t epoch) {
  restart();
  epoch_ = epoch;
  samples_ = batches_ = 0;
  state_.reset();
  has_ended_ = false;
}

void PythonStreamLoader::set_default_seed(uint64_t seed) {
  if (options_.seed || seed == seed_) return;
  seed_ = seed;
  restart();
}

void PythonStreamLoader::shard(int64_t rank, int64_t world) {
  if (world < 1 || rank < 0 || rank >= world) throw Error("PythonDataset: no rank ", rank, " in a world of ", world);
  rank_ = rank;
  world_ = world;
  restart();
}

State PythonStreamLoader::state_dict() const {
  State state = State::dict({{"epoch", epoch_},
                             {"position", samples_},
                             {"batches", batches_},
                             {"seed", static_cast<int64_t>(seed_)},
                             {"ended", has_ended_}});
  if (state_) state["data"] = *state_;
  return state;
}

void PythonStreamLoader::load_state_dict(const State& state) {
  restart();
  epoch_ = state.at("epoch").to_int();
  samples_ = state.at("position").to_int();
  batches_ = state.at("batches").to_int();
  seed_ = static_cast<uint64_t>(state.at("seed").to_int());
  has_ended_ = state.at("ended").to_bool();
  state_.reset();
  if (const State* data = state.find("data")) state_ = data->to_string();
}

}  // namespace levin::data
