// SPDX-License-Identifier: GPL-2.0
/*
 * A PCI domain made of software. Each die is a function whose configuration space is kept here and
 * whose BARs are pieces of one real BAR: that of an ivshmem device, whose memory is a file of the
 * host. So BARs can be mapped, and keep what is written.
 */
#include <linux/err.h>
#include <linux/ioport.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "board.h"

#define HF_VENDOR 0x10de /* NVIDIA */
#define HF_DEVICE 0x102d /* GK210GL, one die of a Tesla K80 */
#define HF_SUBSYSTEM 0x106c

#define HF_BACKING_VENDOR 0x1af4
#define HF_BACKING_DEVICE 0x1110 /* ivshmem */
#define HF_BACKING_BAR 2

/* A GK210 has 16 MiB; nothing of it is used here. */
#define HF_BAR0_BYTES 0x10000u

#define HF_CONFIG_BYTES 256

static uint present = ~0u;
module_param(present, uint, 0644);
MODULE_PARM_DESC(present, "a bit for each die; without its bit it is off the bus: all ones");

static u8 config[HF_DIES_MAX][HF_CONFIG_BYTES];
static u32 die_count;
static u64 bar1_bytes;

static struct pci_dev *backing;
static struct device *parent;
static struct pci_bus *bus;
static struct pci_sysdata sysdata;
static struct resource buses = { .name = "hf_board bus", .flags = IORESOURCE_BUS };
static struct resource small_window = { .name = "hf_board BAR0" };
static struct resource large_window = { .name = "hf_board BAR1" };

/* Null where nothing answers. */
static u8 *config_of(struct pci_bus *asked, unsigned int devfn)
{
	u32 die = PCI_SLOT(devfn);

	if (asked->number != 0 || PCI_FUNC(devfn) != 0 || die >= die_count)
		return NULL;
	return READ_ONCE(present) & BIT(die) ? config[die] : NULL;
}

/* As hardware does it, a read that nobody answers succeeds and gives all ones. */
static int config_read(struct pci_bus *asked, unsigned int devfn, int at, int size, u32 *value)
{
	const u8 *bytes = config_of(asked, devfn);

	*value = ~0u;
	if (!bytes || at + size > HF_CONFIG_BYTES)
		return PCIBIOS_SUCCESSFUL;
	if (size == 1)
		*value = bytes[at];
	else if (size == 2)
		*value = *(const u16 *)(bytes + at);
	else
		*value = *(const u32 *)(bytes + at);
	return PCIBIOS_SUCCESSFUL;
}

