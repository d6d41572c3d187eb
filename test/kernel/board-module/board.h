/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A board in a real kernel: dies that are PCI functions of a software domain, and the one window
 * in which they are mapped in turn, for the tests of `holdfast --slot bar_swap`.
 */
#ifndef HF_BOARD_H
#define HF_BOARD_H

#include <linux/pci.h>
#include <linux/types.h>

/* Devices of one bus whose present bits fit in a word; the tests use four. */
#define HF_DIES_MAX 8

struct hf_board {
	u16 domain;
	u32 dies;
	u64 bar1_bytes;
};

/* domain.c: the dies as PCI functions <domain>:00:<die>.0 */
int hf_domain_create(struct hf_board *board);
void hf_domain_remove(struct hf_board *board);
struct pci_dev *hf_domain_get_die(const struct hf_board *board, u32 die);

/* slot.c: the window, /dev/bar_swap */
int hf_slot_create(struct hf_board *board);
void hf_slot_remove(void);

/* main.c: a waiting call of the kernel that a test holds up; 0, or an error for the caller */
int hf_hold_up(u32 call);

/* Bits of the parameter slot_stall */
#define HF_CALL_ACQUIRE 1
#define HF_CALL_RELEASE 2

#endif
