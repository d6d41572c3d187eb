// SPDX-License-Identifier: GPL-2.0
/* The stand-in driver: it counts, and it is slow, fails or hangs where a test tells it to. */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/wait.h>

#include "driver.h"

/* Of the last branch that knows a GK210: who reads the version finds nothing wrong with it. */
#define HF_DRIVER_VERSION "470.256.02"

static uint probes;
module_param(probes, uint, 0444);
MODULE_PARM_DESC(probes, "how often a die was probed, whatever came of it");

static uint removes;
module_param(removes, uint, 0444);
MODULE_PARM_DESC(removes, "how often a die was taken away");

static uint probe_delay_ms;
module_param(probe_delay_ms, uint, 0644);
MODULE_PARM_DESC(probe_delay_ms, "how long a probe takes");

static int probe_errno;
module_param(probe_errno, int, 0644);
MODULE_PARM_DESC(probe_errno, "every probe fails with this, e.g. -5; 0: none does");

static bool probe_stall;
static DECLARE_WAIT_QUEUE_HEAD(stall_wait);

static int stall_set(const char *value, const struct kernel_param *parameter)
{
	int result = param_set_bool(value, parameter);

	wake_up_all(&stall_wait);
	return result;
}

static const struct kernel_param_ops stall_operations = {
	.set = stall_set,
	.get = param_get_bool,
};
module_param_cb(probe_stall, &stall_operations, &probe_stall, 0644);
MODULE_PARM_DESC(probe_stall, "a probe hangs until this is cleared; SIGKILL does not end it");

static int load_errno;
module_param(load_errno, int, 0444);
MODULE_PARM_DESC(load_errno, "the module refuses to load with this, e.g. -19; 0: it loads");

static int hf_probe(struct pci_dev *die, const struct pci_device_id *id)
{
	int result;

	probes++;
	if (READ_ONCE(probe_delay_ms))
		msleep(READ_ONCE(probe_delay_ms));
	wait_event(stall_wait, !READ_ONCE(probe_stall));
	if (READ_ONCE(probe_errno))
		return READ_ONCE(probe_errno);
	result = pci_enable_device_mem(die);
	if (result)
		return result;
	result = hf_node_add(die);
	if (result)
		pci_disable_device(die);
	return result;
}

static void hf_remove(struct pci_dev *die)
{
	removes++;
	hf_node_remove(die);
	pci_disable_device(die);
}

/* Every GPU of the vendor, as the driver in whose place this is has it. */
static const struct pci_device_id ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_NVIDIA, PCI_ANY_ID), .class = PCI_CLASS_DISPLAY_VGA << 8,
	  .class_mask = ~0 },
	{ PCI_DEVICE(PCI_VENDOR_ID_NVIDIA, PCI_ANY_ID), .class = PCI_CLASS_DISPLAY_3D << 8,
	  .class_mask = ~0 },
	{},
};
MODULE_DEVICE_TABLE(pci, ids);

static struct pci_driver driver = {
	.name = "nvidia",
	.id_table = ids,
	.probe = hf_probe,
	.remove = hf_remove,
};

static int __init hf_driver_init(void)
{
	int result = load_errno;

	if (result)
		return result;
	result = hf_nodes_init(HF_DRIVER_VERSION);
	if (result)
		return result;
	result = pci_register_driver(&driver);
	if (result)
		hf_nodes_exit();
	return result;
}

static void __exit hf_driver_exit(void)
{
	pci_unregister_driver(&driver);
	hf_nodes_exit();
}

module_init(hf_driver_init);
module_exit(hf_driver_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION(HF_DRIVER_VERSION);
MODULE_DESCRIPTION("Stand-in for NVIDIA's driver, for Holdfast's tests");
