#pragma once
#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>
#include <levin/trainer/core/comm.h>
#include <levin/trainer/core/error.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace c10d {
class ProcessGroup;
class Work;
}  // namespace c10d

namespace levin {

struct RankStore;

/// Who reaches a store.
struct StoreAccess {
  bool on_loopback = true;  ///< processes of this machine alone
  std::string secret = {};  ///< that a peer must know; empty: anybody who reaches the port
};

/// Where the ranks of a run meet, and which of them this process is.
struct Rendezvous {
  int64_t rank = 0, world_size = 1;
  std::string master_addr = "127.0.0.1";  ///< where the store is; on a loopback address it listens there alone
  int64_t master_port = 29500;
  bool hosts_store = false;  ///< this process serves the store; the others connect to it
  std::string key = {};      ///< tells this start of the run from others that met at the same store
  bool several_machines = false;
  std::string secret = {};  ///< that ranks of several machines must know to meet; empty: none
};

/// By what ranks speak to each other.
enum class ProcessGroupBackend {
  Auto,  ///< Gloo for tensors on the CPU, NCCL for those on a GPU
  Mpi,   ///< for tensors on the CPU, where LibTorch has it
};

/// A collective that failed because another rank did not take part, or no longer exists.
class LostRankError : public Error {
 public:
  using Error::Error;
};

/// The ranks of a run, each a process, which speak by c10d.
///
/// Each call is made by all ranks in the same order. One that does not end in time, or fails, throws
/// levin::LostRankError with the call and the rank.
class ProcessGroup final : public Comm {
 public:
  /// Meets the other ranks. `device`: of this rank. Throws levin::UsageError where they cannot be reached in time, and
  /// where there is no such backend. MPI knows no timeout: mpirun ends all ranks when one dies.
  ProcessGroup(const Rendezvous& rendezvous, c10::Device device, std::chrono::milliseconds timeout,
               ProcessGroupBackend backend = ProcessGroupBackend::Auto);
  /// Rank 0 of so many that are not there, for plans: nothing is sent, and what would come from others is its own.
  static std::shared_ptr<ProcessGroup> of_absent_ranks(int64_t world_size, c10::Device device);
  ~ProcessGroup() override;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int64_t rank() const override { return rank_; }
  int64_t world_size() const override { return world_size_; }
  void all_reduce(at::Tensor& tensor, ReduceOp op) override;
  void broadcast(at::Tensor& tensor, int64_t source) override;
  std::vector<at::Tensor> all_gather(const at::Tensor& tensor) override;
  void barrier() override;

  /// A sum over all ranks that is begun and not waited for: `tensor` has it after the returned function was called.
  std::function<void()> begin_all_reduce(at::Tensor& tensor);
  /// For c10d's own classes.
  const c10::intrusive_ptr<c10d::ProcessGroup>& raw() const;
  /// Calls `body`; what it throws of c10d's failed collectives becomes a levin::LostRankError that names `call`, and
  /// the ranks that do not miss anybody themselves: they have ended, or hang.
  void guarded(const char* call, const std::function<void()>& body) const;
  /// While it lives, no call begins: each throws levin::Error. For what runs while an exception is on its way, when the
  /// other ranks do not take part and the call would wait for them.
  class Silence {
   public:
    explicit Silence(const ProcessGroup& group);
    ~Silence();
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;

   private:
    const ProcessGroup& group_;
  };
  /// The newest calls, one line each: number, name, and how long it took in milliseconds or that it did not end.
  std::string newest_calls() const;

 private:
  struct Parts;
  explicit ProcessGroup(int64_t world_size);
  /// The other ranks that have not said yet that a call of theirs failed.
  std::vector<int64_t> ranks_that_miss_nobody(const std::string& call) const;
  int64_t rank_, world_size_;
  std::unique_ptr<Parts> parts_;
};

/// A store that other processes meet at, served by this one while it lives.
class StoreServer {
 public:
  /// On this port, or with 0 on a free one. Throws levin::UsageError where it is in use.
  explicit StoreServer(int64_t port = 0, const StoreAccess& access = {});
  ~StoreServer();
  int64_t port() const;

 private:
  std::unique_ptr<RankStore> store_;
};

}  // namespace levin
