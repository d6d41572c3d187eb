/*
 * Checks /dev/bar_swap against include/holdfast/bar_swap.h, call by call, without any code of
 * Holdfast's: what its board rests on is held true here first. Runs as root in the guest, with
 * test/kernel/board-module loaded and no die in the slot.
 *
 * Prints a line a check, `ok` or `not ok`; ends with 0 where all are ok. For the other tests,
 * `slot-check fill` writes each die's content into its BAR1, and `slot-check hold DIE` acquires the
 * die, says so, and stays; `slot-check query` prints what QUERY gives.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <holdfast/bar_swap.h>

#define DIES 4
#define DOMAIN 0x1000
#define BAR1_BYTES (4u << 20)
#define PARAMETERS "/sys/module/hf_board/parameters/"

/* Of the bar_swap device alone, without a driver or a context. */
#define SWAPS 1000

/* How long a call has to hang before it is said to: what does not hang takes microseconds. */
#define HANG_MS 300
#define TURN_MS 20

static unsigned int checks;
static unsigned int failures;
static int slot;

static void check(bool is_good, const char *format, ...)
{
    va_list arguments;

    printf("%s %u ", is_good ? "ok" : "not ok", ++checks);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    fflush(stdout);
    if (!is_good)
        failures++;
}

/* 0, or the errno. */
static int call(int file, unsigned long request, void *argument)
{
    return ioctl(file, request, argument) == 0 ? 0 : errno;
}

static int acquire_on(int file, uint32_t die)
{
    struct hf_bar_swap_acquire acquire = {.die = die};
    int result = call(file, HF_BAR_SWAP_ACQUIRE, &acquire);

    if (result == 0 && acquire.bar1_bytes != BAR1_BYTES)
        return ERANGE;
    return result;
}

static int acquire(uint32_t die)
{
    return acquire_on(slot, die);
}

static int release(uint32_t die)
{
    struct hf_bar_swap_release release = {.die = die};

    return call(slot, HF_BAR_SWAP_RELEASE, &release);
}

static struct hf_bar_swap_query query(void)
{
    struct hf_bar_swap_query query = {0};

    if (call(slot, HF_BAR_SWAP_QUERY, &query) != 0)
        query.version = 0;
    return query;
}

static void set(const char *name, const char *value)
{
    char path[128];
    int file;

    snprintf(path, sizeof(path), PARAMETERS "%s", name);
    file = open(path, O_WRONLY);
    if (file < 0 || write(file, value, strlen(value)) < 0)
        check(false, "%s cannot be set: %s", path, strerror(errno));
    if (file >= 0)
        close(file);
}

/* A word unlike its neighbours and those of other dies. */
static uint32_t word_of(uint32_t die, uint32_t index)
{
    return (index + 1 + die * 0x10001u) * 0x9e3779b1u;
}

/* The first and the last pages of BAR1, which are looked at after each swap. */
static bool is_content_of(const volatile uint32_t *words, uint32_t die)
{
    const uint32_t count = BAR1_BYTES / 4, step = 1021;

    for (uint32_t index = 0; index < count; index += step * 64)
        if (words[index] != word_of(die, index))
            return false;
    return words[count - 1] == word_of(die, count - 1);
}

/* Through the die's own function, past the slot. */
static bool fill(uint32_t die)
{
    char path[128];
    uint32_t *words;
    int file;

    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%04x:00:%02x.0/resource1", DOMAIN, die);
    file = open(path, O_RDWR);
    if (file < 0)
        return false;
    words = mmap(NULL, BAR1_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (words == MAP_FAILED)
        return false;
    for (uint32_t index = 0; index < BAR1_BYTES / 4; index++)
        words[index] = word_of(die, index);
    munmap(words, BAR1_BYTES);
    return true;
}

static void *map(int flags, size_t bytes, off_t offset)
{
    void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, slot, offset);

    return address == MAP_FAILED ? NULL : address;
}

static sigjmp_buf touch_failed;

static void on_bus_error(int number)
{
    siglongjmp(touch_failed, number);
}

static bool is_touch_fatal(const volatile uint32_t *word)
{
    bool is_fatal = true;

    signal(SIGBUS, on_bus_error);
    if (sigsetjmp(touch_failed, 1) == 0) {
        (void)*word;
        is_fatal = false;
    }
    signal(SIGBUS, SIG_DFL);
    return is_fatal;
}

