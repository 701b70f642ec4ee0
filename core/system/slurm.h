#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace levin {

/// Returns the ID of the SLURM job that this process runs in, with the task ID of an array job; empty outside a job.
/// Source: https://slurm.schedmd.com/sbatch.html, output environment variables
std::string slurm_job_id();

/// Returns how often the job was restarted; 0 for its first start and outside a job.
int64_t slurm_restarts();

/// Returns the seconds until the job's time limit; unset outside a job and if SLURM does not report the limit.
std::optional<double> slurm_seconds_left();

/// Requeues the job (`scontrol requeue`); SLURM ends it and restarts it later. Returns false if that failed.
bool slurm_requeue();

}  // namespace levin
