/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The bar_swap device: the one MMIO window of a board whose dies cannot all be mapped at once. A
 * kernel module offers it as /dev/bar_swap; `holdfast --slot bar_swap` drives it.
 *
 * For C99 and later, C++ and the Linux kernel. All fields are of the machine's own byte order.
 *
 * What a module that offers this has to keep:
 *
 * - Dies are numbered from 0 in an order that does not change while the module is loaded.
 * - At most one die is in the slot. ACQUIRE of the die that is in it succeeds and moves nothing; the
 *   caller becomes its holder where the former one has ended. While another die is in it, ACQUIRE
 *   fails with EBUSY: RELEASE that one first.
 * - After ACQUIRE the die's BAR1 is assigned and decoded, its PCI function answers, and mmap of the
 *   device from offset 0 shows BAR1, up to bar1_bytes. Without a die in the slot mmap fails with
 *   ENODEV.
 * - RELEASE ends every mapping: touching one afterwards is SIGBUS, until the next ACQUIRE. It
 *   destroys nothing on the die.
 * - Closing the descriptor, and the end of the process that holds it, release nothing: a driver that
 *   closes the die afterwards must still reach it. The next process finds the slot as it was left.
 * - Errors: EINVAL a die that does not exist, or RELEASE of one that is not in the slot; EBUSY see
 *   above; EIO the die does not answer on the bus; EPERM the caller may not; ENOTTY another call.
 *
 * The calls can take as long as the hardware does. They are made from a process of their own.
 */
#ifndef HOLDFAST_BAR_SWAP_H
#define HOLDFAST_BAR_SWAP_H

#ifdef __KERNEL__
#include <linux/ioctl.h>
#include <linux/types.h>
#else
#include <linux/types.h>
#include <sys/ioctl.h>
#endif

#define HF_BAR_SWAP_PATH "/dev/bar_swap"
#define HF_BAR_SWAP_VERSION 1

/* occupant of a slot that is free, holder_pid where nobody is known */
#define HF_BAR_SWAP_NONE (-1)

/* holder_pid of a process that is alive and has no number in the caller's pid namespace */
#define HF_BAR_SWAP_UNSEEN (-2)

struct hf_bar_swap_query {
	__u32 version;	  /* out: HF_BAR_SWAP_VERSION */
	__u32 die_count;  /* out */
	__s32 occupant;	  /* out: the die in the slot, or HF_BAR_SWAP_NONE */
	/*
	 * out: the process that acquired it, in the caller's pid namespace; HF_BAR_SWAP_UNSEEN where
	 * it has no number there, as on the other side of a container's wall (0 is taken for the same);
	 * HF_BAR_SWAP_NONE where it has ended, all its threads with it: who hangs in a call of the
	 * slot still holds it
	 */
	__s32 holder_pid;
	__u64 acquires;	  /* out: how often the window was moved since the module was loaded */
};

/* Which PCI function a die is, for one that is not in the slot too. */
struct hf_bar_swap_die {
	__u32 die; /* in */
	__u32 pci_domain;
	__u32 pci_bus;
	__u32 pci_device;
	__u32 pci_function;
	__u32 reserved;	  /* 0 */
	__u64 bar1_bytes; /* how large its BAR1 is, mapped or not */
};

struct hf_bar_swap_acquire {
	__u32 die;	    /* in */
	__u32 reserved;	    /* 0 */
	__u64 bar1_address; /* out: physical */
	__u64 bar1_bytes;   /* out */
};

struct hf_bar_swap_release {
	__u32 die;	/* in */
	__u32 reserved; /* 0 */
};

#define HF_BAR_SWAP_TYPE 0xb5
#define HF_BAR_SWAP_QUERY _IOR(HF_BAR_SWAP_TYPE, 0, struct hf_bar_swap_query)
#define HF_BAR_SWAP_DIE _IOWR(HF_BAR_SWAP_TYPE, 1, struct hf_bar_swap_die)
#define HF_BAR_SWAP_ACQUIRE _IOWR(HF_BAR_SWAP_TYPE, 2, struct hf_bar_swap_acquire)
#define HF_BAR_SWAP_RELEASE _IOW(HF_BAR_SWAP_TYPE, 3, struct hf_bar_swap_release)

#endif
