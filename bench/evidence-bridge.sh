#!/usr/bin/env bash
# What the bridge does on this machine with producers from outside, each command before what it
# printed. The six files of `holdfast evidence` say the rest. Needs cc and make. From the package's root:
#
#   bench/evidence-bridge.sh [cuda|soft] > docs/evidence/DATE-bridge-producers-BACKEND.txt
set -u
backend=${1:-cuda}
folder=$(mktemp -d /dev/shm/holdfast-evidence-XXXXXX)
daemon=
trap '[ -z "$daemon" ] || kill -9 $daemon 2>/dev/null; rm -rf "$folder"' EXIT
producer=$PWD/examples/c-producer/c-producer
holdfast=$PWD/bin/holdfast.js
kernels=$PWD/kernels
cd "$folder" || exit 1

show() { printf '\n$ %s\n' "$*"; "$@" 2>&1; printf '(exit %s)\n' "$?"; }
v2() { show "$producer" --job job --in in --out out --done done "$@"; }
v1() { show "$producer" --job job1 --done done1 --ram ram "$@"; }

# Starts the daemon with these flags, and waits until its dies are online.
serve() {
  printf '\n$ holdfast bridge %s &\n' "$*"
  node "$holdfast" bridge --backend "$backend" --state-dir state "$@" > lines 2> log &
  daemon=$!
  for _ in $(seq 300); do grep -q '] ready$' log && return; sleep 0.1; done
  cat log
}
# Ends it with that signal, and shows what it printed.
finish() {
  kill "-$1" $daemon
  wait $daemon 2>/dev/null
  printf '(kill -%s; exit %s; its lines:)\n' "$1" "$?"
  cat lines
  sed 's/^\[[^]]*\] /log: /' log | tail -"$2"
  daemon=
}

date -u '+%Y-%m-%d %H:%M UTC'
command -v nvidia-smi > /dev/null && show nvidia-smi --query-gpu=name,driver_version --format=csv
make -s -C "$(dirname "$producer")" || exit 1

serve --job job --in in --out out --done done --modules "$kernels"
for op in 1 2 3 4; do v2 --op $op --iters $((op == 4 ? 1000 : 0)); done
for n in 1 255 257 1048577 16777216; do v2 --n $n; done
v2 --launch "$kernels/base.ptx" --entry vadd
v2 --launch "$kernels/base.ptx" --entry none
v2 --seq 3 --wait-ms 500
finish 9 1
printf '\nkilled with SIGKILL; the next one knows the last seq:\n'
serve --job job --in in --out out --done done --modules "$kernels"
v2
finish TERM 3

truncate -s 6G ram
serve --job job1 --done done1 --ram ram
for op in 1 2 3; do v1 --op $op; done
v1 --n 16777216
finish TERM 3

printf '\ntwo mailboxes on two dies, 200 jobs each at once:\n'
cat > two.json <<'J'
{ "bridges": [
  { "name": "left", "job": "job-l", "in": "in-l", "out": "out-l", "done": "done-l" },
  { "name": "right", "job": "job-r", "in": "in-r", "out": "out-r", "done": "done-r" } ] }
J
flood() {
  for _ in $(seq 200); do
    "$producer" --job "job-$1" --in "in-$1" --out "out-$1" --done "done-$1" --n 4096 || return 1
  done > "flood-$1"
}
for dies in 2 1; do
  serve --config two.json --dies $dies
  flood l & left=$!
  flood r & right=$!
  wait $left; wait $right
  for side in l r; do printf '%s: %s of 200 PASS\n' $side "$(grep -c '^PASS' flood-$side)"; done
  kill -TERM $daemon; wait $daemon; grep 'jobs=' log | sed 's/^\[[^]]*\] /log: /'
  daemon=
done
