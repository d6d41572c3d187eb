// SPDX-License-Identifier: GPL-2.0
/* Loading and unloading: one mailbox, its four files in one folder and its control in another. */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "mailbox.h"

/* Longer than any job takes under emulation, a start of the daemon in between included. */
#define HF_WAIT_MS 60000

static char *dir = "vgsp";
module_param(dir, charp, 0444);
MODULE_PARM_DESC(dir, "debugfs folder of the mailbox");

static struct hf_mailbox mailbox = {
	.lock = __MUTEX_INITIALIZER(mailbox.lock),
	.answer_wait = __WAIT_QUEUE_HEAD_INITIALIZER(mailbox.answer_wait),
	.behaviour = { .wait_ms = HF_WAIT_MS },
};
static struct dentry *transport_folder;
static struct dentry *control_folder;

static int __init hf_mailbox_init(void)
{
	int result = hf_check_seals();

	if (result)
		return result;
	/* Control first: who sees the mailbox may use it at once. */
	control_folder = debugfs_create_dir("hf_mailbox", NULL);
	if (IS_ERR(control_folder))
		return PTR_ERR(control_folder);
	hf_control_create(&mailbox, control_folder);
	transport_folder = debugfs_create_dir(dir, NULL);
	if (IS_ERR(transport_folder)) {
		debugfs_remove(control_folder);
		return PTR_ERR(transport_folder);
	}
	hf_transport_create(&mailbox, transport_folder);
	return 0;
}

/* No descriptor is open: each one holds a reference to this module. */
static void __exit hf_mailbox_exit(void)
{
	debugfs_remove(transport_folder);
	debugfs_remove(control_folder);
	kvfree(mailbox.in);
	kvfree(mailbox.out);
}

module_init(hf_mailbox_init);
module_exit(hf_mailbox_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Mailbox of Holdfast's protocol v2 on debugfs, for its tests");
