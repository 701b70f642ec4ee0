#!/bin/sh
# A fit by ddp under OpenMPI, RANKS processes on the machines of HOSTS (here, where it is unset):
#
#   RANKS=8 HOSTS=node1:4,node2:4 MASTER_ADDR=node1 MASTER_PORT=29500 configs/mpi/ddp.sh --config x.json
#
# MASTER_ADDR and MASTER_PORT are needed on several machines where mpirun's own address is not rank 0's.
# mpirun would bind each rank to one core; compute threads are OMP_NUM_THREADS.
set -eu
if [ -n "${HOSTS:-}" ]; then set -- --host "$HOSTS" "${LEVIN:-levin}" fit "$@"; else set -- "${LEVIN:-levin}" fit "$@"; fi
for name in MASTER_ADDR MASTER_PORT OMP_NUM_THREADS GLOO_SOCKET_IFNAME; do
  if [ -n "$(printenv "$name")" ]; then set -- -x "$name" "$@"; fi
done
if [ "$(id -u)" = 0 ]; then set -- --allow-run-as-root "$@"; fi
exec mpirun --bind-to none --oversubscribe -n "${RANKS:-2}" "$@"
