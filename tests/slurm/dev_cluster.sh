#!/usr/bin/env bash
#
# dev_cluster.sh: a real SLURM cluster on one machine, for the tests.
#
#   dev_cluster.sh install   install the packages that it needs (apt-get; Debian 12 has SLURM 22.05)
#   dev_cluster.sh up        start every daemon and wait until all nodes are idle
#   dev_cluster.sh up site   the same, set up as on real sites: see below
#   dev_cluster.sh status    daemons, nodes, queue; ends with 0 only if the whole cluster is up
#   dev_cluster.sh down      cancel the jobs, stop the daemons, delete the directory
#
# Node c1 is partition `cpu` (the default), node g1 partition `gpu` with two GPUs that are copies of
# /dev/null: jobs get CUDA_VISIBLE_DEVICES but no device. Each node claims 8 CPUs and 8000 MB whatever
# the machine has. Accounting (mariadb and slurmdbd) runs, because the tests read `sacct`.
#
# `up site` differs where signals, memory and priorities do. Processes are tracked and limited by cgroup:
# memory is enforced, and a signal reaches the first process of a step alone. There is a second GPU node,
# g2, whose GPUs have a type and which has a feature. Two more partitions have the GPU nodes too, and their jobs are preempted by those of `gpu`: `requeue`,
# where they go back into the queue at once, and `cancel`, where they get SIGTERM and 20 s, then end as
# PREEMPTED. It needs the hierarchies of cgroup v1.
#
# Exit status 77 means "not possible here, and this is why" (no root, packages absent, the machine
# belongs to another cluster); every other failure is an error.
#
# Environment: DEV_CLUSTER_DIR    everything but the packages lives in it (/tmp/mbert-atlas-slurm)
#              DEV_CLUSTER_PORT   first of six TCP ports on 127.0.0.1 (17800); only slurmdbd
#                                 also listens on other addresses, 22.05 has no setting for that
# Clients need SLURM_CONF=$DEV_CLUSTER_DIR/slurm.conf. While the cluster is up /run/slurm/conf links
# to the directory as well: Snakemake's SLURM plugin removes SLURM_CONF from the environment of a
# Snakemake that is a job itself, whose `sbatch` then looks there.

set -euo pipefail

DIR=${DEV_CLUSTER_DIR:-/tmp/mbert-atlas-slurm}
PORT=${DEV_CLUSTER_PORT:-17800}

ACCOUNT=atlas
GPU_TYPE=nvidia_a100-sxm4-40gb # as AutoDetect=nvml names it
SITE=
DATABASE_DAEMON_PORT=$((PORT + 1))
DATABASE_PORT=$((PORT + 2))
NODE_PORT=$((PORT + 4))
RUN=$DIR/run
LOG=$DIR/log
DEFAULT_CONF=/run/slurm/conf
SQL_SOCKET=$DIR/mariadb.sock
MUNGE_SOCKET=$DIR/munge.sock
CGROUPS=/sys/fs/cgroup

export PATH=$PATH:/usr/sbin:/sbin
export SLURM_CONF=$DIR/slurm.conf
unset SLURM_CLUSTERS "${!SBATCH_@}" "${!SACCT_@}" "${!SQUEUE_@}" "${!SINFO_@}" # a caller's defaults

