#pragma once
#include <levin/modules/lightning_module.h>
#include <levin/trainer/fit/fit.h>
#include <levin/trainer/options/placement.h>
#include <levin/trainer/options/resolved_options.h>
#include <levin/trainer/session/session_options.h>

#include <memory>

namespace levin {

class ProcessGroup;

/// What a Trainer gives a session that it starts.
struct SessionSetup {
  ResolvedOptions options;
  Placement placement;
  std::shared_ptr<ProcessGroup> ranks;  ///< null without ddp or zero1
  ModuleRef module;
  RunConfig config;
  FoundRate found_rate;
  StartIdentity start;
  SessionOptions session;
};

}  // namespace levin
