#include <levin/trainer/trainer.h>
#include <levin/trainer/run/run_inputs.h>
#include <levin/trainer/session/session.h>
#include <levin/trainer/trainer_impl.h>

namespace levin {

Trainer::Trainer(TrainerOptions given)
    : Trainer(std::make_unique<Impl>(resolve_and_place_here(std::move(given)), /*is_for_trials=*/false)) {
  impl_->check_ranks_and_warn();
}

Trainer::Trainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Trainer::~Trainer() = default;

bool Trainer::is_global_zero() const { return impl_->is_global_zero(); }
const ResolvedOptions& Trainer::options() const { return impl_->options; }
const ProfileTotals& Trainer::profile() const { return impl_->profile; }

RunResult Trainer::fit(ModuleRef module, data::DataModuleRef data, const std::string& ckpt_path) {
  return impl_->fit(*this, module, {.data_module = data, .ckpt_path = ckpt_path});
}
RunResult Trainer::fit(ModuleRef module, data::Loaders train, data::Loaders validation, const std::string& ckpt_path) {
  return impl_->fit(*this, module,
                    {.train = std::move(train), .evaluation = std::move(validation), .ckpt_path = ckpt_path});
}

std::vector<Metrics> Trainer::validate(ModuleRef module, data::DataModuleRef data, const std::string& ckpt_path) {
  return impl_->evaluate(module, {.data_module = data, .ckpt_path = ckpt_path}, Stage::Validate);
}
std::vector<Metrics> Trainer::validate(ModuleRef module, data::Loaders loaders, const std::string& ckpt_path) {
  return impl_->evaluate(module, {.evaluation = std::move(loaders), .ckpt_path = ckpt_path}, Stage::Validate);
}
std::vector<Metrics> Trainer::test(ModuleRef module, data::DataModuleRef data, const std::string& ckpt_path) {
  return impl_->evaluate(module, {.data_module = data, .ckpt_path = ckpt_path}, Stage::Test);
}
std::vector<Metrics> Trainer::test(ModuleRef module, data::Loaders loaders, const std::string& ckpt_path) {
  return impl_->evaluate(module, {.evaluation = std::move(loaders), .ckpt_path = ckpt_path}, Stage::Test);
}

std::vector<std::vector<Batch>> Trainer::predict(ModuleRef module, data::DataModuleRef data,
                                                 const std::string& ckpt_path) {
  return impl_->predict(module, {.data_module = data, .ckpt_path = ckpt_path});
}
std::vector<std::vector<Batch>> Trainer::predict(ModuleRef module, data::Loaders loaders,
                                                 const std::string& ckpt_path) {
  return impl_->predict(module, {.evaluation = std::move(loaders), .ckpt_path = ckpt_path});
}

Session Trainer::start(ModuleRef module, SessionOptions options) { return impl_->start(module, std::move(options)); }

void Trainer::save_checkpoint(const std::filesystem::path& path, SaveCheckpointOptions how) {
  impl_->save_checkpoint(path, std::move(how));
}

}  // namespace levin