static void check_description(void)
{
    struct hf_bar_swap_query found = query();
    struct hf_bar_swap_die die;
    unsigned long unknown = _IO(HF_BAR_SWAP_TYPE, 9);

    check(found.version == HF_BAR_SWAP_VERSION && found.die_count == DIES, "query: version, dies");
    check(found.occupant == HF_BAR_SWAP_NONE && found.holder_pid == HF_BAR_SWAP_NONE,
          "query: a free slot has neither occupant nor holder");
    for (uint32_t number = 0; number < DIES; number++) {
        die = (struct hf_bar_swap_die){.die = number};
        check(call(slot, HF_BAR_SWAP_DIE, &die) == 0 && die.pci_domain == DOMAIN &&
                  die.pci_bus == 0 && die.pci_device == number && die.pci_function == 0 &&
                  die.bar1_bytes == BAR1_BYTES,
              "die %u: its address and size", number);
    }
    die = (struct hf_bar_swap_die){.die = DIES};
    check(call(slot, HF_BAR_SWAP_DIE, &die) == EINVAL, "die %d: EINVAL", DIES);
    check(call(slot, unknown, NULL) == ENOTTY, "a call that is not in the header: ENOTTY");
}

static void check_acquire_and_release(void)
{
    check(!map(MAP_SHARED, BAR1_BYTES, 0) && errno == ENODEV, "mmap of a free slot: ENODEV");
    check(acquire(DIES) == EINVAL, "acquire of a die that is not there: EINVAL");
    check(release(0) == EINVAL, "release of a free slot: EINVAL");
    check(acquire(0) == 0, "acquire 0");
    check(query().occupant == 0 && query().holder_pid == getpid(), "query: occupant and holder");
    check(acquire(0) == 0 && query().acquires == 1, "acquire 0 again: no move");
    check(acquire(1) == EBUSY, "acquire 1 meanwhile: EBUSY");
    check(release(1) == EINVAL, "release 1: EINVAL");
    check(release(0) == 0 && query().occupant == HF_BAR_SWAP_NONE, "release 0");
}

static void check_mapping(void)
{
    const volatile uint32_t *words;

    check(fill(0) && fill(1) && fill(2) && fill(3), "each die's BAR1 is filled past the slot");
    check(acquire(0) == 0, "acquire 0");
    check(!map(MAP_PRIVATE, BAR1_BYTES, 0) && errno == EINVAL, "a private mapping: EINVAL");
    check(!map(MAP_SHARED, BAR1_BYTES, 4096) && errno == EINVAL, "past its end: EINVAL");
    words = map(MAP_SHARED, BAR1_BYTES, 0);
    check(words && is_content_of(words, 0), "the window shows die 0");
    check(words && !is_content_of(words, 1), "and no other");
    check(release(0) == 0 && is_touch_fatal(words), "a touch after release: SIGBUS");
    check(acquire(1) == 0 && is_content_of(words, 1), "the same mapping shows the next die");
    set("slot_lose", "1");
    check(is_touch_fatal(words) && query().occupant == HF_BAR_SWAP_NONE,
          "a slot that loses its die by itself: SIGBUS");
    munmap((void *)words, BAR1_BYTES);
}

static void check_swaps(void)
{
    const volatile uint32_t *words;
    uint64_t before = query().acquires;
    unsigned int good = 0;

    for (uint32_t turn = 0; turn < SWAPS; turn++) {
        uint32_t die = turn % DIES;

        if (acquire(die) != 0)
            break;
        words = map(MAP_SHARED, BAR1_BYTES, 0);
        good += words && is_content_of(words, die);
        munmap((void *)words, BAR1_BYTES);
        if (release(die) != 0)
            break;
    }
    check(good == SWAPS && query().acquires == before + SWAPS, "%d swaps, %u right", SWAPS, good);
}

/* A child with a descriptor of its own, which it says and waits for by one byte of a pipe. */
struct child {
    pid_t pid;
    int said;
};

/* `die` is acquired by the child; it stays alive until it is killed where `stays`. */
static struct child start_child(uint32_t die, bool stays)
{
    int ends[2];
    struct child child = {-1, -1};

    if (pipe(ends) != 0)
        return child;
    child.pid = fork();
    child.said = ends[0];
    if (child.pid != 0) {
        close(ends[1]);
        return child;
    }
    unsigned char result = (unsigned char)acquire_on(open(HF_BAR_SWAP_PATH, O_RDWR), die);
    if (write(ends[1], &result, 1) != 1)
        _exit(1);
    while (stays)
        pause();
    _exit(0);
}

