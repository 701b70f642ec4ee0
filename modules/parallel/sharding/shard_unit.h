#pragma once

namespace levin {

/// Marks a part of a model whose parameters the strategy `fsdp` gathers and gives back together. The module also
/// derives from this class:
///
///     struct Block : torch::nn::Module, levin::ShardUnit { ... };
///
/// Mark the parts that are repeated, such as the blocks of a transformer. A marked part inside another one is a unit of
/// its own. Parts that nothing marks are units if they are children of a ModuleList or Sequential and have more than 1
/// % of the parameters.
class ShardUnit {
 protected:
  ~ShardUnit() = default;
};

}  // namespace levin
