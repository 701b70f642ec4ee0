#include <levin/core/run/module_access.h>
#include <levin/hosts/c/host_session.h>
#include <levin/hosts/c/status.h>

namespace levin::c {
namespace {

/// A model of its own with the weights that a session publishes.
class Reader {
 public:
  explicit Reader(const std::shared_ptr<HostSession>& session) : session_(session) {
    const ModuleAccess::Factory& make = ModuleAccess::factory(*session->model()->module());
    if (!make) throw UsageError("the model cannot be made again; use one that a config names");
    model_.emplace(make());
    model_->module()->eval();
  }

  /// Returns the optimizer steps of the weights; -1 before the first publication.
  int64_t update() {
    const auto session = session_.lock();
    if (!session) return step_;  // it has ended; the weights stay
    const PublishedWeights newest = session->session().published();
    if (newest.empty() || newest.global_step() == step_) return step_;
    newest.copy_to(*model_->module());
    return step_ = newest.global_step();
  }
  Model& model() { return *model_; }

 private:
  std::weak_ptr<HostSession> session_;
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