/* What the child's acquire gave; -1 where it hangs. */
static int result_of(const struct child *child)
{
    struct pollfd waited = {.fd = child->said, .events = POLLIN};
    unsigned char result;

    if (poll(&waited, 1, HANG_MS) != 1 || read(child->said, &result, 1) != 1)
        return -1;
    return result;
}

static bool has_ended(const struct child *child, int wait_ms)
{
    for (; wait_ms > 0; wait_ms -= TURN_MS) {
        if (waitpid(child->pid, NULL, WNOHANG) == child->pid)
            return true;
        poll(NULL, 0, TURN_MS);
    }
    return false;
}

static void end_child(struct child *child)
{
    kill(child->pid, SIGKILL);
    waitpid(child->pid, NULL, 0);
    close(child->said);
}

static void check_holders(void)
{
    struct child child = start_child(2, true);

    check(result_of(&child) == 0 && query().holder_pid == child.pid, "another process holds die 2");
    check(acquire(2) == 0 && query().holder_pid == child.pid, "while it lives it stays the holder");
    end_child(&child);
    check(query().occupant == 2 && query().holder_pid == HF_BAR_SWAP_NONE,
          "killed: its die stays in the slot, without a holder");
    check(acquire(3) == EBUSY, "another die: EBUSY");
    check(acquire(2) == 0 && query().holder_pid == getpid(), "who acquires it then is the holder");
    check(release(2) == 0, "release 2");
}

static void check_failures(void)
{
    set("slot_errno", "-5");
    check(acquire(0) == EIO && query().occupant == HF_BAR_SWAP_NONE, "told to fail: EIO, no move");
    set("slot_errno", "0");
    set("present", "0xfffffffd");
    check(acquire(1) == EIO, "a die that is off the bus: EIO");
    check(acquire(0) == 0 && release(0) == 0, "the others answer");
    set("present", "0xffffffff");
    check(acquire(1) == 0 && release(1) == 0, "it is back");
}

static void check_hangs(void)
{
    struct child child;

    set("slot_stall", "1");
    set("slot_stall_killable", "1");
    child = start_child(0, true);
    check(result_of(&child) == -1, "an acquire that hangs");
    end_child(&child);
    check(query().occupant == HF_BAR_SWAP_NONE, "SIGKILL ends it, and nothing was moved");

    set("slot_stall_killable", "0");
    child = start_child(0, true);
    check(result_of(&child) == -1, "an acquire that hangs and cannot be killed");
    kill(child.pid, SIGKILL);
    check(!has_ended(&child, HANG_MS), "it outlives SIGKILL");
    check(query().version == HF_BAR_SWAP_VERSION, "the slot can be asked meanwhile");
    set("slot_stall", "0");
    end_child(&child);
    check(query().occupant == 0 && query().holder_pid == HF_BAR_SWAP_NONE,
          "let go, it did what it was called for");
    check(acquire(0) == 0 && release(0) == 0, "and the slot is free again");
}

static int hold(uint32_t die)
{
    int result = acquire(die);

    printf("%s\n", result == 0 ? "held" : strerror(result));
    fflush(stdout);
    while (result == 0)
        pause();
    return 1;
}

static int print_query(void)
{
    struct hf_bar_swap_query found = query();

    printf("{\"occupant\":%d,\"holderPid\":%d,\"acquires\":%llu}\n", found.occupant,
           found.holder_pid, (unsigned long long)found.acquires);
    return found.version == HF_BAR_SWAP_VERSION ? 0 : 1;
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "check";

    if (strcmp(mode, "fill") == 0)
        return fill(0) && fill(1) && fill(2) && fill(3) ? 0 : 1;
    slot = open(HF_BAR_SWAP_PATH, O_RDWR | O_CLOEXEC);
    if (strcmp(mode, "hold") == 0 && count == 3)
        return hold((uint32_t)atoi(arguments[2]));
    if (strcmp(mode, "query") == 0)
        return print_query();
    check(slot >= 0, "%s opens", HF_BAR_SWAP_PATH);
    if (slot < 0)
        return 1;
    check_description();
    check_acquire_and_release();
    check_mapping();
    check_swaps();
    check_holders();
    check_failures();
    check_hangs();
    printf("# %u checks, %u failed\n", checks, failures);
    return failures == 0 ? 0 : 1;
}
