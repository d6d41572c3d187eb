/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The records of Holdfast's bridge; docs/PROTOCOL.md says what they mean. Frozen: none of them will
 * ever change. Made from src/records by tools/make-records.ts; do not edit.
 *
 * For C99 and later, C++11 and later, and the Linux kernel (5.1 and later). All fields are
 * little-endian and naturally aligned, so a struct is the record, byte for byte. To write a record
 * with a checksum, clear it, fill it, then seal it:
 *
 *     struct hf_cubb2_job job;
 *     memset(&job, 0, sizeof job);
 *     memcpy(job.magic, HF_CUBB2_JOB_MAGIC, sizeof job.magic);
 *     ...
 *     job.crc32c = hf_crc32c(&job, offsetof(struct hf_cubb2_job, crc32c));
 */
#ifndef HOLDFAST_RECORDS_H
#define HOLDFAST_RECORDS_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/stddef.h>
#include <linux/types.h>
/* The kernel has no floating point: the bits of a double. */
typedef uint64_t hf_f64;
#else
#include <stddef.h>
#include <stdint.h>
typedef double hf_f64;
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the records are little-endian: on this machine each field must be swapped, and none is"
#endif

#if defined(__KERNEL__) || (defined(__cplusplus) && __cplusplus >= 201103L)
#define HF_ASSERT(name, condition) static_assert(condition, #name)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define HF_ASSERT(name, condition) _Static_assert(condition, #name)
#else
#define HF_ASSERT(name, condition) typedef char hf_assert_##name[(condition) ? 1 : -1]
#endif
#define HF_ASSERT_OFFSET(record, field, offset) \
    HF_ASSERT(record##_##field, offsetof(struct hf_##record, field) == (offset))

/* op: what is to be done. */

/* 'n' u32 words, delivered unchanged; exact to the byte */
#define HF_OP_MAIL 1
/* 'a[n]', then 'b[n]', f32; out: 'c[n]' = a + b */
#define HF_OP_VADD 2
/* as vadd, plus 1, and compared with vadd: it must end as verify_failed */
#define HF_OP_VADD_MUTATED 3
/* 'in[n]' f32; out: each plus 'iters', by adding 1.0f so many times */
#define HF_OP_SLOW_ADD 4
/* any kernel: a launch descriptor, then what its arguments refer to */
#define HF_OP_LAUNCH 256

/* status: how it ended. */

/* it ran, and nothing that was compared was wrong */
#define HF_STATUS_OK 0
/* 'version' is not the one of this record */
#define HF_STATUS_BAD_VERSION 1
/*
 * 'record_bytes', 'n', 'in_bytes', 'out_bytes', 'desc_bytes', 'iters', 'grid' or 'block' is not
 * what the operation needs, or the device cannot launch that grid and block
 */
#define HF_STATUS_BAD_SIZE 2
/* 'op' is no operation of this protocol version */
#define HF_STATUS_UNKNOWN_OP 3
/* an unknown flag, both verify flags at once, or reserved bytes that are not zero */
#define HF_STATUS_BAD_FLAGS 4
/*
 * v1: a range that is not wholly in RAM on one side of the hole, or a result that overlaps an
 * operand; launch: a slice outside its file, or two that overlap in 'out'
 */
#define HF_STATUS_OUT_OF_BOUNDS 5
/* v1: an address that is no multiple of 4; launch: a slice that does not begin at 8 */
#define HF_STATUS_MISALIGNED 6
/*
 * 'n' above 2^28, 'iters' above 2^24 - 1, 'in_bytes' above 2 GiB or 'out_bytes' above 1 GiB, or
 * more than the device's memory has room for
 */
#define HF_STATUS_TOO_LARGE 7
/* the daemon has no device that it may use for this mailbox */
#define HF_STATUS_NO_DEVICE 8
/* the driver or the kernel failed; 'cuda_error' is the driver's number */
#define HF_STATUS_DEVICE_ERROR 9
/*
 * the kernel ran longer than 'timeout_ms' and was ended; or its launch was not reached in 60 s and
 * more, e.g. in a read of 'in' that never returns
 */
#define HF_STATUS_TIMEOUT 10
/* it ran, and 'bad' of the 'checked' elements were wrong; 'out' is written all the same */
#define HF_STATUS_VERIFY_FAILED 11
/* 'in', 'out' or the RAM file could not be read or written, or was too short */
#define HF_STATUS_IO_ERROR 12
/* no module of that SHA-256, no such entry in it, or PTX that does not load */
#define HF_STATUS_UNKNOWN_KERNEL 13
/* the launch descriptor breaks a rule, or its arguments are not those of the kernel */
#define HF_STATUS_BAD_DESCRIPTOR 14
/* a bug of the daemon */
#define HF_STATUS_INTERNAL 15

/* flags of a CUBB2 job. */

/* the producer began anew: a seq below the last one is run, once */
#define HF_FLAG_SEQ_RESET 1
/* compare every element */
#define HF_FLAG_VERIFY_FULL 2
/* compare nothing */
#define HF_FLAG_VERIFY_NONE 4

/* kind of a launch argument. */

/* a number */
#define HF_KIND_SCALAR 1
/* pointer to a buffer filled from 'in' */
#define HF_KIND_IN 2
/* pointer to a buffer of zeros, copied to 'out' afterwards */
#define HF_KIND_OUT 3
/* pointer to a buffer filled from 'in', copied to 'out' afterwards */
#define HF_KIND_INOUT 4
/* pointer into the buffer of another argument */
#define HF_KIND_ALIAS 5
/* a struct by value */
#define HF_KIND_BYTES 6

/* type of a launch argument. */

#define HF_TYPE_U8 1
#define HF_TYPE_S8 2
#define HF_TYPE_U16 3
#define HF_TYPE_S16 4
#define HF_TYPE_U32 5
#define HF_TYPE_S32 6
#define HF_TYPE_U64 7
#define HF_TYPE_S64 8
#define HF_TYPE_F32 9
#define HF_TYPE_F64 10

/* magic: 8 bytes, the string's own NUL included */
#define HF_CUBB2_JOB_MAGIC "CUBB2\0\0"
#define HF_CUBB2_JOB_VERSION 2
#define HF_CUBB2_JOB_BYTES 128

/* A job of protocol v2: operands in 'in', results in 'out'. */
struct hf_cubb2_job {
    /* 0: 'CUBB2' and three NUL */
    uint8_t magic[8];
    /* 8: 2 */
    uint16_t version;
    /* 10: 128 */
    uint16_t record_bytes;
    /* 12: 1 SEQ_RESET, 2 VERIFY_FULL, 4 VERIFY_NONE; all other bits zero */
    uint32_t flags;
    /* 16: sequence number, from 1, rising */
    uint64_t seq;
    /* 24: operation */
    uint32_t op;
    /* 28: the longest that the kernel may run; 0: the daemon's default */
    uint32_t timeout_ms;
    /* 32: elements */
    uint64_t n;
    /* 40: bytes that 'in' holds */
    uint64_t in_bytes;
    /* 48: bytes that the producer wants in 'out' */
    uint64_t out_bytes;
    /* 56: blocks in x, y, z; 0, 0, 0: the daemon chooses */
    uint32_t grid[3];
    /* 68: threads of a block in x, y, z; 0, 0, 0: the daemon chooses */
    uint32_t block[3];
    /* 80: dynamic shared memory of a block */
    uint32_t shared_bytes;
    /* 84: op 256: bytes of the launch descriptor at the start of 'in'; else 0 */
    uint32_t desc_bytes;
    /* 88: free for the producer; echoed in the daemon's log */
    uint64_t guest_id;
    /* 96: op 4: additions; else 0 */
    uint32_t iters;
    /* 100: zero */
    uint8_t reserved[24];
    /* 124: CRC-32C (Castagnoli) of bytes 0..123 */
    uint32_t crc32c;
};

HF_ASSERT(cubb2_job, sizeof(struct hf_cubb2_job) == 128);
HF_ASSERT_OFFSET(cubb2_job, magic, 0);
HF_ASSERT_OFFSET(cubb2_job, version, 8);
HF_ASSERT_OFFSET(cubb2_job, record_bytes, 10);
HF_ASSERT_OFFSET(cubb2_job, flags, 12);
HF_ASSERT_OFFSET(cubb2_job, seq, 16);
HF_ASSERT_OFFSET(cubb2_job, op, 24);
HF_ASSERT_OFFSET(cubb2_job, timeout_ms, 28);
HF_ASSERT_OFFSET(cubb2_job, n, 32);
HF_ASSERT_OFFSET(cubb2_job, in_bytes, 40);
HF_ASSERT_OFFSET(cubb2_job, out_bytes, 48);
HF_ASSERT_OFFSET(cubb2_job, grid, 56);
HF_ASSERT_OFFSET(cubb2_job, block, 68);
HF_ASSERT_OFFSET(cubb2_job, shared_bytes, 80);
HF_ASSERT_OFFSET(cubb2_job, desc_bytes, 84);
HF_ASSERT_OFFSET(cubb2_job, guest_id, 88);
HF_ASSERT_OFFSET(cubb2_job, iters, 96);
HF_ASSERT_OFFSET(cubb2_job, reserved, 100);
HF_ASSERT_OFFSET(cubb2_job, crc32c, 124);

/* magic: 8 bytes, the string's own NUL included */
#define HF_CBD2_DONE_MAGIC "CBD2\0\0\0"
#define HF_CBD2_DONE_VERSION 2
#define HF_CBD2_DONE_BYTES 128

/* How a job of protocol v2 ended. */
struct hf_cbd2_done {
    /* 0: 'CBD2' and four NUL */
    uint8_t magic[8];
    /* 8: 2 */
    uint16_t version;
    /* 10: 128 */
    uint16_t record_bytes;
    /* 12: how it ended; 0 is ok */
    uint32_t status;
    /* 16: that of the job */
    uint64_t seq;
    /* 24: that of the job */
    uint32_t op;
    /* 28: the driver's own number; 0 where the driver had no part in it */
    uint32_t cuda_error;
    /* 32: that of the job */
    uint64_t n;
    /* 40: bytes written to 'out' */
    uint64_t out_bytes;
    /* 48: the device's own time of the kernel */
    uint64_t kernel_ns;
    /* 56: from the job seen to 'out' written */
    uint64_t wall_ns;
    /* 64: sum of all outputs, first to last */
    hf_f64 checksum;
    /* 72: compared elements that were wrong */
    uint64_t bad;
    /* 80: elements that were compared */
    uint64_t checked;
    /* 88: name of the device, UTF-8, NUL-padded */
    uint8_t device[32];
    /* 120: what was compared: 0 a sample, 2 everything, 4 nothing */
    uint32_t flags;
    /* 124: CRC-32C (Castagnoli) of bytes 0..123 */
    uint32_t crc32c;
};

HF_ASSERT(cbd2_done, sizeof(struct hf_cbd2_done) == 128);
HF_ASSERT_OFFSET(cbd2_done, magic, 0);
HF_ASSERT_OFFSET(cbd2_done, version, 8);
HF_ASSERT_OFFSET(cbd2_done, record_bytes, 10);
HF_ASSERT_OFFSET(cbd2_done, status, 12);
HF_ASSERT_OFFSET(cbd2_done, seq, 16);
HF_ASSERT_OFFSET(cbd2_done, op, 24);
HF_ASSERT_OFFSET(cbd2_done, cuda_error, 28);
HF_ASSERT_OFFSET(cbd2_done, n, 32);
HF_ASSERT_OFFSET(cbd2_done, out_bytes, 40);
HF_ASSERT_OFFSET(cbd2_done, kernel_ns, 48);
HF_ASSERT_OFFSET(cbd2_done, wall_ns, 56);
HF_ASSERT_OFFSET(cbd2_done, checksum, 64);
HF_ASSERT_OFFSET(cbd2_done, bad, 72);
HF_ASSERT_OFFSET(cbd2_done, checked, 80);
HF_ASSERT_OFFSET(cbd2_done, device, 88);
HF_ASSERT_OFFSET(cbd2_done, flags, 120);
HF_ASSERT_OFFSET(cbd2_done, crc32c, 124);

#define HF_CUBB_JOB_MAGIC 0x42425543u
#define HF_CUBB_JOB_VERSION 1
#define HF_CUBB_JOB_BYTES 48

/* A job of protocol v1: operands and results in the guest's RAM. */
struct hf_cubb_job {
    /* 0: 'CUBB' */
    uint32_t magic;
    /* 4: 1 */
    uint32_t version;
    /* 8: sequence number, from 1, rising */
    uint64_t seq;
    /* 16: operation, 1 to 3 */
    uint32_t op;
    /* 20: elements */
    uint32_t n;
    /* 24: guest-physical address of the first operand */
    uint64_t gpa_a;
    /* 32: guest-physical address of the second operand; op 1 does not use it */
    uint64_t gpa_b;
    /* 40: guest-physical address of the result */
    uint64_t gpa_c;
};

HF_ASSERT(cubb_job, sizeof(struct hf_cubb_job) == 48);
HF_ASSERT_OFFSET(cubb_job, magic, 0);
HF_ASSERT_OFFSET(cubb_job, version, 4);
HF_ASSERT_OFFSET(cubb_job, seq, 8);
HF_ASSERT_OFFSET(cubb_job, op, 16);
HF_ASSERT_OFFSET(cubb_job, n, 20);
HF_ASSERT_OFFSET(cubb_job, gpa_a, 24);
HF_ASSERT_OFFSET(cubb_job, gpa_b, 32);
HF_ASSERT_OFFSET(cubb_job, gpa_c, 40);

#define HF_CUBD_DONE_MAGIC 0x44425543u
#define HF_CUBD_DONE_VERSION 1
#define HF_CUBD_DONE_BYTES 40

/* How a job of protocol v1 ended. */
struct hf_cubd_done {
    /* 0: 'CUBD' */
    uint32_t magic;
    /* 4: 1 */
    uint32_t version;
    /* 8: that of the job */
    uint64_t seq;
    /* 16: how it ended; 0 is ok */
    uint32_t status;
    /* 20: compared elements that were wrong; 2^32 - 1 stands for that many or more */
    uint32_t bad;
    /* 24: the device's own time of the kernel */
    uint64_t kernel_ns;
    /* 32: sum of all outputs, first to last */
    hf_f64 checksum;
};

HF_ASSERT(cubd_done, sizeof(struct hf_cubd_done) == 40);
HF_ASSERT_OFFSET(cubd_done, magic, 0);
HF_ASSERT_OFFSET(cubd_done, version, 4);
HF_ASSERT_OFFSET(cubd_done, seq, 8);
HF_ASSERT_OFFSET(cubd_done, status, 16);
HF_ASSERT_OFFSET(cubd_done, bad, 20);
HF_ASSERT_OFFSET(cubd_done, kernel_ns, 24);
HF_ASSERT_OFFSET(cubd_done, checksum, 32);

/* magic: 8 bytes, the string's own NUL included */
#define HF_LAUNCH_DESCRIPTOR_MAGIC "HFLD\0\0\0"
#define HF_LAUNCH_DESCRIPTOR_VERSION 1
#define HF_LAUNCH_DESCRIPTOR_BYTES 64

/* Head of the launch descriptor of op 256; its arguments follow at once. */
struct hf_launch_descriptor {
    /* 0: 'HFLD' and four NUL */
    uint8_t magic[8];
    /* 8: 1 */
    uint16_t version;
    /* 10: 64 */
    uint16_t header_bytes;
    /* 12: arguments that follow, 0 to 256 */
    uint32_t argument_count;
    /* 16: SHA-256 of the module's PTX text, the file's bytes as they are */
    uint8_t module_sha256[32];
    /* 48: where the entry's name begins, from the start of the descriptor */
    uint32_t entry_offset;
    /* 52: bytes of that name, 1 to 1024, no NUL */
    uint32_t entry_bytes;
    /* 56: zero */
    uint8_t reserved[8];
};

HF_ASSERT(launch_descriptor, sizeof(struct hf_launch_descriptor) == 64);
HF_ASSERT_OFFSET(launch_descriptor, magic, 0);
HF_ASSERT_OFFSET(launch_descriptor, version, 8);
HF_ASSERT_OFFSET(launch_descriptor, header_bytes, 10);
HF_ASSERT_OFFSET(launch_descriptor, argument_count, 12);
HF_ASSERT_OFFSET(launch_descriptor, module_sha256, 16);
HF_ASSERT_OFFSET(launch_descriptor, entry_offset, 48);
HF_ASSERT_OFFSET(launch_descriptor, entry_bytes, 52);
HF_ASSERT_OFFSET(launch_descriptor, reserved, 56);

#define HF_LAUNCH_ARGUMENT_BYTES 32

/* One argument of the kernel that op 256 launches. */
struct hf_launch_argument {
    /* 0: what it is; says what the other fields mean */
    uint32_t kind;
    /* 4: type of the scalar or of the slice's elements; alias and bytes: 0 */
    uint32_t type;
    /* 8: in, inout, bytes: offset in 'in'; alias: index of the argument; else 0 */
    uint64_t offset;
    /* 16: in, out, inout, bytes: size; else 0 */
    uint64_t bytes;
    /* 24: scalar: its bits; out, inout: offset in 'out'; alias: offset into it; else 0 */
    uint64_t value;
};

HF_ASSERT(launch_argument, sizeof(struct hf_launch_argument) == 32);
HF_ASSERT_OFFSET(launch_argument, kind, 0);
HF_ASSERT_OFFSET(launch_argument, type, 4);
HF_ASSERT_OFFSET(launch_argument, offset, 8);
HF_ASSERT_OFFSET(launch_argument, bytes, 16);
HF_ASSERT_OFFSET(launch_argument, value, 24);

/* The status's name, as the daemon's log has it; NULL for a number that has none. */
static inline const char *hf_status_name(uint32_t status)
{
    switch (status) {
    case HF_STATUS_OK:
        return "ok";
    case HF_STATUS_BAD_VERSION:
        return "bad_version";
    case HF_STATUS_BAD_SIZE:
        return "bad_size";
    case HF_STATUS_UNKNOWN_OP:
        return "unknown_op";
    case HF_STATUS_BAD_FLAGS:
        return "bad_flags";
    case HF_STATUS_OUT_OF_BOUNDS:
        return "out_of_bounds";
    case HF_STATUS_MISALIGNED:
        return "misaligned";
    case HF_STATUS_TOO_LARGE:
        return "too_large";
    case HF_STATUS_NO_DEVICE:
        return "no_device";
    case HF_STATUS_DEVICE_ERROR:
        return "device_error";
    case HF_STATUS_TIMEOUT:
        return "timeout";
    case HF_STATUS_VERIFY_FAILED:
        return "verify_failed";
    case HF_STATUS_IO_ERROR:
        return "io_error";
    case HF_STATUS_UNKNOWN_KERNEL:
        return "unknown_kernel";
    case HF_STATUS_BAD_DESCRIPTOR:
        return "bad_descriptor";
    case HF_STATUS_INTERNAL:
        return "internal";
    default:
        return NULL;
    }
}

/* CRC-32C (Castagnoli) of so many bytes; of the characters 123456789 it is 0xe3069283. */
static inline uint32_t hf_crc32c(const void *data, size_t bytes)
{
    /* What four steps of the division leave of each half byte. */
    static const uint32_t table[16] = {
        0x00000000u, 0x105ec76fu, 0x20bd8edeu, 0x30e349b1u,
        0x417b1dbcu, 0x5125dad3u, 0x61c69362u, 0x7198540du,
        0x82f63b78u, 0x92a8fc17u, 0xa24bb5a6u, 0xb21572c9u,
        0xc38d26c4u, 0xd3d3e1abu, 0xe330a81au, 0xf36e6f75u,
    };
    const uint8_t *byte = (const uint8_t *)data;
    uint32_t crc = 0xffffffffu;

    for (; bytes > 0; bytes--, byte++) {
        crc ^= *byte;
        crc = (crc >> 4) ^ table[crc & 15];
        crc = (crc >> 4) ^ table[crc & 15];
    }
    return ~crc;
}

#undef HF_ASSERT_OFFSET
#undef HF_ASSERT

#endif
