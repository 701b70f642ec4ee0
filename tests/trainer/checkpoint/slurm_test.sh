#!/usr/bin/env bash
# A real SLURM on this one machine: a job gets SIGUSR1, saves, is queued again by levin, goes on by itself, and ends as the
# run that was not disturbed; and so does a job of two tasks, which are the ranks of ddp.
# usage: slurm_test.sh LEVIN_PROGRAM DDP_SBATCH    exits 77 (skipped) where SLURM is not installed
set -euo pipefail

levin=$1
ddp_script=$2
for program in munged slurmctld slurmd sbatch scontrol scancel squeue; do
  PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || { echo "skipped: there is no $program (apt-get install slurm-wlm munge)"; exit 77; }
done
export PATH=$PATH:/usr/sbin

folder=$(mktemp -d)
export SLURM_CONF=$folder/slurm.conf
cleanup() {
  for daemon in slurmctld slurmd; do
    [[ -f $folder/$daemon.pid ]] && kill "$(cat "$folder/$daemon.pid")" 2>/dev/null || true
  done
  [[ -f $folder/munged.pid ]] && kill "$(cat "$folder/munged.pid")" 2>/dev/null || true
  sleep 1
  rm -rf "$folder"
}
trap cleanup EXIT

# wait_for WHAT COMMAND...: until the command succeeds, three minutes at most: the machine may be busy.
wait_for() {
  local what=$1
  shift
  for ((i = 0; i < 1800; ++i)); do
    "$@" && return
    sleep 0.1
  done
  echo "$what did not come; the logs:"
  tail -n 20 "$folder"/*.log "$folder"/job-*.txt 2>/dev/null || true
  exit 1
}

# munge looks at who may write to its folders.
chmod 755 "$folder"
mkdir -m 700 "$folder/munge" "$folder/state" "$folder/spool"
dd if=/dev/urandom of="$folder/munge/key" bs=1024 count=1 status=none
chmod 400 "$folder/munge/key"
munged --force --socket="$folder/munge.socket" --key-file="$folder/munge/key" --pid-file="$folder/munged.pid" \
  --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" ||
  { echo "munged does not start"; exit 1; }

host=$(hostname -s)
cat > "$SLURM_CONF" <<END
ClusterName=levin
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
JobRequeue=1
KillWait=5
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
slurmctld && slurmd || { echo "SLURM's daemons do not start; the logs:"; tail -n 20 "$folder"/*.log; exit 1; }
node_is_idle() { [[ $(sinfo --noheader --format=%T 2>/dev/null) == idle ]]; }
wait_for "the node" node_is_idle

cat > "$folder/config.json" <<'END'
{"seed": 3, "name": "run",
 "trainer": {"max_epochs": 4, "log_every_n_steps": 1, "limit_val_batches": 4, "enable_progress_bar": false},
 "model": {"class": "ImageClassifier", "net": "mlp", "optimizer": {"class": "Adam", "lr": 0.001}},
 "data": {"class": "SyntheticDigits", "train_size": 16000, "val_size": 640, "batch_size": 16}}
END
"$levin" fit --config "$folder/config.json" --default-root-dir "$folder/unbroken" > "$folder/unbroken.txt" 2>&1

cat > "$folder/job.sh" <<END
#!/bin/sh
exec $levin fit --config $folder/config.json --default-root-dir $folder/job
END
chmod +x "$folder/job.sh"
job=$(sbatch --parsable --requeue --open-mode=append --time=10 --output="$folder/job-%j.txt" "$folder/job.sh")
# disturb JOB FOLDER SCANCEL_ARGUMENTS...: the job gets SIGUSR1 when it has made some steps, is queued again, and ends.
disturb() {
  local job=$1 run=$2/run/version_0
  shift 2
  has_rows() { [[ -f $run/metrics.jsonl && $(wc -l < "$run/metrics.jsonl") -gt 50 ]]; }
  wait_for "the first rows of job $job" has_rows
  scancel --signal=USR1 "$@" "$job"
  was_requeued() { scontrol show job "$job" | grep -q "Restarts=1"; }
  wait_for "the requeue of job $job" was_requeued
  # SLURM waits two minutes before it starts such a job. Five seconds are enough here; within the same one slurmd would
  # take the job for the one that it has just ended.
  is_pending() { [[ $(squeue --noheader --job "$job" --format=%T) == PENDING ]]; }
  wait_for "job $job in the queue" is_pending
  sleep 5
  scontrol update "JobId=$job" StartTime=now
  has_ended() { [[ -f $run/summary.json ]] && grep -q '"status": "completed"' "$run/summary.json"; }
  wait_for "the end of job $job" has_ended
}
disturb "$job" "$folder/job" --batch
run=$folder/job/run/version_0

echo "the job's output:"
cat "$folder/job-$job.txt"
grep -q "resumes after .* of $run/checkpoints/" "$folder/job-$job.txt"
[[ -f $run/checkpoints/hpc_ckpt_1.ckpt ]]
cmp "$run/weights.pt" "$folder/unbroken/run/version_0/weights.pt"
echo "job $job was queued again and ended as the run that was not disturbed"

export OMP_NUM_THREADS=1
"$levin" fit --config "$folder/config.json" --data.batch_size 8 --devices 2 --accelerator cpu \
  --default-root-dir "$folder/ranks" > "$folder/ranks.txt" 2>&1
job=$(LEVIN=$levin sbatch --parsable --ntasks=2 --time=10 --output="$folder/job-%j.txt" "$ddp_script" \
  --config "$folder/config.json" --data.batch_size 8 --accelerator cpu --default-root-dir "$folder/tasks")
disturb "$job" "$folder/tasks"
echo "the output of the job of two tasks:"
cat "$folder/job-$job.txt"
grep -q "strategy ddp (2 ranks of SLURM)" "$folder/job-$job.txt"
cmp "$folder/tasks/run/version_0/weights.pt" "$folder/ranks/run/version_0/weights.pt"
echo "job $job of two tasks was queued again and ended as two ranks that were not disturbed"
