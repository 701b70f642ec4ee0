#include <levin/data/data_module.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <levin/data/data_loader.h>
#include <levin/data/registry.h>

#include "tests/catch.h"

using levin::Batch;
using namespace levin::data;

namespace {

struct Plain : DataModule {
  Loaders train_dataloader() override { return std::vector<Batch>{Batch(at::full({2, 2}, 1.0))}; }
};

struct Scaling : Plain {
  Batch on_after_batch_transfer(Batch batch, int64_t) override {
    batch.set("input", batch.input() * 2);
    return batch;
  }
};

}  // namespace

TEST_CASE("the overrides of a data module are known at compile time, also through a base class") {
  constexpr DataOverrides plain = overridden_by<Plain>(), scaling = overridden_by<Scaling>();
  STATIC_REQUIRE(plain.has(DataMethod::train_dataloader));
  STATIC_REQUIRE_FALSE(plain.has(DataMethod::val_dataloader));
  STATIC_REQUIRE_FALSE(plain.has(DataMethod::on_after_batch_transfer));
  STATIC_REQUIRE(scaling.has(DataMethod::train_dataloader));
  STATIC_REQUIRE(scaling.has(DataMethod::on_after_batch_transfer));
  STATIC_REQUIRE_FALSE(scaling.has(DataMethod::transfer_batch_to_device));
}

TEST_CASE("an object of a derived class counts as overriding everything, unless its overrides were recorded") {
  Scaling scaling;
  CHECK_FALSE(DataModuleRef(scaling).overrides.has(DataMethod::prepare_data));
  Plain& base = scaling;
  CHECK(DataModuleRef(base).overrides.has(DataMethod::prepare_data));
  levin::ModuleAccess::remember(scaling, overridden_by<Scaling>());
  CHECK_FALSE(DataModuleRef(base).overrides.has(DataMethod::prepare_data));
  CHECK(DataModuleRef(base).overrides.has(DataMethod::on_after_batch_transfer));
}

TEST_CASE("the default hooks move the batch and change nothing") {
  Plain plain;
  const Batch batch(at::full({2, 2}, 1.0));
  CHECK(plain.on_before_batch_transfer(batch, 0).input().is_same(batch.input()));
  CHECK(plain.transfer_batch_to_device(batch, c10::kCPU, 0).input().is_same(batch.input()));
  CHECK(plain.transfer_batch_to_device(batch, c10::kMeta, 0).input().is_meta());
  CHECK(plain.on_after_batch_transfer(batch, 0).input().is_same(batch.input()));
  CHECK(plain.val_dataloader().empty());
  CHECK(plain.state_dict().is_none());
}

TEST_CASE("levin's data modules are registered, and made knowing what they override") {
  const auto& registry = DataModuleKind::registry();
  for (const char* name : {"MNIST", "FashionMNIST", "SyntheticDigits"}) {
    const auto* info = registry.find(name);
    REQUIRE(info);
    CHECK(info->schema().find("batch_size"));
    const auto made = registry.entry(name, "data.class")(info->schema().make().get());
    CHECK(levin::ModuleAccess::known_overrides(*made)->has(DataMethod::train_dataloader));
    CHECK_FALSE(levin::ModuleAccess::known_overrides(*made)->has(DataMethod::transfer_batch_to_device));
  }
}
