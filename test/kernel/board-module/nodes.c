// SPDX-License-Identifier: GPL-2.0
/* /dev/nvidia<n> and /proc/driver/nvidia/gpus/<address> of each bound die. */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#include "driver.h"

/* A node outlives its die while somebody has it open, so none of it is freed. */
struct hf_node {
	struct miscdevice device;
	char name[16];
	struct pci_dev *die; /* null where nothing is bound to it */
	struct proc_dir_entry *folder;
};

static struct hf_node nodes[HF_NODES_MAX];
static DEFINE_MUTEX(nodes_lock);
static struct proc_dir_entry *driver_folder;
static struct proc_dir_entry *gpus_folder;

static const struct file_operations node_operations = {
	.owner = THIS_MODULE,
	.llseek = noop_llseek,
};

static int version_show(struct seq_file *file, void *unused)
{
	seq_printf(file, "NVRM version: NVIDIA UNIX x86_64 Kernel Module  %s  (a stand-in)\n",
		   (const char *)file->private);
	return 0;
}

static int information_show(struct seq_file *file, void *unused)
{
	const struct hf_node *node = file->private;

	seq_printf(file, "Model: \t\t Stand-in\n");
	seq_printf(file, "Bus Location: \t %s\n", pci_name(node->die));
	seq_printf(file, "Device Minor: \t %d\n", (int)(node - nodes));
	return 0;
}

int hf_nodes_init(const char *version)
{
	driver_folder = proc_mkdir("driver/nvidia", NULL);
	if (!driver_folder)
		return -ENOMEM;
	gpus_folder = proc_mkdir("gpus", driver_folder);
	if (!gpus_folder || !proc_create_single_data("version", 0444, driver_folder, version_show,
						     (void *)version)) {
		proc_remove(driver_folder);
		return -ENOMEM;
	}
	return 0;
}

void hf_nodes_exit(void)
{
	proc_remove(driver_folder);
}

static int publish(struct hf_node *node, struct pci_dev *die)
{
	int number = node - nodes;
	int result;

	snprintf(node->name, sizeof(node->name), "nvidia%d", number);
	node->device = (struct miscdevice){
		.minor = MISC_DYNAMIC_MINOR,
		.name = node->name,
		.fops = &node_operations,
		.mode = 0666,
	};
	node->die = die;
	node->folder = proc_mkdir(pci_name(die), gpus_folder);
	result = misc_register(&node->device);
	if (!result && node->folder &&
	    proc_create_single_data("information", 0444, node->folder, information_show, node))
		return 0;
	if (!result)
		misc_deregister(&node->device);
	proc_remove(node->folder);
	node->die = NULL;
	return result ? result : -ENOMEM;
}

/* The lowest number that is free, as the driver's own is: not the die's. */
int hf_node_add(struct pci_dev *die)
{
	int result = -ENOSPC;
	struct hf_node *node;

	mutex_lock(&nodes_lock);
	for (node = nodes; node < nodes + HF_NODES_MAX; node++) {
		if (node->die)
			continue;
		result = publish(node, die);
		break;
	}
	mutex_unlock(&nodes_lock);
	return result;
}

void hf_node_remove(struct pci_dev *die)
{
	struct hf_node *node;

	mutex_lock(&nodes_lock);
	for (node = nodes; node < nodes + HF_NODES_MAX; node++) {
		if (node->die != die)
			continue;
		proc_remove(node->folder);
		misc_deregister(&node->device);
		node->die = NULL;
	}
	mutex_unlock(&nodes_lock);
}
