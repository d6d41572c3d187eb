#!/usr/bin/env bash
# What the owner does on this machine, each command before what it printed. Run from the package's root:
#
#   bench/evidence-owner.sh [cuda|soft] [direct] > docs/evidence/DATE-owner-BACKEND.txt
#
# With `direct` as second argument only the part for several real GPUs runs.
set -u
backend=${1:-cuda}
part=${2:-all}
state=$(mktemp -d)
trap 'rm -rf "$state"' EXIT
out=$state/out.bin

show() { printf '\n$ %s\n' "$*"; "$@" 2>&1; printf '(exit %s)\n' "$?"; }
hold() { node bin/holdfast.js owner --backend "$backend" --state-dir "$state" "$@"; }
script='discover\nonline 0\nonline 1\nwork 0 7 100\nwork 1 9 200\nswap 0\nread 0\nread 1\nread 0\ncount\nstatus\nquit\n'
fault() { show node bin/holdfast.js run test/kernels/faults.ptx --backend "$backend" --state-dir "$state" --grid 1 --block 1 --arg 'out:u32[1]' --kernel "$@"; }

date -u '+%Y-%m-%d %H:%M UTC'
command -v nvidia-smi >/dev/null && show nvidia-smi --query-gpu=name,driver_version,memory.total,pci.bus_id --format=csv
show node --version
show node bin/holdfast.js devices --backend "$backend" --state-dir "$state"
if [ "$part" = direct ]; then
  printf '\n$ printf "%s" | holdfast owner --backend %s --slot direct\n' "$script" "$backend"
  printf "$script" | hold --slot direct
  exit
fi
for slot in direct sim; do
  printf '\n$ printf "%s" | holdfast owner --backend %s --slot %s --dies 2\n' "$script" "$backend" "$slot"
  printf "$script" | hold --slot "$slot" --dies 2
done
fault store_seven
fault out_of_bounds
fault endless --timeout-ms 500
: > "$state/empty.ptx"
head -c 700 kernels/base.ptx > "$state/truncated.ptx"
sed 's/^.version 4.2/.version 99.0/' kernels/base.ptx > "$state/newer.ptx"
bad() { show node bin/holdfast.js run "$1" --backend "$backend" --state-dir "$state" --grid 1 --block 1 --kernel "${@:2}"; }
for file in empty truncated newer; do bad "$state/$file.ptx" mail; done
bad kernels/base.ptx none_such
bad kernels/base.ptx mail --arg out:4
bad kernels/base.ptx mail --arg out:4 --arg 'in:u32[1]=1' --arg f32:1
bad kernels/base.ptx mail --arg out:900Gi --arg 'in:u32[1]=1' --arg u32:1
bad kernels/base.ptx mail --arg out:4 --arg 'in:u32[1]=1' --arg u32:0
show node bin/holdfast.js run kernels/base.ptx --backend "$backend" --state-dir "$state" --grid 1 --block 2048 --kernel mail --arg out:4 --arg 'in:u32[1]=1' --arg u32:0
printf '\n$ HOLDFAST_TEST_BACKEND=%s node --test dist/test/owner-system.test.js\n' "$backend"
HOLDFAST_TEST_BACKEND=$backend node --test --test-reporter=spec dist/test/owner-system.test.js 2>&1
printf '\n# kill -9 of die 0, five times, with a result of die 1 pending all the while\n'
log=$state/kills.log
{
  printf 'online 0\nonline 1\nwork 1 9 200\n'
  for turn in 1 2 3 4 5; do
    sleep 11 # the host in reserve is started ten seconds after the last one was taken
    printf 'status\n'
    sleep 1
    kill -9 "$(sed -n 's/.* die  0: .*host_pid=\([0-9]*\).*/\1/p' "$log" | tail -1)"
    sleep 1
    printf 'work 0 %s 5\nread 0\n' "$turn"
  done
  printf 'read 1\nstatus\nquit\n'
} | hold --slot direct --dies 2 --log "$log"
cat "$log"
show node bin/holdfast.js demo --backend "$backend" --state-dir "$state"
