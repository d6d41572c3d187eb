// SPDX-License-Identifier: GPL-2.0
/* Loading and unloading of the board, and how the calls of its slot are held up. */
#include <linux/delay.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/wait.h>

#include "board.h"

static uint dies = 4;
module_param(dies, uint, 0444);
MODULE_PARM_DESC(dies, "PCI functions, 1 to 8");

static uint bar1_mib = 4;
module_param(bar1_mib, uint, 0444);
MODULE_PARM_DESC(bar1_mib, "size of each die's BAR1, a power of two");

/* One that no other bus has: it tells that domains are not thought to be 0. */
static ushort domain = 0x1000;
module_param(domain, ushort, 0444);
MODULE_PARM_DESC(domain, "PCI domain of the dies");

static uint slot_delay_ms;
module_param(slot_delay_ms, uint, 0644);
MODULE_PARM_DESC(slot_delay_ms, "how long ACQUIRE and RELEASE take");

static uint slot_stall;
static DECLARE_WAIT_QUEUE_HEAD(stall_wait);

static int stall_set(const char *value, const struct kernel_param *parameter)
{
	int result = param_set_uint(value, parameter);

	wake_up_all(&stall_wait);
	return result;
}

static const struct kernel_param_ops stall_operations = {
	.set = stall_set,
	.get = param_get_uint,
};
module_param_cb(slot_stall, &stall_operations, &slot_stall, 0644);
MODULE_PARM_DESC(slot_stall, "calls that hang until this is cleared: 1 ACQUIRE, 2 RELEASE");

static bool slot_stall_killable;
module_param(slot_stall_killable, bool, 0644);
MODULE_PARM_DESC(slot_stall_killable, "SIGKILL ends what hangs; otherwise nothing does");

static struct hf_board board;

int hf_hold_up(u32 call)
{
	uint delay_ms = READ_ONCE(slot_delay_ms);

	if (delay_ms)
		msleep(delay_ms);
	if (READ_ONCE(slot_stall_killable)) {
		if (wait_event_killable(stall_wait, !(READ_ONCE(slot_stall) & call)))
			return -EINTR;
	} else {
		wait_event(stall_wait, !(READ_ONCE(slot_stall) & call));
	}
	return 0;
}

static int __init hf_board_init(void)
{
	int result;

	if (dies < 1 || dies > HF_DIES_MAX || !is_power_of_2(bar1_mib))
		return -EINVAL;
	board.domain = domain;
	board.dies = dies;
	board.bar1_bytes = (u64)bar1_mib << 20;
	result = hf_domain_create(&board);
	if (result)
		return result;
	/* After the dies: who finds the slot may ask it for them at once. */
	result = hf_slot_create(&board);
	if (result)
		hf_domain_remove(&board);
	return result;
}

static void __exit hf_board_exit(void)
{
	hf_slot_remove();
	hf_domain_remove(&board);
}

module_init(hf_board_init);
module_exit(hf_board_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A board of dies behind one window, for Holdfast's tests");
