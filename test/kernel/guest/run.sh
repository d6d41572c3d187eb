#!/bin/sh
# Runs the tests in the guest. gate/settings.ts wrote beside it where things are.
. /mnt/settings
export PATH="$(dirname "$NODE"):/usr/sbin:/usr/bin:/sbin:/bin"
export HOME=/tmp NO_COLOR=1
# Once it is there the board's tests have ended, and lockdown may be raised.
export BOARD_ENDED=/tmp/board-ended

say() {
	echo "HOLDFAST-GUEST $*"
}

# Usage: part NAME SECONDS COMMAND... Does nothing where only other parts were asked for.
part() {
	name=$1
	seconds=$2
	shift 2
	case " $WANTED " in
	*" $name "*) ;;
	*) return ;;
	esac
	say "$name begin"
	timeout -k 5 "$seconds" "$@" 2>&1
	say "$name rc=$?"
}

# Usage: suite NAME SECONDS FILE [PREFIX...], the tests of guest/FILE.ts.
suite() {
	name=$1
	seconds=$2
	file=$3
	shift 3
	part "$name" "$seconds" "$@" "$NODE" --enable-source-maps --test-reporter=spec \
		"$ROOT/dist/test/kernel/guest/$file.js"
}

# The board is there from now on; the stand-in for NVIDIA's driver is where modprobe finds it.
make_board() {
	insmod /mnt/hf_board.ko
	folder="/lib/modules/$(uname -r)"
	mkdir -p "$folder/extra"
	cp /mnt/nvidia.ko "$folder/extra/"
	depmod
}

# RAM below the PCI hole ends where the host's daemon was told that it ends.
check_low_ram() {
	last=$(awk -F'[- ]' '/System RAM/ && length($1) <= 8 { last = $2 } END { print last }' /proc/iomem)
	high=$(grep -c '^1[0-9a-f]\{8\}-.* System RAM' /proc/iomem)
	echo "last byte of System RAM below the hole: 0x$last; regions from 4 GiB on: $high"
	grep 'System RAM' /proc/iomem
	[ $((0x$last)) -lt "$RAM_LOW_BYTES" ] &&
		[ $((0x$last)) -gt $((RAM_LOW_BYTES - 1048576)) ] && [ "$high" -ge 1 ]
}

# A kernel that complained of a bug (bit 9) or died in part (bit 7) has failed the test.
check_taint() {
	taint=$(cat /proc/sys/kernel/tainted)
	echo "kernel taint $taint"
	[ $((taint & (512 | 128))) -eq 0 ] || { dmesg | tail -n 40; return 1; }
}

# What the daemon is made of comes over 9p, page by page: read ahead while the processors wait for
# the host in part v1.
{
	cat "$NODE"
	find -L "$ROOT/dist/src" "$ROOT/node_modules/koffi" "$ROOT/node_modules/@koromix" \
		\( -name '*.js' -o -name '*.json' -o -name '*.node' \) -exec cat {} +
} >/dev/null 2>&1 &

say "ram begin"
check_low_ram
say "ram rc=$?"
part v1 60 /mnt/guest-v1 --job /mnt/v1/job --done /mnt/v1/done
make_board
part slot 60 /mnt/slot-check
suite kills 900 kills
# Beside v2, which leaves half of the machine idle. On one processor the software GPU has one thread,
# which starts in half of the time. Two that print at once cannot be read.
{
	suite board 900 board taskset -c 1
	touch "$BOARD_ENDED"
} >/mnt/board.log &
suite v2 960 mailbox
wait $!
cat /mnt/board.log
suite locked 60 locked
say "taint begin"
check_taint
say "taint rc=$?"
say "end"
