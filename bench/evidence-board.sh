#!/usr/bin/env bash
# What ladder, doctor, health and the stop levels do on this machine, each command before what it printed. Run from the
# package's root:
#
#   bench/evidence-board.sh [cuda|soft] > docs/evidence/DATE-board-BACKEND.txt
set -u
backend=${1:-cuda}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
holdfast="node bin/holdfast.js"

show() { printf '\n$ %s\n' "$*"; "$@" 2>&1; printf '(exit %s)\n' "$?"; }
fresh() { mktemp -d "$scratch/state-XXXX"; }
wait_for() { for _ in $(seq 300); do grep -q "$1" "$2" && return; sleep 0.1; done; echo "no '$1' in $2"; }

date -u '+%Y-%m-%d %H:%M UTC'
command -v nvidia-smi >/dev/null && show nvidia-smi --query-gpu=name,driver_version,memory.total,pci.bus_id --format=csv
show node --version
show $holdfast doctor --backend "$backend" --state-dir "$(fresh)"
show $holdfast ladder --backend "$backend" --state-dir "$(fresh)"
show $holdfast ladder --backend "$backend" --slot sim --dies 4 --state-dir "$(fresh)"

printf '\n# kill -9 in each rung of two dies behind one window: doctor names it, and the ladder is climbed to its end\n'
for at in 0:acquire 0:load-driver 0:initialise 0:context 0:module 0:buffers 0:probe 0:work 0:read 1:unblock 1:bind 1:ordinals 1:context 1:probe; do
  die=${at%%:*} rung=${at##*:} state=$(fresh)
  setsid $holdfast ladder --backend "$backend" --slot sim --dies 2 --pause-ms 500 --state-dir "$state" >"$state/out" 2>&1 &
  pid=$!
  wait_for "\"die\":$die,.*\"step\":\"$rung\",.*\"phase\":\"begin\"" "$state/bring-up.journal" 2>/dev/null
  kill -9 "$pid"; wait "$pid" 2>/dev/null
  printf '\nkilled in die %s, %s\n' "$die" "$rung"
  $holdfast doctor --backend "$backend" --state-dir "$state" 2>&1 | grep -i -A1 "bring-up" | head -3
  $holdfast ladder --backend "$backend" --slot sim --dies 2 --state-dir "$state" 2>/dev/null | tail -1
done

printf '\n# a journal of another boot: the rung is held back until it is asked for\n'
state=$(fresh)
$holdfast ladder --backend "$backend" --state-dir "$state" --until context >/dev/null 2>&1
tail -1 "$state/bring-up.journal" | sed 's/"phase":"done"/"phase":"begin"/; s/"boot":"[^"]*"/"boot":"00000000-0000-0000-0000-000000000000"/' >"$state/line"
cat "$state/line" >>"$state/bring-up.journal"
show $holdfast ladder --backend "$backend" --state-dir "$state"
show $holdfast ladder --backend "$backend" --state-dir "$state" --retry

printf '\n# stop levels\n'
levels='online 0\nonline 1\nwork 0 7 100\ndrain\nwork 1 1 1\nread 0\npark\nread 0\nresume\nwork 1 9 200\nread 1\nstatus\nteardown\n'
for slot in direct sim; do
  printf '\n$ printf "%s" | holdfast owner --backend %s --slot %s --dies 2\n' "$levels" "$backend" "$slot"
  printf "$levels" | $holdfast owner --backend "$backend" --slot "$slot" --dies 2 --state-dir "$(fresh)" 2>&1
  printf '(exit %s)\n' "$?"
done

printf '\n# SIGTERM with work under way: drains, then exits\n'
state=$(fresh); log=$state/log; mkfifo "$state/fifo"
$holdfast owner --backend "$backend" --dies 2 --fifo "$state/fifo" --log "$log" --state-dir "$state" & pid=$!
printf 'online 0\nwork 0 7 16000000\n' >"$state/fifo"
wait_for 'work 0: launched' "$log"
kill -TERM "$pid"; wait "$pid"; printf '(exit %s)\n' "$?"
cat "$log"

printf '\n# loss and recovery: the die host is killed, the next work is served by another one\n'
state=$(fresh); log=$state/log; mkfifo "$state/fifo"
$holdfast owner --backend "$backend" --dies 2 --fifo "$state/fifo" --log "$log" --state-dir "$state" & pid=$!
printf 'online 0\nonline 1\nstatus\n' >"$state/fifo"
wait_for 'die  1: .*host_pid=' "$log"
kill -9 "$(sed -n 's/.* die  0: .*host_pid=\([0-9]*\).*/\1/p' "$log" | tail -1)"
wait_for 'serving again' "$log"
printf 'work 0 7 5\nread 0\nstatus\nquit\n' >"$state/fifo"
wait "$pid"; cat "$log"

for dies in 2 16; do show $holdfast bench --backend "$backend" --slot sim --dies "$dies" --round-ms 500 --state-dir "$(fresh)"; done