say() { printf 'dev_cluster: %s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }
not_here() { say "$*"; exit 77; }

wait_for() { # SECONDS WHAT COMMAND...: until the command succeeds
    local end=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        ((SECONDS < end)) || die "$what is not ready; the end of its log: $(tail -qn 5 "$LOG"/"$what"* 2>&1)"
        sleep 0.2
    done
}

# ---- packages ---------------------------------------------------------------------------------------

missing_packages() {
    local pair
    # The -core packages hold what a private database needs and set up no system service.
    for pair in munged:munge slurmctld:slurmctld slurmd:slurmd sinfo:slurm-client slurmdbd:slurmdbd \
        mariadbd:mariadb-server-core mariadb:mariadb-client-core; do
        command -v "${pair%%:*}" >/dev/null || echo "${pair#*:}"
    done
}

install_packages() {
    local missing policy=/usr/sbin/policy-rc.d
    mapfile -t missing < <(missing_packages)
    ((${#missing[@]})) || return 0
    [[ $(id -u) == 0 ]] || not_here "installing packages needs root"
    command -v apt-get >/dev/null || not_here "no apt-get: install ${missing[*]} by other means"
    say "installing ${missing[*]}"
    if [[ ! -e $policy ]]; then # the packages must not start daemons
        printf '#!/bin/sh\nexit 101\n' >$policy
        chmod 755 $policy
        trap "rm -f $policy" EXIT
    fi
    apt-get update -qq >&2 || true # one broken list of a third party must not stop us
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >&2 ||
        not_here "apt-get cannot install ${missing[*]}"
}

# ---- daemons: a process counts as ours only if its program and its directory are right --------------

pid_of() { # DAEMON -> its pid, if ours runs
    local pid
    pid=$(cat "$RUN/$1.pid" 2>/dev/null) && [[ $pid =~ ^[0-9]+$ ]] || return 1
    [[ $(cat "/proc/$pid/comm" 2>/dev/null) == "${1%%-*}" ]] || return 1
    tr '\0' '\n' 2>/dev/null <"/proc/$pid/environ" | grep -qxF "DEV_CLUSTER_DIR=$DIR" || return 1
    echo "$pid"
}

start() { # DAEMON COMMAND...: in a separate session, with no terminal
    local name=$1
    shift
    pid_of "$name" >/dev/null && return
    rm -f "$RUN/$name.pid"
    DEV_CLUSTER_DIR=$DIR setsid "$@" </dev/null >>"$LOG/$name.out" 2>&1 ||
        die "$name does not start: $(tail -qn 5 "$LOG/$name"* 2>&1)"
}

stop() { # DAEMON: TERM, then KILL after 20 s
    local pid i
    pid=$(pid_of "$1") || return 0
    kill "$pid"
    for ((i = 0; i < 100; i++)); do
        pid_of "$1" >/dev/null || return 0
        sleep 0.2
    done
    say "$1 ($pid) does not end; killing it"
    kill -9 "$pid" || true
}

# ---- configuration ----------------------------------------------------------------------------------

# The nodes of the cluster that is set up in the directory.
nodes() { sed -n 's/^NodeName=\([^ ]*\) .*/\1/p' "$SLURM_CONF" 2>/dev/null; }

require_cgroup() { # a memory limit can be set
    local controller probe=$CGROUPS/memory/dev-cluster-probe
    for controller in cpuacct cpuset devices freezer memory; do
        [[ -e $CGROUPS/$controller/cgroup.procs ]] ||
            not_here "no cgroup v1 hierarchy $CGROUPS/$controller (SLURM 22.05 needs systemd for v2)"
    done
    mkdir -p "$probe" && echo 16M >"$probe/memory.limit_in_bytes" ||
        not_here "memory cannot be limited in $CGROUPS/memory"
    rmdir "$probe"
}

site_conf() {
    local host=$1
    if [[ -z $SITE ]]; then
        printf '%s\n' ProctrackType=proctrack/linuxproc TaskPlugin=task/none JobAcctGatherType=jobacct_gather/linux
        return
    fi
    cat <<END
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
JobAcctGatherType=jobacct_gather/cgroup
SlurmdTimeout=20
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=g2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((NODE_PORT + 2)) CPUs=8 RealMemory=8000 Gres=gpu:$GPU_TYPE:2 Feature=a100
PartitionName=requeue Nodes=g1,g2 PriorityTier=1 PreemptMode=REQUEUE MaxTime=1-00:00:00 State=UP
PartitionName=cancel Nodes=g1,g2 PriorityTier=1 PreemptMode=CANCEL GraceTime=20 MaxTime=1-00:00:00 State=UP
END
}

slurm_conf() {
    local host
    host=$(hostname -s)
    cat <<END
ClusterName=atlas
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$PORT
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$MUNGE_SOCKET
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
StateSaveLocation=$DIR/state
SlurmdSpoolDir=$DIR/spool/%n
SlurmctldPidFile=$RUN/slurmctld.pid
SlurmdPidFile=$RUN/slurmd-%n.pid
SlurmctldLogFile=$LOG/slurmctld.log
SlurmdLogFile=$LOG/slurmd-%n.log
SwitchType=switch/none
MpiDefault=none
# claim more than the machine has, and come back after a failure
SlurmdParameters=config_overrides
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=500
GresTypes=gpu
# quick reactions
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=1,sched_interval=5,bf_interval=5
KillWait=5
# squeue must still know a job for three of Snakemake's intervals after its end
MinJobAge=300
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$DATABASE_DAEMON_PORT
AccountingStoragePass=$MUNGE_SOCKET
AccountingStorageEnforce=associations,limits
AccountingStorageTRES=gres/gpu
AccountingStoreFlags=job_comment
NodeName=c1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$NODE_PORT CPUs=8 RealMemory=8000
NodeName=g1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((NODE_PORT + 1)) CPUs=8 RealMemory=8000 Gres=gpu:2
PartitionName=cpu Nodes=c1 Default=YES MaxTime=1-00:00:00 State=UP
PartitionName=gpu Nodes=g1${SITE:+,g2} PriorityTier=10 MaxTime=1-00:00:00 State=UP
END
    site_conf "$host"
}

cgroup_conf() {
    echo "CgroupPlugin=cgroup/v1" # read at start, also where no other setting uses it
    [[ -z $SITE ]] || cat <<END
CgroupMountpoint=$CGROUPS
CgroupAutomount=no
ConstrainRAMSpace=yes
ConstrainSwapSpace=yes
AllowedSwapSpace=0
END
}

slurmdbd_conf() {
    cat <<END
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$DATABASE_DAEMON_PORT
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$MUNGE_SOCKET
PidFile=$RUN/slurmdbd.pid
LogFile=$LOG/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$DATABASE_PORT
StorageLoc=slurm
StorageUser=slurm
StoragePass=$(cat "$DIR/password")
CommitDelay=1
END
}

configure() {
    local i
    umask 022
    mkdir -p "$RUN" "$LOG" "$DIR/state" "$DIR/spool/"{c1,g1,g2} "$DIR/gpus"
    for i in 0 1; do # SLURM accepts only device files as GPUs
        [[ -c $DIR/gpus/gpu$i ]] || mknod "$DIR/gpus/gpu$i" c 1 3
    done
    (
        umask 077
        [[ -s $DIR/munge.key ]] || head -c 128 /dev/urandom >"$DIR/munge.key"
        [[ -s $DIR/password ]] || od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"$DIR/password"
        slurmdbd_conf >"$DIR/slurmdbd.conf"
    )
    slurm_conf >"$SLURM_CONF"
    echo "NodeName=g1 Name=gpu File=$DIR/gpus/gpu[0-1]" >"$DIR/gres.conf"
    [[ -z $SITE ]] || echo "NodeName=g2 Name=gpu Type=$GPU_TYPE File=$DIR/gpus/gpu[0-1]" >>"$DIR/gres.conf"
    cgroup_conf >"$DIR/cgroup.conf"
}

claim_default_conf() {
    local owner
    if [[ -e /etc/slurm/slurm.conf ]]; then
        not_here "/etc/slurm/slurm.conf exists: this machine belongs to a SLURM cluster"
    fi
    if [[ -L $DEFAULT_CONF ]]; then
        owner=$(readlink "$DEFAULT_CONF")
        if [[ $owner != "$DIR" ]] && kill -0 "$(cat "$owner/run/slurmctld.pid" 2>/dev/null)" 2>/dev/null; then
            not_here "another test cluster runs in $owner"
        fi
    elif [[ -e $DEFAULT_CONF ]]; then
        not_here "$DEFAULT_CONF exists: this machine belongs to a SLURM cluster"
    fi
    mkdir -p "${DEFAULT_CONF%/*}"
    ln -sfn "$DIR" "$DEFAULT_CONF"
}

# ---- up ---------------------------------------------------------------------------------------------

sql() { mariadb --no-defaults --socket="$SQL_SOCKET" --user=root; }

start_database() {
    if [[ ! -d $DIR/mariadb/mysql ]]; then
        mariadb-install-db --no-defaults --user=root --datadir="$DIR/mariadb" \
            --auth-root-authentication-method=normal --skip-test-db >"$LOG/mariadb-install.out" 2>&1 ||
            die "mariadb-install-db failed: $(tail -n 5 "$LOG/mariadb-install.out")"
    fi
    # mariadbd stays in the foreground, so the shell puts it into the background.
    start mariadbd bash -c 'exec "$@" &' _ mariadbd --no-defaults --user=root --datadir="$DIR/mariadb" \
        --socket="$SQL_SOCKET" --bind-address=127.0.0.1 --port="$DATABASE_PORT" \
        --pid-file="$RUN/mariadbd.pid" --log-error="$LOG/mariadbd.log" \
        --innodb-buffer-pool-size=128M --innodb-lock-wait-timeout=900
    wait_for 60 mariadbd sql </dev/null
    sql <<END
create database if not exists slurm;
create user if not exists slurm@127.0.0.1 identified by '$(cat "$DIR/password")';
create user if not exists slurm@localhost identified by '$(cat "$DIR/password")';
grant all on slurm.* to slurm@127.0.0.1, slurm@localhost;
END
}

# slurmctld rejects users without an account; sacctmgr ends with 1 where nothing is left to add.
register_user() {
    {
        sacctmgr -i add cluster atlas || true
        sacctmgr -i add account $ACCOUNT cluster=atlas description=tests organization=tests || true
        sacctmgr -i add user root account=$ACCOUNT cluster=atlas || true
    } >>"$LOG/sacctmgr.out" 2>&1
    sacctmgr -nP list associations user=root format=account | grep -qx $ACCOUNT ||
        die "root has no account: $(tail -n 5 "$LOG/sacctmgr.out")"
}

nodes_ready() { local states; states=$(sinfo -h -N -o %T) && ! grep -qvxE 'idle|mixed|allocated|drain(ed|ing)' <<<"$states"; }

up() {
    local missing node
    [[ $(id -u) == 0 ]] || not_here "the SLURM test cluster needs root"
    missing=$(missing_packages | paste -sd' ')
    [[ -z $missing ]] || not_here "packages are missing ($missing); '$0 install' installs them"
    [[ -z $SITE ]] || require_cgroup
    claim_default_conf
    configure
    start munged munged --socket="$MUNGE_SOCKET" --key-file="$DIR/munge.key" --seed-file="$DIR/munge.seed" \
        --pid-file="$RUN/munged.pid" --log-file="$LOG/munged.log" --origin=127.0.0.1 --force
    wait_for 20 munged munge --socket="$MUNGE_SOCKET" --no-input
    start_database
    start slurmdbd slurmdbd
    wait_for 60 slurmdbd sacctmgr -n list cluster
    register_user
    start slurmctld slurmctld
    wait_for 60 slurmctld scontrol ping
    for node in $(nodes); do start "slurmd-$node" slurmd -N "$node"; done
    wait_for 60 slurm nodes_ready
    say "up; export SLURM_CONF=$SLURM_CONF"
}

# ---- down, status -----------------------------------------------------------------------------------

queue_empty() { [[ -z $(squeue -h -t running,completing,suspended -o %i) ]]; }

# Steps outlive a slurmd that was killed: end what is left in its groups, and remove them.
leave_cgroups() { # GROUP
    local folder
    find "$CGROUPS/freezer/$1" -name cgroup.procs -exec cat {} + 2>/dev/null | xargs -r kill -9 2>/dev/null || true
    sleep 0.1
    for folder in "$CGROUPS"/*/"$1"; do
        [[ ! -d $folder ]] || find "$folder" -depth -type d -exec rmdir {} + 2>/dev/null || true
    done
}

down() {
    local daemon node i
    [[ -d $DIR ]] || return 0
    if pid_of slurmctld >/dev/null; then
        for i in PENDING RUNNING SUSPENDED; do scancel --state=$i || true; done
        for ((i = 0; i < 60; i++)); do
            if queue_empty; then break; fi
            sleep 0.25
        done
    fi
    for node in $(nodes); do
        stop "slurmd-$node"
        leave_cgroups "slurm_$node"
    done
    for daemon in slurmctld slurmdbd mariadbd munged; do stop $daemon; done
    if [[ $(readlink "$DEFAULT_CONF") == "$DIR" ]]; then rm "$DEFAULT_CONF"; fi
    rm -rf "$DIR"
    say "down"
}

status() {
    local daemon pid complete=0
    for daemon in munged mariadbd slurmdbd slurmctld $(nodes | sed 's/^/slurmd-/'); do
        if pid=$(pid_of $daemon); then echo "$daemon runs (pid $pid)"; else echo "$daemon does not run"; complete=1; fi
    done
    if pid_of slurmctld >/dev/null; then
        sinfo -N -o '%N %P %T %C(A/I/O/T) %m %G %E'
        squeue -o '%i %j %P %T %M %R'
    fi
    return $complete
}

case ${1:-} in
    install) install_packages ;;
    up)
        [[ ${2:-} =~ ^(site)?$ ]] || die "up or up site, not: $*"
        SITE=${2:-}
        up
        ;;
    down) down ;;
    status) status ;;
    *) sed -n '3,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
