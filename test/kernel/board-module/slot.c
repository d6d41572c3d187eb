// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/bar_swap, as include/holdfast/bar_swap.h describes it. A page of the window is mapped when it
 * is touched, and each mapping is emptied by RELEASE: what is touched then is SIGBUS.
 */
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include <holdfast/bar_swap.h>

#include "board.h"

static int slot_errno;
module_param(slot_errno, int, 0644);
MODULE_PARM_DESC(slot_errno, "every ACQUIRE that moves the window fails with this; 0: none does");

/* An open descriptor; each may have mappings. */
struct hf_slot_file {
	struct list_head link;
	struct address_space *mapping;
};

struct hf_slot {
	struct hf_board *board;
	struct mutex move_lock; /* one ACQUIRE or RELEASE at a time, held while one is held up */
	struct mutex lock;	/* everything below, never held for long */
	struct list_head files;
	s32 occupant;
	phys_addr_t window; /* where the occupant's BAR1 is */
	struct pid *holder; /* null where nobody is known */
	u64 acquires;
};

static struct hf_slot slot = {
	.move_lock = __MUTEX_INITIALIZER(slot.move_lock),
	.lock = __MUTEX_INITIALIZER(slot.lock),
	.files = LIST_HEAD_INIT(slot.files),
	.occupant = HF_BAR_SWAP_NONE,
};

/* Whether a thread of that process has still to end; one that hangs in a call has. */
static bool is_alive(struct pid *process)
{
	struct task_struct *task;
	bool result;

	rcu_read_lock();
	task = process ? pid_task(process, PIDTYPE_TGID) : NULL;
	result = task && atomic_read(&task->signal->live) > 0;
	rcu_read_unlock();
	return result;
}

/* Both with slot.lock held. */
static void set_holder(struct pid *process)
{
	put_pid(slot.holder);
	slot.holder = get_pid(process);
}

static void empty(void)
{
	struct hf_slot_file *each;

	slot.occupant = HF_BAR_SWAP_NONE;
	set_holder(NULL);
	list_for_each_entry(each, &slot.files, link)
		unmap_mapping_range(each->mapping, 0, 0, 1);
}

static int slot_query(struct hf_bar_swap_query *query)
{
	mutex_lock(&slot.lock);
	query->version = HF_BAR_SWAP_VERSION;
	query->die_count = slot.board->dies;
	query->occupant = slot.occupant;
	query->holder_pid = HF_BAR_SWAP_NONE;
	if (is_alive(slot.holder))
		query->holder_pid = pid_vnr(slot.holder) ?: HF_BAR_SWAP_UNSEEN;
	query->acquires = slot.acquires;
	mutex_unlock(&slot.lock);
	return 0;
}

static int slot_die(struct hf_bar_swap_die *die)
{
	if (die->die >= slot.board->dies || die->reserved)
		return -EINVAL;
	die->pci_domain = slot.board->domain;
	die->pci_bus = 0;
	die->pci_device = die->die;
	die->pci_function = 0;
	die->bar1_bytes = slot.board->bar1_bytes;
	return 0;
}

/* Maps the die's BAR1 into the free window. The caller holds slot.lock. */
static int take(u32 die)
{
	struct pci_dev *function = hf_domain_get_die(slot.board, die);
	int result = READ_ONCE(slot_errno);

	if (!function)
		return -EIO;
	if (!result && pci_resource_len(function, 1) != slot.board->bar1_bytes)
		result = -EIO;
	if (!result) {
		slot.window = pci_resource_start(function, 1);
		slot.occupant = die;
		slot.acquires++;
	}
	pci_dev_put(function);
	return result;
}

static int slot_acquire(struct hf_bar_swap_acquire *acquire)
{
	int result;

	if (acquire->die >= slot.board->dies || acquire->reserved)
		return -EINVAL;
	if (mutex_lock_killable(&slot.move_lock))
		return -EINTR;
	result = hf_hold_up(HF_CALL_ACQUIRE);
	if (!result) {
		mutex_lock(&slot.lock);
		if (slot.occupant == HF_BAR_SWAP_NONE)
			result = take(acquire->die);
		else if (slot.occupant != acquire->die)
			result = -EBUSY;
		if (!result && !is_alive(slot.holder))
			set_holder(task_tgid(current));
		acquire->bar1_address = slot.window;
		acquire->bar1_bytes = slot.board->bar1_bytes;
		mutex_unlock(&slot.lock);
	}
	mutex_unlock(&slot.move_lock);
	return result;
}

static int slot_release(struct hf_bar_swap_release *release)
{
	int result;

	if (release->die >= slot.board->dies || release->reserved)
		return -EINVAL;
	if (mutex_lock_killable(&slot.move_lock))
		return -EINTR;
	result = hf_hold_up(HF_CALL_RELEASE);
	if (!result) {
		mutex_lock(&slot.lock);
		if (slot.occupant == release->die)
			empty();
		else
			result = -EINVAL;
		mutex_unlock(&slot.lock);
	}
	mutex_unlock(&slot.move_lock);
	return result;
}

