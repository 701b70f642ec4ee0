#include <levin/data/datasets/python_dataset.h>
#include <levin/core/system/cores.h>
#include <levin/core/system/error.h>
#include <levin/data/data_loader.h>
#include <levin/data/loading/worker_thread.h>
#include <levin/data/needed_split.h>
#include <levin/data/python/python_host.h>
#include <levin/data/python/python_rank_loader.h>
#include <levin/data/python/python_samples.h>
#include <levin/data/python/python_stream_loader.h>
#include <levin/data/python/python_worker.h>
#include <levin/data/remote/output_place.h>

#include <algorithm>
#include <utility>

namespace levin::data {
namespace {

constexpr std::array kSplits = {Split::Train, Split::Val, Split::Test, Split::Predict};

}  // namespace

PythonDataset::PythonDataset(Options options) : options_(std::move(options)) {
  schema_of<Options>().check(&options_, "data");
  if (options_.file.empty()) throw UsageError("data.file: name the Python file that makes the data");
  require_local("data.file", options_.file);
  if (options_.function.empty()) throw UsageError("data.function: name a function or a class of ", options_.file);
}

PythonHost& PythonDataset::host() {
  if (!host_) {
    PythonCode code{.python = options_.python,
                    .file = options_.file,
                    .arguments = options_.arguments.text(),
                    .fields = options_.fields};
    for (const Split split : kSplits) code.functions.push_back(call_for(split).function);
    host_ = std::make_shared<PythonHost>(std::move(code));
  }
  return *host_;
}

PythonCall PythonDataset::call_for(Split split) const {
  const std::array<std::string, 4> own = {"", options_.val_function, options_.test_function, options_.predict_function};
  const std::string& name = own[static_cast<size_t>(split)];
  return {
      .function = name.empty() ? options_.function : name, .is_own = !name.empty(), .split = split, .stage = stage_};
}

void PythonDataset::prepare_data() {
  const PythonCall call = call_for(Split::Train);
  if (!host().takes(call.function, "rank")) host().prepare(call);
}

void PythonDataset::setup(Stage stage) {
  stage_ = stage;
  for (const Split split : kSplits) {
    std::shared_ptr<const PythonData>& data = data_[static_cast<size_t>(split)];
    const PythonCall call = call_for(split);
    if (data || !needs(stage, split) || host().takes(call.function, "rank")) continue;
    data = std::make_shared<const PythonData>(host().make(call));
  }
}

Loaders PythonDataset::loader(Split split) {
  const PythonCall call = call_for(split);
  if (!host().takes(call.function, "rank")) {
    const std::shared_ptr<const PythonData>& data = data_[static_cast<size_t>(split)];
    if (!data) throw UsageError("PythonDataset: call setup before asking for the ", to_text(split), " loader");
    if (data->kind == PythonData::Kind::None) return {};
    return std::shared_ptr<Loader>(make_loader(split, *data, {}));
  }
  if (!call.is_own && split != Split::Train && !host().takes(call.function, "split")) return {};
  const auto make = [self = *this, call](int64_t rank, int64_t world) {
    PythonCall of_rank = call;
    of_rank.rank = rank;
    of_rank.world = world;
    const PythonData data = self.host_->make(of_rank);
    if (data.kind == PythonData::Kind::None)
      throw UsageError(call.function, " of ", self.options_.file, " returned None for ", to_text(call.split),
                       "; a function with the parameter rank must have data for each split, or no parameter split");
    return self.make_loader(call.split, data, rank);
  };
  return std::make_shared<PythonRankLoader>(make);
}

std::unique_ptr<Loader> PythonDataset::make_loader(Split split, const PythonData& data,
                                                   std::optional<int64_t> rank) const {
  // A process loads in any case, and so it may load ahead.
  const int64_t processes = std::max<int64_t>(1, options_.num_workers);
  const PythonWorkerOptions workers{
      .workers = processes, .timeout_seconds = options_.timeout_seconds, .restarts = options_.worker_restarts};
  warn_of_many_workers(processes);
  DataLoaderOptions options = loader_options(options_);
  options.num_workers = processes;
  if (processes == 1 && options.prefetch_factor > 1 && cores_of_process() > 1) {
    // Other threads ask while one waits, so that the process need not.
    options.num_workers = PythonWorker::kMostRequests;
    options.prefetch_factor = (options.prefetch_factor + PythonWorker::kMostRequests - 1) / PythonWorker::kMostRequests;
  }
  options.timeout_seconds = 0;  // the wait for a worker has the limit, and ends the one that hangs
  if (split != Split::Train) options.shuffle = options.drop_last = false;
  if (data.kind == PythonData::Kind::Map)
    return std::make_unique<DataLoader>(std::make_shared<PythonSamples>(host_, split, data, workers, rank), options);
  return std::make_unique<PythonStreamLoader>(host_, split, data,
                                              PythonStreamOptions{.batch_size = options.batch_size,
                                                                  .drop_last = options.drop_last,
                                                                  .ahead = processes * options_.prefetch_factor,
                                                                  .seed = options.seed},
                                              workers, rank);
}

}  // namespace levin::data
