#include <levin/core/device/own_generator.h>
#include <levin/core/run/module_access.h>
#include <levin/hosts/c/host_session.h>
#include <levin/hosts/c/status.h>

namespace levin::c {
namespace {

/// A model of its own with the weights that a session publishes.
class Reader {
 public:
  explicit Reader(const std::shared_ptr<HostSession>& session)
      : session_(session), publications_(session->publications()) {
    const ModuleAccess::Factory& make = ModuleAccess::factory(*session->model()->module());
    if (!make) throw UsageError("the model cannot be made again; use one that a config names");
    const GeneratorScope generator(make_generator(0));  // the initial weights, which are overwritten, cost no numbers
    const std::shared_ptr<LightningModule> module = make();
    session->convert(*module);
    model_.emplace(module);
    model_->module()->eval();
  }

  /// Returns the optimizer steps of the weights; -1 before the first publication.
  int64_t update() {
    // Read before the weights, which may be newer: the next update then copies them once more.
    const int64_t publications = publications_->count.load(std::memory_order_acquire);
    if (publications == taken_) return step_;
    if (const auto session = session_.lock())
      take(session->session().published());
    else
      take_last();
    taken_ = publications;
    return step_;
  }
  Model& model() { return *model_; }

 private:
  void take(const PublishedWeights& weights) {
    if (weights.empty()) return;
    weights.copy_to(*model_->module());
    step_ = weights.global_step();
  }
  void take_last() {
    const std::lock_guard lock(publications_->mutex);
    take(publications_->last);
  }

  std::weak_ptr<HostSession> session_;
  std::shared_ptr<Publications> publications_;
  int64_t taken_ = 0;  ///< publications when the weights were copied
  std::optional<Model> model_ = {};
  int64_t step_ = -1;
};

Handles<levin_reader, Reader>& readers() {
  static auto& all = *new Handles<levin_reader, Reader>("a reader");
  return all;
}

}  // namespace
}  // namespace levin::c

using namespace levin::c;

levin_status levin_reader_create(levin_session* session, levin_reader** reader) {
  return guarded("levin_reader_create", [&] {
    given(reader, "the reader") = nullptr;
    *reader = readers().add(std::make_shared<Reader>(sessions().at(session)));
  });
}

void levin_reader_destroy(levin_reader* reader) {
  guarded("levin_reader_destroy", [&] { readers().take(reader); });
}

levin_status levin_reader_update(levin_reader* reader, int64_t* step) {
  return guarded("levin_reader_update", [&] {
    const int64_t now = readers().at(reader)->update();
    if (step != nullptr) *step = now;
  });
}

levin_status levin_reader_run(levin_reader* reader, const char* function, const levin_array* inputs, size_t count) {
  return guarded("levin_reader_run", [&] { readers().at(reader)->model().run(function, inputs, count); });
}
levin_status levin_reader_result_count(levin_reader* reader, size_t* count) {
  return guarded("levin_reader_result_count",
                 [&] { given(count, "the count") = readers().at(reader)->model().results().count(); });
}
levin_status levin_reader_result(levin_reader* reader, size_t place, levin_array* array) {
  return guarded("levin_reader_result",
                 [&] { readers().at(reader)->model().results().give(place, given(array, "the array")); });
}
