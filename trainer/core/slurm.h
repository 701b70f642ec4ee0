#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace levin {

/// The SLURM job that this process runs in, with the array's task where it is one; empty outside.
/// Source: https://slurm.schedmd.com/sbatch.html, output environment variables
std::string slurm_job_id();

/// How often the job was started again; 0 for its first start and outside a job.
int64_t slurm_restarts();

/// Seconds until the job's time limit; unset outside a job and where SLURM does not say.
std::optional<double> slurm_seconds_left();

/// Gives the job back to the queue (`scontrol requeue`); SLURM ends it and starts it again later. False where that
/// failed.
bool slurm_requeue();

}  // namespace levin