/* What a bus that loses its window does: nobody asked for it, and nobody is told. */
static int lose_set(const char *value, const struct kernel_param *parameter)
{
	mutex_lock(&slot.lock);
	empty();
	mutex_unlock(&slot.lock);
	return 0;
}

static const struct kernel_param_ops lose_operations = { .set = lose_set };
module_param_cb(slot_lose, &lose_operations, NULL, 0200);
MODULE_PARM_DESC(slot_lose, "a write releases the die in the slot, without a call of its holder");

/* The largest argument; each call's size is in its number. */
union hf_argument {
	struct hf_bar_swap_query query;
	struct hf_bar_swap_die die;
	struct hf_bar_swap_acquire acquire;
	struct hf_bar_swap_release release;
};

static int run_call(unsigned int call, union hf_argument *argument)
{
	switch (call) {
	case HF_BAR_SWAP_QUERY:
		return slot_query(&argument->query);
	case HF_BAR_SWAP_DIE:
		return slot_die(&argument->die);
	case HF_BAR_SWAP_ACQUIRE:
		return slot_acquire(&argument->acquire);
	case HF_BAR_SWAP_RELEASE:
		return slot_release(&argument->release);
	default:
		return -ENOTTY;
	}
}

static long slot_ioctl(struct file *file, unsigned int call, unsigned long address)
{
	void __user *user = (void __user *)address;
	union hf_argument argument = {};
	size_t size = _IOC_SIZE(call);
	int result;

	if (_IOC_TYPE(call) != HF_BAR_SWAP_TYPE || size > sizeof(argument))
		return -ENOTTY;
	if (_IOC_DIR(call) & _IOC_WRITE && copy_from_user(&argument, user, size))
		return -EFAULT;
	result = run_call(call, &argument);
	/* Not under a lock: a touch of the caller's memory may be a touch of the window. */
	if (!result && _IOC_DIR(call) & _IOC_READ && copy_to_user(user, &argument, size))
		result = -EFAULT;
	return result;
}

static vm_fault_t slot_fault(struct vm_fault *fault)
{
	vm_fault_t result = VM_FAULT_SIGBUS;

	mutex_lock(&slot.lock);
	if (slot.occupant != HF_BAR_SWAP_NONE)
		result = vmf_insert_pfn(fault->vma, fault->address,
					PHYS_PFN(slot.window) + fault->pgoff);
	mutex_unlock(&slot.lock);
	return result;
}

static const struct vm_operations_struct slot_vm_operations = { .fault = slot_fault };

static int slot_mmap(struct file *file, struct vm_area_struct *area)
{
	const vm_flags_t flags = VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP;
	const u64 pages = PHYS_PFN(slot.board->bar1_bytes);
	bool is_free;

	mutex_lock(&slot.lock);
	is_free = slot.occupant == HF_BAR_SWAP_NONE;
	mutex_unlock(&slot.lock);
	if (is_free)
		return -ENODEV;
	if (!(area->vm_flags & VM_SHARED) || area->vm_pgoff > pages ||
	    vma_pages(area) > pages - area->vm_pgoff)
		return -EINVAL;
	area->vm_page_prot = pgprot_noncached(area->vm_page_prot);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_set(area, flags);
#else
	area->vm_flags |= flags;
#endif
	area->vm_ops = &slot_vm_operations;
	return 0;
}

static int slot_open(struct inode *inode, struct file *file)
{
	struct hf_slot_file *opened = kzalloc(sizeof(*opened), GFP_KERNEL);

	if (!opened)
		return -ENOMEM;
	opened->mapping = file->f_mapping;
	file->private_data = opened;
	mutex_lock(&slot.lock);
	list_add(&opened->link, &slot.files);
	mutex_unlock(&slot.lock);
	return 0;
}

/* Leaves the window as it is: the holder's driver may still need it. */
static int slot_close(struct inode *inode, struct file *file)
{
	struct hf_slot_file *opened = file->private_data;

	mutex_lock(&slot.lock);
	list_del(&opened->link);
	mutex_unlock(&slot.lock);
	kfree(opened);
	return 0;
}

static const struct file_operations slot_operations = {
	.owner = THIS_MODULE,
	.open = slot_open,
	.release = slot_close,
	.unlocked_ioctl = slot_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = slot_mmap,
	.llseek = noop_llseek,
};

static struct miscdevice slot_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "bar_swap",
	.fops = &slot_operations,
	.mode = 0600,
};

int hf_slot_create(struct hf_board *board)
{
	slot.board = board;
	return misc_register(&slot_device);
}

/* No descriptor is open: each one holds a reference to this module. */
void hf_slot_remove(void)
{
	misc_deregister(&slot_device);
	set_holder(NULL);
}
