/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Stands where NVIDIA's kernel driver stands: a module and a PCI driver of its name, which bind to
 * dies and do nothing with them.
 */
#ifndef HF_DRIVER_H
#define HF_DRIVER_H

#include <linux/pci.h>

/* Dies that can be bound at once; the board has eight at most. */
#define HF_NODES_MAX 8

/* nodes.c: /dev/nvidia<n> and /proc/driver/nvidia, by which people find a bound die */
int hf_nodes_init(const char *version);
void hf_nodes_exit(void);
int hf_node_add(struct pci_dev *die);
void hf_node_remove(struct pci_dev *die);

#endif
