#include <levin/core/device/gpu_discovery.h>
#include <levin/core/system/error.h>

#include "tests/catch.h"

using levin::Accelerator, levin::Choice, levin::choose_devices, levin::Devices;
using levin::VisibleGpus;

namespace {

std::string error_of(const Choice<Accelerator>& accelerator, const Devices& devices, const VisibleGpus& gpus) {
  try {
    choose_devices("trainer.gpus", accelerator, devices, gpus);
  } catch (const levin::UsageError& error) {
    return error.what();
  }
  return "";
}

std::string chosen(const Choice<Accelerator>& accelerator, const Devices& devices, const VisibleGpus& gpus = {}) {
  return levin::to_text(choose_devices("trainer.devices", accelerator, devices, gpus));
}

const VisibleGpus kFourGpus{.count = 4, .built_with_cuda = true};

}  // namespace

TEST_CASE("devices are chosen by count, by number, or all") {
  CHECK(chosen("cpu", {}) == "cpu");
  CHECK(chosen("cpu", 3) == "3 x cpu");
  CHECK(chosen("cpu", "auto") == "cpu");
  CHECK(chosen("gpu", {}, kFourGpus) == "cuda:0");
  CHECK(chosen("gpu", 2, kFourGpus) == "cuda:0, cuda:1");
  CHECK(chosen("gpu", -1, kFourGpus) == "cuda:0, cuda:1, cuda:2, cuda:3");
  CHECK(chosen("gpu", "1,3", kFourGpus) == "cuda:1, cuda:3");
  CHECK(chosen("gpu", {2}, kFourGpus) == "cuda:2");
}

TEST_CASE("auto is the GPU if there is one") {
  CHECK(levin::resolve_accelerator(Accelerator::Auto, {}) == Accelerator::Cpu);
  CHECK(levin::resolve_accelerator(Accelerator::Auto, kFourGpus) == Accelerator::Gpu);
  CHECK(levin::resolve_accelerator(Accelerator::Cuda, {}) == Accelerator::Gpu);
  CHECK(levin::resolve_accelerator(Accelerator::Cpu, kFourGpus) == Accelerator::Cpu);
}

TEST_CASE("the error for missing devices names what was asked for, what there is, and what hides the rest") {
  CHECK(
      error_of("gpu", 1, {}) ==
      "trainer.gpus: a GPU was asked for, and this LibTorch is built without CUDA; use accelerator cpu, or build levin "
      "with a LibTorch that has it (docs/devices.md)");
  CHECK(error_of("gpu", 1, {.built_with_cuda = true, .cuda_visible_devices = ""}) ==
        "trainer.gpus: a GPU was asked for, and this process sees none; CUDA_VISIBLE_DEVICES is \"\"; does nvidia-smi "
        "show one? Use accelerator cpu to train without");
  CHECK(error_of("gpu", "0,4", kFourGpus) ==
        "trainer.gpus: there is no GPU 4; this process sees 4 GPUs, counted from 0");
  CHECK(error_of("gpu", 5, kFourGpus) == "trainer.gpus: 5 GPUs were asked for, and this process sees 4 GPUs");
  CHECK(error_of("gpu", {3}, {.count = 1, .built_with_cuda = true, .cuda_visible_devices = "3"}) ==
        "trainer.gpus: there is no GPU 3; this process sees 1 GPU, counted from 0; CUDA_VISIBLE_DEVICES is \"3\", and "
        "these are counted from 0 here, in that order");
  CHECK(error_of("cpu", "0,1", {}) == "trainer.gpus: 0,1 are numbers of GPUs; on the CPU give the number of replicas");
  CHECK(error_of("cpu", 0, {}) == "trainer.gpus: expected at least one device, got 0");
}