static int config_write(struct pci_bus *asked, unsigned int devfn, int at, int size, u32 value)
{
	const u32 bar1_flags = PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH;
	u8 *bytes = config_of(asked, devfn);

	if (!bytes)
		return PCIBIOS_SUCCESSFUL;
	/* A BAR's low bits are fixed: who writes all ones reads its size. */
	if (size == 4 && at == PCI_BASE_ADDRESS_0)
		*(u32 *)(bytes + at) = value & ~(HF_BAR0_BYTES - 1);
	else if (size == 4 && at == PCI_BASE_ADDRESS_1)
		*(u32 *)(bytes + at) = (value & ~(u32)(bar1_bytes - 1)) | bar1_flags;
	else if (size == 4 && at == PCI_BASE_ADDRESS_2)
		*(u32 *)(bytes + at) = value & ~(u32)((bar1_bytes - 1) >> 32);
	else if (size == 2 && at == PCI_COMMAND)
		*(u16 *)(bytes + at) = value & (PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops operations = { .read = config_read, .write = config_write };

static void fill_config(u8 *bytes)
{
	*(u16 *)(bytes + PCI_VENDOR_ID) = HF_VENDOR;
	*(u16 *)(bytes + PCI_DEVICE_ID) = HF_DEVICE;
	bytes[PCI_REVISION_ID] = 0xa1;
	*(u16 *)(bytes + PCI_CLASS_DEVICE) = PCI_CLASS_DISPLAY_3D;
	*(u16 *)(bytes + PCI_SUBSYSTEM_VENDOR_ID) = HF_VENDOR;
	*(u16 *)(bytes + PCI_SUBSYSTEM_ID) = HF_SUBSYSTEM;
	*(u32 *)(bytes + PCI_BASE_ADDRESS_1) =
	    PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH;
}

/* Finds the largest ivshmem device; a reference to it is kept. */
static int find_backing(void)
{
	struct pci_dev *each = NULL;

	while ((each = pci_get_device(HF_BACKING_VENDOR, HF_BACKING_DEVICE, each))) {
		if (backing && pci_resource_len(each, HF_BACKING_BAR) <=
				   pci_resource_len(backing, HF_BACKING_BAR))
			continue;
		pci_dev_put(backing);
		backing = pci_dev_get(each);
	}
	return backing ? pci_enable_device_mem(backing) : -ENODEV;
}

/* The first piece, of a BAR1's size, holds the BAR0s; the dies' BAR1s follow, aligned. */
static int divide_backing(void)
{
	struct resource *whole = &backing->resource[HF_BACKING_BAR];
	const u64 large_flags = IORESOURCE_MEM_64 | IORESOURCE_PREFETCH;
	int result;

	if (bar1_bytes * (die_count + 1) > resource_size(whole))
		return -ENOSPC;
	small_window.start = whole->start;
	small_window.end = whole->start + bar1_bytes - 1;
	small_window.flags = IORESOURCE_MEM;
	large_window.start = small_window.end + 1;
	large_window.end = whole->end;
	large_window.flags = IORESOURCE_MEM | large_flags;
	result = request_resource(whole, &small_window);
	if (result)
		return result;
	result = request_resource(whole, &large_window);
	if (result)
		release_resource(&small_window);
	return result;
}

static void put_backing(void)
{
	release_resource(&large_window);
	release_resource(&small_window);
	pci_disable_device(backing);
	pci_dev_put(backing);
	backing = NULL;
}

static int scan_bus(void)
{
	LIST_HEAD(windows);

	pci_add_resource(&windows, &buses);
	pci_add_resource(&windows, &small_window);
	pci_add_resource(&windows, &large_window);
	pci_lock_rescan_remove();
	bus = pci_create_root_bus(parent, 0, &operations, &sysdata, &windows);
	if (bus) {
		pci_scan_child_bus(bus);
		pci_assign_unassigned_bus_resources(bus);
		pci_bus_add_devices(bus);
	} else {
		pci_free_resource_list(&windows);
	}
	pci_unlock_rescan_remove();
	return bus ? 0 : -ENODEV;
}

int hf_domain_create(struct hf_board *board)
{
	int result;
	u32 die;

	die_count = board->dies;
	bar1_bytes = board->bar1_bytes;
	for (die = 0; die < die_count; die++)
		fill_config(config[die]);
	sysdata.domain = board->domain;
	sysdata.node = NUMA_NO_NODE;
	result = find_backing();
	if (result) {
		pci_dev_put(backing);
		return result;
	}
	result = divide_backing();
	if (result) {
		pci_disable_device(backing);
		pci_dev_put(backing);
		return result;
	}
	parent = root_device_register("hf_board");
	result = PTR_ERR_OR_ZERO(parent);
	if (result) {
		put_backing();
		return result;
	}
	result = scan_bus();
	if (result) {
		root_device_unregister(parent);
		put_backing();
	}
	return result;
}

void hf_domain_remove(struct hf_board *board)
{
	pci_lock_rescan_remove();
	pci_stop_root_bus(bus);
	pci_remove_root_bus(bus);
	pci_unlock_rescan_remove();
	root_device_unregister(parent);
	put_backing();
}

/* The die's function, with a reference; null where it does not answer, or was removed. */
struct pci_dev *hf_domain_get_die(const struct hf_board *board, u32 die)
{
	if (!(READ_ONCE(present) & BIT(die)))
		return NULL;
	return pci_get_domain_bus_and_slot(board->domain, 0, PCI_DEVFN(die, 0));
}
